"""What notebooks show of an array: form, layout and state, without sending anything or computing much."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import atoll as np
from atoll import policy
from atoll.layout import Block, Cyclic, Layout, Unstructured


class Named(np.ndarray):
    pass


def of_one_process():
    yield "small", np.arange(12.0).reshape(3, 4)
    yield "0-d", np.array(3.0)
    yield "empty", np.zeros((0, 5))
    yield "structured", np.zeros(7, dtype=[("x", "f8"), ("<b>&", "U5")])
    yield "objects", np.array(["<b>", None], dtype=object)
    yield "cheap", np.linspace(0, 1, 60_000).reshape(200, 300) * 2
    yield "pending", np.linspace(0, 1, 9_000_000).reshape(3000, 3000) * 2
    yield "view", (np.ones((400, 300)) + 1)[1:-1, ::2]
    yield "huge", np.ones((10**6, 10**6))
    yield "three axes", np.ones((30, 40, 50)) + 1
    yield "subclass", (np.ones(60_000) + 1).view(Named)
    computed = np.ones(60_000) + 1
    np.sync()
    yield "computed", computed


def of_ranks(size):
    owners = [[i for i in range(11) if i * i % size == rank] for rank in range(size)]
    owners[0] += sorted(set(range(11)).difference(*owners))
    for name, maps, more in (
        ("block", "bb", {}),
        ("cyclic", [Cyclic(2), "n"], {}),
        ("padded", [Block(padding=(1, 1)), "n"], {}),
        ("irregular", [Unstructured(owners), "n"], {}),
        ("some ranks", "bn", {"ranks": [size - 1]}),
    ):
        a = np.zeros((11, 6), layout=Layout((11, 6), maps, **more))
        yield name, a
        yield name + " pending", a * 2 + 1
        yield name + " uneven", (a + 1)[:2]
        yield name + " empty", (a + 1)[:0]
    yield "replicated", np.ones((5, 3), layout=Layout.replicated((5, 3), size)) + 1
    yield "0-d", np.zeros((), layout=Layout((), size=size))


def is_pending(a):
    return a._np is None and a._cell.node.value is None


def look(a):
    """All that IPython asks an array for, as a checked page; nothing is sent, and in one process little is computed."""
    if np.world.size == 1 and a.size < policy.limits.whole // 4:
        a._repr_html_()
        assert not is_pending(a)
    pending = is_pending(a)
    before = np.stats()
    page = a._repr_html_()
    bundle = a._repr_mimebundle_()
    assert is_pending(a) == pending
    assert np.stats() == before
    assert bundle["text/html"] == page
    ElementTree.fromstring(page)
    assert "<script" not in page
    if pending:
        assert str(a.shape) in page
        assert "pending: " in page
        assert "pending: " in bundle["text/plain"]
        assert str(a.shape) in bundle["text/plain"]
    return page


def test_any_array_is_shown_and_only_cheap_ones_are_computed():
    pages = {name: look(a) for name, a in of_one_process()}
    assert "[ 4.,  5.,  6.,  7.]" in pages["small"]
    assert "(3, 4) float64, 96 bytes" in pages["small"]
    assert "array([[0." in pages["cheap"]
    assert "array([" not in pages["pending"]
    assert "array([2., 2." in pages["computed"]
    assert "8 TB" in pages["huge"]
    assert "Named" in pages["subclass"]
    assert "&lt;b&gt;&amp;" in pages["structured"]


def test_ipython_may_leave_kinds_out():
    a = np.ones(10_000_000) + 1
    assert list(a._repr_mimebundle_(include={"text/plain"})) == ["text/plain"]
    assert list(a._repr_mimebundle_(exclude=["text/plain"])) == ["text/html"]
    assert is_pending(a)


def test_a_value_of_a_dataflow_graph_comes_later():
    later = np.dataflow.make_placeholder(name="x", shape=(4, 5), dtype=np.float64) + 1
    assert "comes later" in later._repr_html_()
    assert "dataflow array" in later._repr_mimebundle_()["text/plain"]


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_any_layout_is_drawn_on_any_rank_alone(rank, size):
    arrays = dict(of_ranks(size))
    traffic = np.world.communicator.traffic.copy()
    steps = np.world.communicator.log.number
    if rank == size - 1:  # alone: nothing of this is collective
        pages = {name: look(a) for name, a in arrays.items()}
        if size > 1:
            assert f"({rank} of {size})" in pages["block"]
            assert 'class="own"' in pages["block"]
            assert f"<title>ranks 0-{size - 1}</title>" in pages["replicated"] or size == 2
            assert "replicated on all ranks" in pages["replicated"]
            assert f"{size - 1} of {size} ranks hold nothing" in pages["some ranks"]
    assert np.world.communicator.log.number == steps
    assert np.world.communicator.traffic == traffic
    np.world.barrier()
