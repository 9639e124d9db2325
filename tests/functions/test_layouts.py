"""``layout=`` of every function that makes an array: its values are NumPy's, and it lies where the program asks for it."""

from __future__ import annotations

import inspect
import io

import numpy
import pytest

import atoll as np
from atoll import Block, Cyclic, Layout
from atoll.errors import LayoutError
from atoll.layout import region_key
from atoll.lazy.registry import registry

LIST = [3.0, 1.0, 2.0, 5.0, 4.0]
MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [0.0, 1.0, 2.0]]

CALLS = {
    "arange": lambda np, **o: np.arange(7, **o),
    "array": lambda np, **o: np.array(MATRIX, **o),
    "asanyarray": lambda np, **o: np.asanyarray(MATRIX, **o),
    "asarray": lambda np, **o: np.asarray(MATRIX, **o),
    "asarray_chkfinite": lambda np, **o: np.asarray_chkfinite(MATRIX, **o),
    "ascontiguousarray": lambda np, **o: np.ascontiguousarray(MATRIX, **o),
    "asfortranarray": lambda np, **o: np.asfortranarray(MATRIX, **o),
    "astype": lambda np, **o: np.astype(np.array(MATRIX), "i4", **o),
    "bartlett": lambda np, **o: np.bartlett(6, **o),
    "blackman": lambda np, **o: np.blackman(6, **o),
    "copy": lambda np, **o: np.copy(MATRIX, **o),
    "diag": lambda np, **o: np.diag(LIST, **o),
    "diag_indices": lambda np, **o: np.diag_indices(4, **o),
    "diagflat": lambda np, **o: np.diagflat(LIST, 1, **o),
    "empty": lambda np, **o: np.nan_to_num(np.empty((4, 3), **o)) * 0,
    "empty_like": lambda np, **o: np.nan_to_num(np.empty_like(MATRIX, **o)) * 0,
    "eye": lambda np, **o: np.eye(5, 4, **o),
    "fft.fftfreq": lambda np, **o: np.fft.fftfreq(6, **o),
    "fft.rfftfreq": lambda np, **o: np.fft.rfftfreq(6, **o),
    "from_dlpack": lambda np, **o: np.from_dlpack(numpy.arange(6.0), **o),
    "frombuffer": lambda np, **o: np.frombuffer(bytes(range(6)), "u1", **o),
    "fromfunction": lambda np, **o: np.fromfunction(lambda i, j: 10 * i + j, (4, 3), **o),
    "fromiter": lambda np, **o: np.fromiter(range(6), int, **o),
    "fromregex": lambda np, **o: np.fromregex(io.StringIO("1 2\n3 4\n"), r"(\d) (\d)", [("x", "i4"), ("y", "i4")], **o),
    "fromstring": lambda np, **o: np.fromstring("1 2 3", sep=" ", **o),
    "full": lambda np, **o: np.full((4, 3), [1, 2, 3], **o),
    "full_like": lambda np, **o: np.full_like(MATRIX, 7, **o),
    "geomspace": lambda np, **o: np.geomspace(1, 16, 5, **o),
    "hamming": lambda np, **o: np.hamming(6, **o),
    "hanning": lambda np, **o: np.hanning(6, **o),
    "identity": lambda np, **o: np.identity(4, **o),
    "indices": lambda np, **o: np.indices((4, 3), sparse=True, **o),
    "kaiser": lambda np, **o: np.kaiser(6, 2.0, **o),
    "linspace": lambda np, **o: np.linspace(0, 1, 5, retstep=True, **o),
    "logspace": lambda np, **o: np.logspace(0, 1, 5, **o),
    "mask_indices": lambda np, **o: np.mask_indices(4, np.triu, **o),
    "meshgrid": lambda np, **o: np.meshgrid(LIST, LIST[:3], **o),
    "ones": lambda np, **o: np.ones((4, 3), **o),
    "ones_like": lambda np, **o: np.ones_like(MATRIX, **o),
    "require": lambda np, **o: np.require(MATRIX, **o),
    "tri": lambda np, **o: np.tri(4, **o),
    "tril": lambda np, **o: np.tril(MATRIX, **o),
    "tril_indices": lambda np, **o: np.tril_indices(4, **o),
    "triu": lambda np, **o: np.triu(MATRIX, **o),
    "triu_indices": lambda np, **o: np.triu_indices(4, **o),
    "vander": lambda np, **o: np.vander(LIST, 3, **o),
    "zeros": lambda np, **o: np.zeros((4, 3), "i4", device="cpu", **o),
    "zeros_like": lambda np, **o: np.zeros_like(MATRIX, **o),
    "loadtxt": lambda np, **o: np.loadtxt(io.StringIO("1 2\n3 4\n5 6\n"), **o),
    "genfromtxt": lambda np, **o: np.genfromtxt(io.StringIO("1 2\n3 4\n5 6\n"), **o),
}  # fmt: skip


def arrays(result):
    return [
        a
        for a in (result if isinstance(result, (tuple, list)) else [result])
        if getattr(a, "ndim", 0)
    ]


def lies(a, maps, size):
    """True if an array lies as the maps say; in one process, in which all lie alike."""
    wanted = Layout(a.shape, maps, size=size)
    return a.layout == (wanted if size > 1 else Layout.replicated(a.shape, 1))


def check(call, size):
    plain = arrays(call({}))
    for letters in ("b", "c"):
        maps = letters + "n" * (plain[0].ndim - 1)
        made = arrays(call({"layout": maps}))
        again = arrays(call({"layout": [None] * (plain[0].ndim - 1) + [Cyclic(2)]}))
        for ours, other, theirs in zip(made, again, plain, strict=True):
            assert type(ours) is np.ndarray
            assert lies(ours, maps, size)
            assert ours.dtype == theirs.dtype
            assert (numpy.asarray(ours) == numpy.asarray(theirs)).all()
            assert (numpy.asarray(other) == numpy.asarray(theirs)).all()


def test_every_function_that_makes_an_array_is_tried():
    by_files = {"fromfile", "lib.format.open_memmap", "load"}  # see tests/files
    assert registry.created <= {*CALLS, *by_files}


@pytest.mark.filterwarnings("ignore:.*text mode.*")
@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("name", CALLS)
def test_arrays_lie_as_the_program_asks(name, size):
    call = CALLS[name]
    for small in (0, 1 << 20):
        with np.config(small=small, everywhere=small):
            if name not in ("astype", "fromregex", "fromstring"):
                theirs = arrays(call(numpy))
                for ours, numpys in zip(arrays(call(np)), theirs, strict=True):
                    assert numpy.allclose(numpy.asarray(ours), numpys, rtol=1e-14, atol=0)
            check(lambda options: call(np, **options), size)


RANDOM = {
    "normal": {"size": (6, 4)}, "random": {"size": 7}, "choice": {"a": 9, "size": (4, 2)}, "permutation": {"x": 9},
    "dirichlet": {"alpha": [1.0, 2.0], "size": 5}, "poisson": {"size": 6}, "multinomial": {"n": 4, "pvals": [0.5, 0.5], "size": 3},
}  # fmt: skip


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("name", RANDOM)
def test_random_arrays_have_the_values_that_they_have_elsewhere(name, size):
    options = RANDOM[name]
    for small in (0, 1 << 20):
        with np.config(small=small, everywhere=small):
            check(lambda more: getattr(np.random.default_rng(5), name)(**options, **more), size)
            check(lambda more: getattr(np.random.RandomState(5), name)(**options, **more), size)

            def drawn(more):
                np.random.seed(5)
                return getattr(np.random, name)(**options, **more)

            if size == 1 or np.world.communicator.kind == "MPI":
                check(drawn, size)


@pytest.mark.ranks(1, 2, 3)
def test_a_layout_is_taken_by_its_maps_alone(size):
    a = np.array(MATRIX).redistribute("nb")
    assert lies(a, "nb", size)
    assert lies(a.redistribute([Block(), None]), "bn", size)
    assert (numpy.asarray(a) == MATRIX).all()
    assert np.asarray(a, layout="nb") is a
    assert lies(np.ones(3, layout=Cyclic(2)), Cyclic(2), size)
    assert np.ones(5, layout=None).shape == np.random.random(5, layout=None).shape == (5,)
    assert np.ones((), layout="").shape == ()


WRONG = {
    "no layout": (lambda: np.ones((4, 3), layout=5), "5 is no layout; it must be an atoll.Layout, a letter for each axis, such as 'bn'"),
    "a letter": (lambda: np.eye(4, layout="bx"), r"axis 1 is 'x'; a map must be 'b' \(blocks\), 'c' \(cyclic\)"),
    "axes": (lambda: np.arange(4, layout="bn"), "2 maps 'bn' for an array of 1 axes; there must be one for each axis, such as 'b'"),
    "a shape": (lambda: np.arange(4, layout=Layout((5,))), r"it is for shape \(5,\), but the array has shape \(4,\)"),
    "ranks": (lambda: np.ones(4, layout=Layout((4,), size=7)), "it is for 7 ranks"),
    "a copy": (lambda: np.zeros((4, 3)).redistribute(len), "is no layout"),
}  # fmt: skip


@pytest.mark.ranks(1, 2, distributes=False)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_layouts_show_how_maps_are_given(name):
    call, words = WRONG[name]
    with pytest.raises(LayoutError, match=words):
        call()


@pytest.mark.ranks(2)
def test_what_has_no_layout(size):
    with pytest.raises(TypeError, match="the result is a float"):
        np.random.default_rng(1).random(layout="b")
    with pytest.raises(TypeError, match="the result is a MaskedArray"):
        np.asanyarray(numpy.ma.masked_array([1, 2], [0, 1]), layout="b")
    with pytest.raises(TypeError, match="layout"):
        np.sum([1, 2], layout="b")
    a = np.ones((4, 4), layout="bn")
    with pytest.raises(ValueError, match="copy=False forbids"):
        np.asarray(a, copy=False, layout="nb")


def test_signatures_show_layouts():
    functions = [getattr(np, name) for name in CALLS if "." not in name and name != "fromstring"]
    rng = np.random.default_rng(1)
    functions += [
        np.fft.fftfreq,
        np.random.rand,
        np.random.beta,
        rng.normal,
        np.random.Generator.choice,
    ]
    for function in (*functions, np.load, np.fromfile):
        told = inspect.signature(function).parameters["layout"]
        assert told.kind is inspect.Parameter.KEYWORD_ONLY
        assert told.default is None
    assert "layout" not in inspect.signature(rng.shuffle).parameters
    assert str(inspect.signature(np.fromfunction)).endswith("layout=None, **kwargs)")


VIEWS = {
    "rows of another shape": lambda a: a.reshape(4, 15),
    "one line": lambda a: a.reshape(-1),
    "more axes": lambda a: a.reshape(2, 3, 2, 5),
    "a part of another shape": lambda a: a.reshape(15, 4)[1:, ::2],
    "columns of another shape": lambda a: a.reshape(15, 4).T,
    "a diagonal": lambda a: a.diagonal(1),
    "every second row": lambda a: a[::2, None],
    "nothing": lambda a: a[:0].reshape(5, 0),
    "bytes": lambda a: a.view("u1"),
}


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("maps", ["bn", "nb", "cn", "bb"])
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_a_block_on_each_rank(name, maps, rank, size):
    expected = numpy.arange(60.0).reshape(6, 10)
    a = np.array(expected, layout=maps)
    view, theirs = VIEWS[name](a), VIEWS[name](expected)
    for number in range(2):
        block, region = view.local, view.layout.region(rank)
        assert block.shape == view.layout.local_shape(rank)
        if view.layout.coordinates(rank) is not None:
            assert (block == theirs[region_key(region)]).all()
        with view.access() as same:
            assert (same == block).all()
        if block.flags.writeable:
            block[...] = number
            assert (numpy.asarray(view)[region_key(region)] == number).all()
            theirs[...] = number
        a[...] = expected[...] = expected + 1  # what a copy shows is what was there
        a.redistribute("nn")
