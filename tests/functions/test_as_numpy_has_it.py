"""Outputs, bases, classes and errors as NumPy has them, with large arrays (recorded) and small ones."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import atoll
from atoll.front import native


@pytest.fixture(autouse=True, params=[0, 30000])
def threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    with atoll.config(small=request.param):
        yield


def _outcome(call: Callable[[Any], Any], np: Any) -> Any:
    try:
        return numpy.asarray(call(np)).tolist()
    except Exception as error:
        return type(error), str(error)


class Odd:
    """An operand whose priority NumPy cannot read."""

    __array_priority__ = None

    def __radd__(self, other: Any) -> int:
        return 5


def _strides_set(np: Any, strides: int) -> Any:
    a = np.arange(10)[::2]
    with pytest.warns(DeprecationWarning, match="strides"):
        a.strides = strides
    return a


def _resized(np: Any, *shape: Any, **options: Any) -> Any:
    a = np.arange(6.0)
    a.resize(*shape, **options)
    return a


CALLS: dict[str, Callable[[Any], Any]] = {
    "strides": lambda np: _strides_set(np, 8),
    "strides that leave the memory": lambda np: _strides_set(np, 80),
    "strides to the left": lambda np: _strides_set(np, -8),
    "resize to nothing said": lambda np: _resized(np),
    "resize with no answer": lambda np: _resized(np, 2, refcheck="hi"),
    "an unknown device": lambda np: np.zeros(3, device="x"),
    "an unknown device for a like": lambda np: np.ones_like([3], device="x"),
    "arange without an end": lambda np: np.arange(start=4),
    "copy said in words": lambda np: np.array([1], copy="always"),
    "copy if needed": lambda np: np.array([1], copy=numpy._CopyMode.IF_NEEDED),
    "a vector multiplied in place": lambda np: np.ones(2).__imatmul__(np.eye(2)),
    "a vector multiplied in place by a vector": lambda np: np.ones(2).__imatmul__(np.ones(2)),
    "a matrix multiplied in place by a vector": lambda np: np.eye(2).__imatmul__(np.ones(2)),
    "outer of matrices": lambda np: np.linalg.outer(np.eye(2), np.eye(2)),
    "pad with what it does not know": lambda np: np.pad(np.ones(2), 1, bad=1),
    "deleting from flat": lambda np: np.eye(2).flat.__delitem__(0),
    "numbers for NaN that are infinite": lambda np: np.nan_to_num(
        np.array([1, numpy.nan, numpy.inf, -numpy.inf]), nan=-numpy.inf, posinf=3, neginf=4
    ),
    "writing to bytes": lambda np: np.frombuffer(b"123", "u1").setflags(write=True),
    "a sum from -0.0": lambda np: numpy.signbit(np.array([-0.0, -0.0]).sum(initial=-0.0)),
    "a view of everything for einsum": lambda np: np.einsum("...", np.broadcast_to(3.0, (4,))),
    "an array over another's memory": lambda np: np.ndarray((2,), float, np.arange(4.0), 8),
    "records of an array": lambda np: np.rec.array(np.zeros(2, "i4,f4")).f1,
    "accumulate out": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(5)),
    "accumulate out in a tuple": lambda np: np.add.accumulate(np.arange(5.0), out=(np.zeros(5),)),
    "accumulate out narrower": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(5, int)),
    "accumulate out shorter": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(4)),
    "accumulate of no axis": lambda np: np.add.accumulate(np.array(3.0)),
    "reduceat out": lambda np: np.add.reduceat(np.arange(8.0), [0, 4, 1], out=np.zeros(3)),
    "reduceat out shorter": lambda np: np.add.reduceat(np.arange(8.0), [0, 4], out=np.zeros(3)),
    "reduceat out of range": lambda np: np.add.reduceat(np.arange(8.0), [0, 8]),
    "outer out narrower": lambda np: np.add.outer(
        np.arange(3.0), np.arange(2.0), out=np.zeros((3, 2), int)
    ),
    "reduce out ...": lambda np: np.add.reduce(np.ones((2, 3)), out=...),
    "conj into an out": lambda np: np.array([1 + 2j]).conj(np.zeros(1, complex)),
    "conj of strings": lambda np: np.array(["a"]).conj(),
    "an array no deeper than": lambda np: np.array([[1, 2]], ndmax=1),
    "resize to None": lambda np: np.zeros(3).resize(None),
    "a priority that is no number": lambda np: np.arange(3) + Odd(),
    "where of shapes that do not fit": lambda np: np.where(np.ones(3, bool), np.ones(2), 1),
    "reshape -1 twice": lambda np: np.ones((2, 3)).reshape(-1, -1),
    "a sequence for an element": lambda np: np.ones((2, 3)).__setitem__((0, 0), [1, 2]),
    "an array for an element": lambda np: np.ones((2, 3)).__setitem__((0, 0), np.ones(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    assert _outcome(CALLS[name], atoll) == _outcome(CALLS[name], numpy)


def test_base_is_the_array_itself() -> None:
    np = atoll
    a = np.ones((4, 4), complex)
    views = [a[()], a[1:], a[1:][1:], a.T, a.reshape(16), a.ravel(), a.real, a.view(), a[..., None]]
    assert all(view.base is a for view in views)
    assert a.base is None
    del views
    view = a[1:]
    del a
    assert view.base is not None
    view[0] = 7
    assert complex(view.base[1, 0]) == 7


class Answers:
    """An object whose ``__array__`` answers with an array of atoll's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def test_array_protocol_may_answer_with_ours() -> None:
    np = atoll
    index = Answers(np.array([0, 2]))
    a = np.arange(5)
    assert a[index].tolist() == [0, 2]
    a[index] = Answers(np.array([7, 8]))
    assert a.tolist() == [7, 1, 8, 3, 4]
    assert (np.ones(2) + index).tolist() == [1, 3]
    assert np.asarray(index).tolist() == [0, 2]
    assert int(np.sum(index)) == 2


def _classes(np: Any) -> list[tuple[str, str]]:
    class Told(np.ndarray):  # type: ignore[misc]
        def __array_finalize__(self, parent: Any) -> None:
            self.info = getattr(parent, "info", "nobody")

    s = np.arange(6).view(Told)
    s.info = "me"
    made = [
        s.max(), s.sum(), s.mean(), s.argmax(), np.add.reduce(s), np.add.reduce(s.reshape(2, 3)),
        np.add.accumulate(s), np.multiply.outer(s, s), s.cumsum(), s.reshape(2, 3).any(axis=0),
        s.reshape(2, 3).argmin(axis=0), np.add.reduceat(s, [0, 2]),
    ]  # fmt: skip
    return [
        (type(one).__name__, one.info) if isinstance(one, Told) else ("a number", "")
        for one in made
    ]


def test_folds_keep_the_class() -> None:
    assert _classes(atoll) == _classes(numpy)


def test_casts_raise_at_the_call() -> None:
    for np in (numpy, atoll):
        a = np.array([1e308, 1.0])
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="in cast"):
            a.astype(np.float32)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="in reduce"):
            np.array([1e308, 1e308]).sum()


def test_out_of_memory_leaves_all_usable() -> None:
    np = atoll
    a = np.ones(1000) * 2
    for shape in ((1 << 45,), (1 << 30, 1 << 29)):
        with pytest.raises(MemoryError, match=r"out of memory.*float64|Unable to allocate"):
            np.empty(shape)
    with pytest.raises(ValueError, match=r"too big|Maximum allowed"):
        np.empty((1 << 40, 1 << 40))
    assert float(a.sum()) == 2000


def test_a_pickle_forgets_what_it_was_a_view_of() -> None:
    a = atoll.arange(6.0).reshape(2, 3)
    back = pickle.loads(pickle.dumps(a[:, 1:]))
    back[0] = 9
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert back.tolist() == [[9, 9], [4, 5]]


def test_an_element_of_an_array_of_objects_is_what_was_assigned():
    holder, held = atoll.empty(2, object), atoll.ones(3)
    holder[0] = held
    held += 1
    assert holder[0] is held
    assert holder[0].tolist() == [2, 2, 2]


def test_a_buffer_is_shared():
    memory = bytearray(16)
    a = atoll.frombuffer(memory, "i8")
    memory[0] = 7
    assert a.tolist() == [7, 0]
    a[1] = 1
    assert memory[8] == 1


def test_too_many_or_few_arguments_of_the_class():
    for arguments in ((), (int, int, int)):
        with pytest.raises(TypeError, match=r"arguments for"):
            atoll.ndarray[arguments]
    assert atoll.ndarray[int, float].__args__ == (int, float)


def test_testing_hands_arguments_on_as_they_are():
    fixed = atoll.zeros(3)
    fixed.flags.writeable = False
    atoll.testing.assert_raises(ValueError, atoll.add, 1, 2, out=fixed)


@pytest.mark.parametrize("make", [lambda: list(range(8)), lambda: [[k, k] for k in range(8)]])
def test_lists_are_shuffled_in_place(make: Callable[[], list[Any]]) -> None:
    for shuffle in (
        lambda np, x: np.random.default_rng(1).shuffle(x),
        lambda np, x: np.random.RandomState(1).shuffle(x),
        lambda np, x: (np.random.seed(1), np.random.shuffle(x)),
    ):
        ours, theirs = make(), make()
        shuffle(atoll, ours)
        shuffle(numpy, theirs)
        assert ours == theirs != make()


def test_the_arrays_of_a_list_change_places_as_they_are() -> None:
    arrays = [atoll.ones(2) * k for k in range(5)]
    shuffled = list(arrays)
    atoll.random.default_rng(2).shuffle(shuffled)
    assert sorted(map(id, shuffled)) == sorted(map(id, arrays))


def test_wrapping_makes_numbers_where_they_are_asked_for():
    a = atoll.arange(3)
    assert type(a.__array_wrap__(atoll.array(3, dtype="i1"), None, True)) is numpy.int8
    assert type(a.__array_wrap__(numpy.array([3]), None, True)) is atoll.ndarray
    assert type(a.__array_wrap__(atoll.array(3))) is atoll.ndarray


def test_versions_of_the_array_api_that_numpy_does_not_know():
    assert atoll.arange(3).__array_namespace__(api_version="2022.12") is atoll
    with pytest.raises(ValueError, match=r"Version .1999.12. of the Array API Standard"):
        atoll.arange(3).__array_namespace__(api_version="1999.12")


def test_lines_between_arrays_of_a_class_are_of_the_class():
    class Length(atoll.ndarray):
        __array_priority__ = 10

    a, b = (atoll.array(k).view(Length) for k in (1.0, 5.0))
    assert type(atoll.linspace(a, b)) is type(atoll.linspace(1, b)) is Length


def test_results_without_axes_are_of_a_users_class():
    """NumPy makes numbers of its own arrays only: who has a class of his own keeps what it knows."""

    def classes(np: Any) -> list[str]:
        class Length(np.ndarray):
            pass

        one, more = np.array(1.0).view(Length), np.arange(3.0).view(Length)
        results = (
            one + 1, np.sin(one), np.add(one, 2), *np.divmod(one, 2), more @ more,
            more.sum(), np.add.reduce(one), more[0],
        )  # fmt: skip
        return [type(result).__name__ for result in results]

    assert classes(atoll) == classes(numpy)


def test_classes_of_dtypes_find_out_the_rest():
    for kind in (numpy.dtypes.BytesDType, numpy.dtypes.StrDType, numpy.dtypes.Float32DType):
        for values in ([1.5, 22], [1.5, 22.25]):
            for dtype in (object, float):
                ours = atoll.array(atoll.array(values, dtype=dtype), dtype=kind)
                assert ours.dtype == numpy.array(numpy.array(values, dtype=dtype), dtype=kind).dtype
    same = atoll.arange(3.0)
    assert atoll.asarray(same, numpy.dtypes.Float64DType) is same


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.nanmean(np.array(2.0)),
        lambda np: np.nanvar(np.array(2.0)),
        lambda np: np.nanstd(np.array(2.0, np.float32)),
        lambda np: np.roll(np.arange(4), 2**100 + 1),
        lambda np: np.roll(np.arange(12).reshape(3, 4), (2**100 + 1, -(2**70)), (0, 1)),
        lambda np: np.zeros_like(np.ones((2, 3, 4)).T, shape=(5, 6), order="A").strides,
        lambda np: np.zeros_like(np.ones((2, 3, 4)).T, shape=(5, 6), order="K").strides,
        lambda np: np.full_like(np.ones((2, 3)).T, 1, shape=(5, 6, 7), order="A").strides,
        lambda np: np.full_like(np.arange(3), np.inf),
        lambda np: np.arange(5.0).astype("i4", casting="same_value"),
        lambda np: (np.arange(5.0) + 0.5).astype("i4", casting="same_value"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_no_axes_long_shifts_and_orders_of_other_shapes(call: Callable[[Any], Any]) -> None:
    assert _outcome(call, atoll) == _outcome(call, numpy)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.add.reduce(x, out=...),
        lambda np, x: np.add.reduce(x.reshape(1, -1), axis=0, out=...),
        lambda np, x: np.add(x, 1, ...),
        lambda np, x: np.negative(x, out=(...,)),
    ],
)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_dots_for_out_ask_for_an_array_of_the_class(call: Callable[..., Any], shape: Any) -> None:
    def outcome(np: Any, kind: Any) -> Any:
        try:
            result = call(np, np.ones(shape).view(kind))
            return type(result).__name__, numpy.asarray(result).tolist()
        except Exception as error:
            return type(error), str(error)

    for bases in (
        (numpy.ndarray, atoll.ndarray),
        [type("Own", (n.ndarray,), {}) for n in (numpy, atoll)],
    ):
        assert outcome(atoll, bases[1]) == outcome(numpy, bases[0])


def test_streams_start_from_our_arrays_and_their_copies_are_of_the_same_class() -> None:
    seed, draw = [3, 1, 4, 1], (2,)
    for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        ours, numpys = getattr(atoll.random, name), getattr(numpy.random, name)
        stream = ours(atoll.array(seed))
        assert stream.random_raw() == numpys(seed).random_raw()
        again = pickle.loads(pickle.dumps(stream))
        assert type(again) is ours
        assert again.random_raw() == stream.random_raw()
        assert isinstance(numpys(1), ours)
        assert not isinstance(1, ours)
    counter = atoll.random.Philox(counter=atoll.array(seed), key=atoll.array([1, 2]))
    assert counter.random_raw() == numpy.random.Philox(counter=seed, key=[1, 2]).random_raw()
    state = atoll.random.SeedSequence(atoll.array(seed)).generate_state(3)
    assert state.tolist() == numpy.random.SeedSequence(seed).generate_state(3).tolist()
    drawn = atoll.random.default_rng(atoll.array(seed)).random(draw)
    assert drawn.tolist() == numpy.random.default_rng(seed).random(draw).tolist()
    for generator in (atoll.random.default_rng(1), atoll.random.RandomState(1)):
        generator.normal()
        again = pickle.loads(pickle.dumps(generator))
        assert type(again) is type(generator)
        assert [again.normal(), again.normal()] == [generator.normal(), generator.normal()]


def test_numpy_takes_an_array_of_strings_of_any_length() -> None:
    words = atoll.array(["a", "tall", ""], dtype=numpy.dtypes.StringDType())
    assert type(numpy.asarray(words)) is numpy.ndarray
    assert numpy.asarray(words).tolist() == ["a", "tall", ""]
    masked = atoll.ma.array(words, mask=[1, 0, 0], dtype=words.dtype, fill_value="none")
    assert masked.filled().tolist() == ["none", "tall", ""]
    assert not hasattr(words, "__array_interface__")


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x, o: np.sqrt(x, out=(o,)),
        lambda np, x, o: np.sqrt(x, out=(o,), where=x > 1, dtype=float),
        lambda np, x, o: np.sqrt(3.0, out=(o,)),
        lambda np, x, o: np.add(x, x, o),
        lambda np, x, o: np.add(list(range(x.size)), x, out=(o,)),
        lambda np, x, o: np.add.accumulate(x, out=(o,)),
        lambda np, x, o: np.add.outer(x, 1.0, out=(o,)),
        lambda np, x, o: np.add.reduce(x.reshape(-1, 1), axis=1, out=(o,)),
        lambda np, x, o: np.add.reduceat(x, range(x.size), out=(o,)),
        lambda np, x, o: np.matmul(x.reshape(-1, 1), np.ones(1), out=(o,)),
        lambda np, x, o: np.divmod(x, 3, out=(o, None)),
        lambda np, x, o: np.divmod(x, 3, None, o),
        lambda np, x, o: np.divmod(x, 3, out=(o, np.empty_like(o)), where=x > 2),
        lambda np, x, o: np.modf(x, out=(None, o)),
        lambda np, x, o: np.modf(x + 0.25, out=(o, o)),
        lambda np, x, o: np.divmod(x[1:], 2, out=(o[1:], o[:-1])),
        lambda np, x, o: np.divmod(x[1:], 2, out=(o[:-1], o[1:])),
        lambda np, x, o: np.frexp(x, out=(o, None)),
    ],
)
@pytest.mark.parametrize("size", [6, 40_000])
def test_results_are_the_outputs_that_were_given(call: Callable[..., Any], size: int) -> None:
    def outcome(np: Any) -> Any:
        x, out = np.arange(float(size)), np.zeros(size)
        result = call(np, x, out)
        results = result if isinstance(result, tuple) else (result,)
        return [each is out for each in results], out.tolist()

    assert outcome(atoll) == outcome(numpy)


DEPRECATED: list[Callable[..., Any]] = [
    lambda np, x: np.row_stack([x, x])[1, :3].tolist(),
    lambda np, x: np.chararray((2,)).shape,
    lambda np, x: setattr(x, "strides", (8,)),
    lambda np, x: np.cross(x.reshape(-1, 2), x.reshape(-1, 2)).shape,
    lambda np, x: np.fft.fftn(x.reshape(2, -1), s=(2, 2)).shape,
    lambda np, x: np.linalg.qr(x.reshape(-1, 2)[:4], "economic").shape,
    lambda np, x: [a.flags.writeable for a in np.broadcast_arrays(x[None], np.ones((2, 1)))],
    lambda np, x: np.broadcast_arrays(x[None], np.ones((2, 1)))[0].__setitem__((0, 0), 5),
    lambda np, x: np.broadcast_arrays(x[None], np.ones((2, 1)))[0].__iadd__(1).shape,
    lambda np, x: np.broadcast_arrays(x[None], np.ones((2, 1)))[0][1:].__setitem__(0, 5),
    lambda np, x: np.broadcast_arrays(x[None], np.ones((2, 1)))[0].fill(1),
    lambda np, x: np.add(1, 2, out=np.broadcast_arrays(x[None], np.ones((2, 1)))[0]).shape,
    lambda np, x: str(np.broadcast_arrays(x[None], np.ones((2, 1)))[0].flags),
    lambda np, x: [a.flags.writeable for a in np.broadcast_arrays(x, x)],
    lambda np, x: np.meshgrid(x[:9], x, copy=False)[1].__setitem__((0, 0), 5),
    lambda np, x: np.meshgrid(x[:9], x, copy=False, sparse=True)[0].__setitem__((0, 0), 5),
    lambda np, x: np.broadcast_to(x, (2, x.size)).__setitem__((0, 0), 5),
]


@pytest.mark.skipif(native is None, reason="frames of Python between the program and NumPy")
@pytest.mark.parametrize("call", DEPRECATED)
@pytest.mark.parametrize("size", [8, 40_000])
def test_what_is_deprecated_warns_at_the_line_of_the_program(
    call: Callable[..., Any], size: int
) -> None:
    def outcome(np: Any) -> Any:
        x = np.arange(float(size))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = call(np, x)
            except ValueError as error:
                result = str(error)
        texts = [(w.category, str(w.message), w.filename, w.lineno) for w in warned]
        return result, texts, numpy.asarray(x).ravel()[:3].tolist()

    assert outcome(atoll) == outcome(numpy)
