"""Pictures say who owns what, and stay small for big layouts."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from atoll.layout import Block, Cyclic, Layout, Undistributed, Unstructured


def map_lines(layout: Layout) -> list[str]:
    lines = [
        line
        for line in layout.show().splitlines()
        if len(line) > 12 and line[:12].strip().isdigit()
    ]
    return [line[12:] for line in lines]


def test_text_shows_the_owner_of_each_place() -> None:
    layout = Layout((4, 6), "bc", grid=(2, 2), size=4)
    assert map_lines(layout) == ["010101", "010101", "232323", "232323"]
    assert "axis 0: 4 in blocks over 2 processes: 2, 2" in layout.show()
    assert "axis 1: 6 cyclic in blocks of 1 over 2 processes" in layout.show()
    assert "001122" in Layout((6,), size=3).show()


def test_text_marks_padding() -> None:
    shown = Layout((18,), [Block(padding=(1, 1))], size=2).show()
    assert shown.splitlines()[-2:] == ["         0  B--------C", "         1          C--------B"]
    ring = Layout((6,), [Block(padding=(1, 1), periodic=True)], size=2).show()
    assert ring.splitlines()[-2:] == ["         0  C---C", "         1     C---C"]
    assert "periodic" in ring
    long = Layout((10**9,), [Block(padding=(2, 2))], size=4).show()
    assert "C 2, B 0, owns 250000000:500000000, B 0, C 2" in long


BIG = [
    Layout((10**9,), "c", size=1024),
    Layout((10**6, 10**6), size=1024),
    Layout((10**5, 10**5, 3), [Cyclic(7), Block(padding=(1, 1)), "n"], size=64),
    Layout((100,) * 5, size=1000),
    Layout((10**5,), [Block(padding=(3, 3))], size=5000),
]
SMALL = [
    Layout((), size=3),
    Layout((0, 4), "bb", size=3),
    Layout((1, 1), size=3),
    Layout((5,), "n", size=3),
    Layout((7,), size=4, ranks=(3, 0)),
    Layout((4,), [Undistributed((1, 1), periodic=True)], size=1),
    Layout((4,), [Unstructured([[3, 0], [1, 2]])], size=2),
    Layout((2,), [Unstructured([[30], [-1]], labels=True)], size=2),
    Layout((9, 9), [Block(padding=(1, 1)), Block(padding=(1, 2))], size=9),
]


@pytest.mark.parametrize("layout", [*BIG, *SMALL], ids=lambda layout: repr(layout)[:60])
def test_every_layout_has_pictures_of_bounded_size(layout: Layout) -> None:
    shown = layout.show()
    assert shown.startswith(repr(layout))
    assert len(shown.splitlines()) < 60
    drawing = layout._repr_svg_()
    assert len(drawing) < 2_000_000
    root = ElementTree.fromstring(drawing)
    assert root.tag.endswith("svg")
    page = layout._repr_html_()
    assert drawing in page
    assert "<script" not in page
    ElementTree.fromstring(page)


def test_svg_colours_by_rank_and_hatches_padding() -> None:
    layout = Layout((18,), [Block(padding=(1, 1))], size=2)
    drawing = layout._repr_svg_()
    assert drawing.count("<title>rank 0</title>") == drawing.count("<title>rank 1</title>") == 1
    assert drawing.count('class="boundary"') == 2
    assert drawing.count('class="communication"') == 2
    fills = {r.get("fill") for r in ElementTree.fromstring(drawing) if "rect" in r.tag}
    assert len(fills) == 3


def test_width_and_height_are_kept() -> None:
    lines = Layout((1000, 1000), size=4).show(width=40, height=5).splitlines()
    drawn = [line for line in lines if line[:12].strip().isdigit()]
    assert len(drawn) == 5
    assert all(len(line) == 40 for line in drawn)


def test_idle_ranks_and_copies_are_told() -> None:
    assert "2 of 4 ranks hold nothing" in Layout((7,), size=4, ranks=(3, 0)).show()
    assert "every block is held by 3 ranks" in Layout((5,), "n", size=3).show()
    assert "symbols repeat" in Layout((100,), size=100).show()
    assert "ranks: a=10" in Layout((11,), size=11).show()
