"""What is equal to Python need not be the same to NumPy: 1, 1.0 and True, or the two zeros.

Much is remembered by keys: views by their index, axes, results by dtype and number. So each line is run twice, with
two such values one after the other, in both orders, on an array of a shape that no line has met before.
"""

import itertools

import numpy
import pytest

import atoll
from atoll.config import config

from . import oracle

ONES = "1 True 1.0 np.int64(1) np.True_"
ZEROS = "0 False 0.0 -0.0"
COMPLEX = f"{ZEROS} 0j complex(0,-0.0) np.float32(-0.0)"
SLICES = "1:5 1.0:5.0 True:5 np.int64(1):5 1:5:1 1:5:1.0"

LINES = [
    ("r = a[@]", ONES),
    ("r = a[@]", ZEROS),
    ("r = a[@]", SLICES),
    ("r = a[@, 1:3]", SLICES),
    ("r = a[1:3, @]", ONES),
    ("r = a[None, @]", SLICES),
    ("r = a[..., @]", ONES),
    ("a[@] = 3", SLICES),
    ("a[1:3, @] = 3", SLICES),
    ("r = a.sum(axis=@)", ONES),
    ("r = a.max(axis=(@,))", ZEROS),
    ("r = a.mean(@)", ZEROS),
    ("r = a.std(@)", ONES),
    ("r = np.average(a, @)", ONES),
    ("r = a.sum(axis=0, keepdims=@)", f"{ONES} None"),
    ("r = a.argmin(@)", ONES),
    ("r = a.cumsum(@)", ONES),
    ("r = a.transpose(1, @)", ZEROS),
    ("r = a.swapaxes(0, @)", ONES),
    ("r = np.moveaxis(a, 0, @)", ONES),
    ("r = np.expand_dims(a, @)", ONES),
    ("r = np.squeeze(a[:, None], @)", ONES),
    ("r = a.diagonal(@)", ONES),
    ("r = np.flip(a, @)", ZEROS),
    ("r = np.rot90(a, @)", ONES),
    ("r = np.broadcast_to(a, (@, *a.shape))", ONES),
    ("r = a.reshape(@, -1)", ONES),
    ("r = np.stack((a, a), @)", ONES),
    ("r = np.concatenate((a, a), @)", ONES),
    ("r = np.roll(a, @, 0)", ONES),
    ("r = np.tile(a, @)", ONES),
    ("r = np.eye(len(a), k=@)", ONES),
    ("r = np.array(a, ndmin=@)", ONES),
    ("r = np.zeros((len(a), @))", ONES),
    ("r = np.ones(@)", ONES),
    ("r = a * @", COMPLEX),
    ("r = @ * a", COMPLEX),
    ("r = a + @", COMPLEX),
    ("r = a ** @", f"{ONES} 2 2.0 np.int8(2) np.float32(2) 2+0j"),
    ("r = a.astype('i4') + @", f"{ONES} np.int8(1) np.uint64(1)"),
    ("r = a.astype('i4') ** @", "2 2.0 np.int8(2) np.float32(2)"),
    ("r = (a > 0) + @", ONES),
    ("r = @ - a.astype('i2')", "1 1.0 np.int64(1) np.float32(1)"),
    ("r = np.where(a > 0, @, a.astype('i2'))", COMPLEX),
    ("r = np.where(a > 0, a, @)", COMPLEX),
    ("r = np.copysign(a, @)", ZEROS),
    ("r = np.arctan2(@, a)", ZEROS),
    ("r = np.full(a.shape, @)", COMPLEX),
    ("r = np.full_like(a, @)", COMPLEX),
    ("r = np.arange(@, len(a))", ZEROS),
    ("a.fill(@)", ZEROS),
    ("a[1:3] = @", ZEROS),
    ("a[a > 0] = @", ZEROS),
    ("a *= @", COMPLEX),
    ("r = np.sum(a, axis=0, initial=@)", ZEROS),
    ("r = np.pad(a, 1, constant_values=@)", ZEROS),
]
_shapes = ((rows, columns) for columns in itertools.count(5) for rows in range(6, 40))


def signs(value):
    """Where an outcome is less than zero, or minus zero."""
    parts = numpy.asarray(value) if isinstance(value, (numpy.ndarray, atoll.ndarray)) else None
    if parts is None or parts.dtype.kind not in "fc":
        return []
    return [numpy.signbit(parts.real), numpy.signbit(parts.imag)]


@pytest.mark.parametrize(("line", "values"), LINES, ids=[f"{a}  {b}"[:60] for a, b in LINES])
def test_equal_values_are_not_taken_for_each_other(line, values):
    codes = [compile(line.replace("@", value), value, "exec") for value in values.split()]

    def run(module, array, code):
        names = {"np": module, "a": array}
        exec(code, names)
        return names.get("r")

    with config(small=0):
        for pair in itertools.permutations(codes, 2):
            rows, columns = next(_shapes)
            whole = numpy.arange(1.0 * rows * columns).reshape(rows, columns) % 5 - 2
            for code in pair:
                mine, theirs = atoll.array(whole), whole.copy()
                found = oracle.outcome(run, atoll, (mine, code))
                expected = oracle.outcome(run, numpy, (theirs, code))
                where = f"{line} with {pair[0].co_filename}, then {pair[1].co_filename}"
                for a, b in ((found, expected), (mine, theirs)):
                    oracle.same(a, b, ulps=4, where=where)
                    numpy.testing.assert_equal(signs(a), signs(b), err_msg=where)


AXES = [
    "np.concatenate((a, a), axis)",
    "np.sort(a, axis)",
    "np.argsort(a, axis, kind='stable')",
    "a.sum(axis)",
    "a.cumsum(axis)",
    "a.argmax(axis)",
    "np.flip(a, axis)",
    "np.stack((a, a), axis)",
]


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("line", AXES)
def test_ranks_take_the_same_for_an_axis(line):
    def run(module, array, axis):
        return eval(line, {"np": module, "a": array, "axis": axis})

    whole = numpy.arange(60.0).reshape(10, 6) % 7
    a = atoll.array(whole)
    for axis in (1, True, 1.0):
        expected = oracle.outcome(run, numpy, (whole, axis))
        oracle.same(oracle.outcome(run, atoll, (a, axis)), expected, where=f"{line}, {axis}")
        assert isinstance(expected, TypeError) is (type(axis) is float) or axis is True
