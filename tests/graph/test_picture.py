"""Pictures of expressions: every operation once, in all three forms."""

import re
from xml.etree import ElementTree

import pytest

import atoll
from atoll.config import config


@pytest.fixture(autouse=True)
def large():
    with config(small=0):
        yield


def expression():
    a = atoll.full((3, 4), 2.0)
    a._evaluate()
    b = a[:, 1:] * 2.5
    return atoll.sqrt(b + b.sum(axis=0))


def test_text_is_indented_and_names_what_is_shared():
    text = str(atoll.graph.show(expression()))
    lines = text.splitlines()
    assert lines[0].startswith("sqrt ")
    assert lines[1].startswith("└─ add ")
    assert sum("multiply(·, 2.5)" in line for line in lines) == 1
    assert sum(line.split()[-1] == "%1" for line in lines) == 1
    assert any("read [:, 1:]" in line for line in lines)
    assert "add over axis 0" in text
    assert "test_picture.py:" in text


def test_a_computed_array_is_data():
    a = atoll.ones((3, 4))
    assert "fill" in str(atoll.graph.show(a))
    a._evaluate()
    assert str(atoll.graph.show(a)).startswith("a = data  (3,4) float64")


def test_showing_evaluates_nothing():
    x = expression()
    before = atoll.stats()
    for form in ("text", "dot", "svg"):
        atoll.graph.show(x, form=form)
    assert atoll.stats() == before
    assert str(atoll.graph.show(x)).startswith("sqrt")


def test_several_arrays_share_one_listing():
    a = atoll.ones(5) * 3
    text = str(atoll.graph.show(a + 1, a - 1))
    assert text.count("multiply(·, 3.0)") == 1
    assert text.count("%1") == 2


def test_deep_expressions_go_on_below():
    x = atoll.ones(4)
    for _ in range(200):
        x = x * 2.0
    text = str(atoll.graph.show(x))
    assert text.count("multiply(·, 2.0)") == 200
    assert max(map(len, text.splitlines())) < 200
    assert text.count("(below)") >= 1


def test_dot_has_every_node_and_edge():
    text = str(atoll.graph.show(expression(), form="dot"))
    nodes = set(re.findall(r"^  (n\d+) \[", text, re.M))
    edges = re.findall(r"^  (n\d+) -> (n\d+);", text, re.M)
    assert len(nodes) == 6
    assert len(edges) == 6
    assert {end for edge in edges for end in edge} == nodes
    assert text.startswith("digraph")
    assert text.rstrip().endswith("}")


def test_svg_has_every_node_and_no_two_boxes_touch():
    drawing = atoll.graph.show(expression(), form="svg")
    root = ElementTree.fromstring(str(drawing))
    name = "{http://www.w3.org/2000/svg}"
    boxes = [
        tuple(float(box.get(key)) for key in ("x", "y", "width", "height"))
        for box in root.iter(name + "rect")
    ]
    assert len(boxes) == 6
    assert len(list(root.iter(name + "path"))) == 6
    wide, high = float(root.get("width")), float(root.get("height"))
    for k, (x, y, w, h) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + w <= wide + 1
        assert y + h <= high + 1
        for u, v, a, b in boxes[:k]:
            assert x + w <= u or u + a <= x or y + h <= v or v + b <= y
    assert drawing._repr_html_() == str(drawing)


def test_text_in_a_notebook_is_escaped():
    drawing = atoll.graph.show(atoll.arange(5) < 3)
    assert drawing._repr_html_().startswith("<pre ")
    assert repr(drawing) == str(drawing)


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match=r"form must be one of 'text', 'dot', 'svg', not 'png'"):
        atoll.graph.show(atoll.ones(3), form="png")
    with pytest.raises(TypeError, match="needs an atoll array, not a list"):
        atoll.graph.show([1, 2])


@pytest.mark.simulated(2)
def test_on_ranks_it_says_how_many(size):
    a = atoll.zeros((6, 6))
    a._evaluate()
    assert f"on {size} ranks" in str(atoll.graph.show(a + 1))
