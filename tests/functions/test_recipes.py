"""Calls of composed functions that were met before are recorded natively, as Python records them."""

import itertools
import sys

import numpy
import pytest

import atoll as np
from atoll.comm import simulated
from atoll.front import Way, native
from atoll.functions import names
from atoll.lazy.recipes import recipes

pytestmark = pytest.mark.skipif(
    native is None, reason="the native front was not built, or is left out"
)

DRAWN = numpy.random.default_rng(8)
BASE = DRAWN.normal(size=(3, 60, 80))
VIEWS = (lambda a: a, lambda a: a[:, ::2], lambda a: a > 0)
CALLS = {
    "all": [lambda x, y: (x + y > -9).all(), lambda x, y: np.all(x == y), lambda x, y: np.all(x, axis=1), lambda x, y: (x + x).all(keepdims=True)],
    "any": [lambda x, y: (x + y > 9).any(), lambda x, y: np.any(x != y, axis=0), lambda x, y: (x - x).any()],
    "arange": [lambda x, y: np.arange(4000), lambda x, y: np.arange(4000.0), lambda x, y: np.arange(1, 9001, 2) + x[0, 0], lambda x, y: np.arange(0.0, 40.0, 0.01, dtype="f4")],
    "around": [lambda x, y: np.around(x, 2)],
    "astype": [lambda x, y: x.astype(int), lambda x, y: x.astype("f8", copy=False)],
    "clip": [lambda x, y: np.clip(x, -1, 1), lambda x, y: x.clip(0.0, 0.5), lambda x, y: np.clip(x, -0.0, 1), lambda x, y: np.clip(x, y, 2)],
    "column_stack": [lambda x, y: np.column_stack((x, y))],
    "concatenate": [lambda x, y: np.concatenate([x, y]), lambda x, y: np.concatenate((x, x), axis=1), lambda x, y: np.concatenate([y, x, y])],
    "count_nonzero": [lambda x, y: np.count_nonzero(x), lambda x, y: np.count_nonzero(x, axis=0)],
    "cross": [lambda x, y: np.cross(x[:, :3], y[:, :3])],
    "diff": [lambda x, y: np.diff(x), lambda x, y: np.diff(x, axis=0), lambda x, y: np.diff(x, 2)],
    "dstack": [lambda x, y: np.dstack([x, y])],
    "ediff1d": [lambda x, y: np.ediff1d(x)],
    "flip": [lambda x, y: np.flip(x + 1)],
    "gradient": [lambda x, y: np.gradient(x.astype(float))[0], lambda x, y: np.gradient(x.astype(float), numpy.arange(80.0)[:x.shape[1]], axis=1)],
    "full_like": [lambda x, y: np.full_like(x, 3), lambda x, y: np.full_like(x, 4), lambda x, y: np.full_like(x, 4.5, dtype=float)],
    "hstack": [lambda x, y: np.hstack([x, y])],
    "linspace": [lambda x, y: np.linspace(0, 1, 4000), lambda x, y: np.linspace(0.0, 1, 4000, endpoint=False), lambda x, y: np.linspace(-0.0, 5, 4001, retstep=True)[0], lambda x, y: np.linspace(1, 9, 5000, dtype=int)],
    "mean": [lambda x, y: x.mean(), lambda x, y: np.mean(y, axis=0), lambda x, y: x.mean(axis=(0, 1), keepdims=True)],
    "nan_to_num": [lambda x, y: np.nan_to_num(x)],
    "ones_like": [lambda x, y: np.ones_like(x)],
    "pad": [lambda x, y: np.pad(x, 1), lambda x, y: np.pad(x, ((0, 1), (2, 0)), "edge"), lambda x, y: np.pad(x, 2, mode="wrap")],
    "ptp": [lambda x, y: np.ptp(x.astype(float)), lambda x, y: np.ptp(y.astype(float), axis=0)],
    "round": [lambda x, y: np.round(x, 1), lambda x, y: x.round(1)],
    "roll": [lambda x, y: np.roll(x, (1, -2), (0, 1)), lambda x, y: np.roll(y, 3)],
    "stack": [lambda x, y: np.stack([x, y]), lambda x, y: np.stack([x, y], axis=-1)],
    "std": [lambda x, y: x.astype(float).std(), lambda x, y: np.std(y.astype(float), axis=0, ddof=1)],
    "sum": [lambda x, y: x.sum(axis=(0, 1)), lambda x, y: np.sum(x, axis=1, keepdims=True), lambda x, y: np.sum(x, dtype="f4")],
    "max": [lambda x, y: np.max(x, axis=0, keepdims=True), lambda x, y: x.max(axis=(0, 1))],
    "min": [lambda x, y: np.min(x, axis=1, keepdims=True)],
    "amax": [lambda x, y: np.amax(x, axis=1, keepdims=True)],
    "amin": [lambda x, y: np.amin(x, axis=0)],
    "tile": [lambda x, y: np.tile(x, 2), lambda x, y: np.tile(x, (2, 1))],
    "trapezoid": [lambda x, y: np.trapezoid(x.astype(float)), lambda x, y: np.trapezoid(x, y, axis=0)],
    "tril": [lambda x, y: np.tril(x), lambda x, y: np.tril(x, 5)],
    "triu": [lambda x, y: np.triu(x, -1)],
    "var": [lambda x, y: x.var(), lambda x, y: np.var(y, axis=1)],
    "vstack": [lambda x, y: np.vstack([x, y])],
    "zeros_like": [lambda x, y: np.zeros_like(x), lambda x, y: np.zeros_like(x, dtype=int)],
}  # fmt: skip


def outcomes(name, composed):
    """The results of calls with arrays that change, and with one array twice."""
    with np.config(small=2000):
        for view, turn in itertools.product(VIEWS, range(2)):
            x, y, z = [view(np.array(block * (turn + 1))) for block in BASE]
            for pair in ((x, y), (y, z), (z, z), (z, x)):
                for call in CALLS[name]:
                    try:
                        if not composed:
                            recipes.clear()
                        result = call(*pair)
                    except TypeError as error:
                        yield str(error)
                        continue
                    shown = numpy.asarray(result)
                    yield type(result), shown.dtype, shown.shape, shown.strides, shown.tobytes()


def test_all_composed_functions_are_called_here():
    functions = [*names.items(), *vars(np.ndarray).items()]
    natives = [(name, each._way) for name, each in functions if isinstance(each, native.Function)]
    composed = {name for name, way in natives if way == Way.RECIPE} - {"concat"}
    folds = {"sum", "max", "min", "amax", "amin"}
    assert set(CALLS) == composed - {"argmax", "argmin", "full", "ones", "zeros"} | folds


@pytest.mark.parametrize("name", CALLS)
def test_native_compositions_are_those_of_python(name):
    assert list(outcomes(name, True)) == list(outcomes(name, False))


def entered(call):
    names = []
    sys.setprofile(
        lambda frame, event, arg: names.append(frame.f_code) if event == "call" else None
    )
    try:
        call()
    finally:
        sys.setprofile(None)
    return [code.co_name for code in names if "/atoll/lazy/" in code.co_filename]


def test_python_does_not_record_them_again():
    x, y = [np.array(numpy.tile(block, (4, 4))) for block in BASE[:2]]
    np.sync()
    kept = []
    calls = (
        lambda: np.stack([x, y]), lambda: np.diff(x), lambda: np.clip(x, 0, 1), lambda: np.pad(x, 1), lambda: np.mean(x, axis=0), lambda: np.vstack([x, x]),
    )  # fmt: skip
    for call in calls:
        for _ in range(3):
            kept.append(call())
        assert entered(lambda call=call: kept.append(call())) == []


def test_a_world_of_ranks_that_is_not_current_changes_nothing():
    def on_ranks():
        return np.zeros((300, 100), layout=np.Layout((300, 100), "bn", size=2)).sum()

    simulated.run(2, on_ranks)  # facts about its layouts are remembered, and the world with them
    test_python_does_not_record_them_again()


def test_zeros_of_either_sign_are_told_apart():
    x = np.zeros((200, 200)) - 0.0
    for bound in (0.0, -0.0) * 3:
        found = numpy.asarray(np.full_like(x, bound))
        assert (numpy.signbit(found) == numpy.signbit(bound)).all()


def test_what_a_call_writes_is_written_each_time():
    x = np.array(DRAWN.normal(size=(200, 200)))
    for turn in range(5):
        x[0] = numpy.nan
        assert np.nan_to_num(x, copy=False, nan=turn) is x
        assert float(x[0, 0]) == turn
        assert np.clip(x, 0, turn, out=x) is x
        assert float(x.max()) <= turn
        row = x[1:]
        row += 9
        assert np.clip(x[:-1], 0, 2, out=row) is row
        assert float(x[1:].max()) <= 2


def test_values_that_a_function_looks_at_are_no_part_of_a_recipe():
    f = DRAWN.random(40_000)
    for step in (1.0, 2.0, 3.0, 4.0):
        places = numpy.arange(40_000) * step
        found = np.gradient(np.array(f), np.array(places))
        assert numpy.allclose(numpy.asarray(found), numpy.gradient(f, places))
