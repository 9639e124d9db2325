"""Loops: strides of every class, chunks, threads, overlaps, masks, indices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.backend.spec import DTYPES

from .harness import Loop, same
from .samples import ordinary

SETTINGS = settings(max_examples=40, deadline=None)


@st.composite
def shapes(draw):
    ndim = draw(st.integers(1, 4))
    sides = st.integers(1, 5) if ndim > 2 else st.integers(1, 40)
    return tuple(draw(sides) for _ in range(ndim))


@st.composite
def views(draw, shape, dtype, seed=0):
    """An array of ``shape`` with strides of any kind."""
    ndim = len(shape)
    order = draw(st.permutations(range(ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in range(ndim)]
    base = tuple(shape[axis] * abs(step) for axis, step in zip(order, [steps[a] for a in order]))
    whole = ordinary(dtype, int(np.prod(base)), seed).reshape(base)
    back = np.argsort(order)
    return whole.transpose(back)[tuple(slice(None, None, step) for step in steps)]


@pytest.mark.slow
@SETTINGS
@given(st.data())
def test_any_strides(data):
    shape = data.draw(shapes())
    dtype = data.draw(st.sampled_from(["f8", "f4", "i8", "i2", "u1", "c16", "f2"]))
    a, b = (data.draw(views(shape, dtype, seed)) for seed in range(2))
    out = data.draw(views(shape, dtype, 2))
    small = ordinary(dtype, shape[-1], 3)
    column = ordinary(dtype, shape[0], 4).reshape(shape[0], *[1] * (len(shape) - 1))
    chunk = data.draw(st.integers(1, shape[0]))
    threads = data.draw(st.sampled_from([1, 2]))
    loop = Loop(shape, data.draw(st.sampled_from([0, -1, shape[-1]])) if len(shape) > 1 else 0)
    total = loop.call("add", dtype, loop.load(a), loop.load(b))
    total = loop.call("subtract", dtype, total, loop.load(small))
    loop.store(out, loop.call("multiply", dtype, total, loop.load(column)))
    with np.errstate(all="ignore"):
        expected = ((a + b - small).copy() * column).astype(dtype)
    loop.run(chunk, threads)
    assert same(out, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_of_every_length(dtype):
    """No element beside the row is touched, whatever the length and the stride."""
    source = ordinary(dtype, 300)
    for length in [*range(1, 36), 63, 64, 65, 127, 129, 140]:
        for step in (1, 2):
            old = ordinary(dtype, 300, 1)
            out = old.copy()
            view = out[3 : 3 + length * step : step]
            loop = Loop((length,))
            loop.store(view, loop.load(source[1 : 1 + length]))
            loop.run()
            old[3 : 3 + length * step : step] = source[1 : 1 + length]
            assert same(out, old)


FUNCTIONS = (
    "exp",
    "log",
    "sin",
    "tanh",
    "power",
    "hypot",
    "arctan2",
    "logaddexp",
    "cbrt",
    "floor_divide",
)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_value_does_not_depend_on_its_place(dtype):
    """The same bits at any offset, length, stride, width of the code and split among threads."""
    a, b = np.abs(ordinary(dtype, 200)) + np.dtype(dtype).type(0.01), ordinary(dtype, 200, 1)

    def compute(x, y, out, functions=FUNCTIONS, **options):
        loop = Loop(x.shape)
        values = loop.load(x), loop.load(y)
        for name, result in zip(functions, out, strict=True):
            both = name in ("power", "hypot", "arctan2", "logaddexp", "floor_divide")
            loop.store(result, loop.call(name, dtype, *values[: 2 if both else 1]))
        loop.run(**options)
        return out

    expected = compute(a, b, np.empty((len(FUNCTIONS), 200), dtype))
    for start, length in ((1, 3), (5, 8), (0, 17), (7, 64), (50, 133), (199, 1)):
        part = slice(start, start + length)
        out = compute(a[part], b[part], np.empty((len(FUNCTIONS), length), dtype))
        assert same(out, expected[:, part])
    for step in (2, -1):
        strided = np.empty((len(FUNCTIONS), 400), dtype)[:, ::2][:, : len(a[::step])]
        assert same(compute(a[::step], b[::step], strided), expected[:, ::step])
    out = compute(a, b, np.empty((len(FUNCTIONS), 200), dtype), chunk=7, threads=2)
    assert same(out, expected)
    grid = np.empty((len(FUNCTIONS), 40, 5), dtype)
    assert same(
        compute(a.reshape(40, 5), b.reshape(40, 5), grid, chunk=3), expected.reshape(grid.shape)
    )
    for k, name in enumerate(FUNCTIONS):  # alone, the code is wider
        out = compute(a, b, np.empty((1, 200), dtype), (name,))
        assert same(out[0], expected[k])
    same_row = np.empty((len(FUNCTIONS), 30), dtype)  # once for a row: one lane
    loop = Loop((30,))
    x, y = loop.load(a[:1]), loop.load(b[:1])
    for name, result in zip(FUNCTIONS, same_row, strict=True):
        both = name in ("power", "hypot", "arctan2", "logaddexp", "floor_divide")
        loop.store(result, loop.call(name, dtype, *(x, y)[: 2 if both else 1]))
    loop.run()
    assert same(same_row, np.repeat(expected[:, :1], 30, 1))


def test_in_place():
    a = ordinary("f8", 100)
    expected = a * 2 + a
    loop = Loop(a.shape)
    number = loop.operand(a, "rw")
    value = loop.load_operand(number)
    double = loop.call("multiply", "f8", value, loop.const(2.0, "f8"))
    loop.store_operand(number, loop.call("add", "f8", double, value))
    loop.run()
    assert same(a, expected)


@pytest.mark.parametrize("shift", [-40, -5, -1, 0, 1, 3, 16, 40])
def test_overlapping_operands_go_in_order(shift):
    memory = ordinary("f8", 300)
    plain = memory.copy()
    source, target = slice(100, 170), slice(100 + shift, 170 + shift)
    loop = Loop((70,))
    value = loop.load(memory[source], alias=1)
    loop.store(memory[target], loop.call("add", "f8", value, loop.const(1.0, "f8")), alias=1)
    loop.run()
    for k in range(70):
        plain[target.start + k] = plain[source.start + k] + 1
    assert same(memory, plain)


@pytest.mark.parametrize("length", range(2, 26))
@pytest.mark.parametrize("shift", [-11, -1, 0, 2, 9])
@pytest.mark.parametrize("exact", [True, False])
def test_kernels_for_short_rows(length, shift, exact):
    """They keep the order of overlapping operands, touch nothing beside their rows and fold down them."""
    memory = ordinary("f8", 2000)
    source, target = (
        np.lib.stride_tricks.as_strided(memory[start:], (31, length), (8 * 40, 8))
        for start in (100, 100 + shift)
    )
    mask, total = ordinary("b1", 31 * length, 3).reshape(31, length), np.zeros((1, length))
    expected, plain = total.copy(), memory.copy()
    loop = Loop((31, length), length if exact else -1)
    value = loop.call("add", "f8", loop.load(source, alias=1), loop.load(ordinary("f8", length, 4)))
    loop.store(target, value, loop.load(mask), alias=1)
    loop.reduce("add", "f8", loop.index(1), (0,), loop.operand(total, "rw"))
    loop.run(chunk=31)
    for row in range(31):
        for k in range(length):
            if mask[row, k]:
                at = 100 + 40 * row + k
                plain[at + shift] = plain[at] + ordinary("f8", length, 4)[k]
            expected[0, k] += k
    assert same(memory, plain)
    assert same(total, expected)


def test_overlap_of_rows():
    memory = np.arange(60.0).reshape(6, 10)
    plain = memory.copy()
    loop = Loop((5, 9))
    loop.store(memory[1:, 1:], loop.load(memory[:-1, :-1], alias=3), alias=3)
    loop.reduce("add", "f8", 0)
    _, partials = loop.run()
    total = 0.0
    for i in range(5):
        for j in range(9):
            total += plain[i, j]
            plain[i + 1, j + 1] = plain[i, j]
    assert same(memory, plain)
    assert partials[0].sum() == total


@pytest.mark.parametrize("dtype", ["f8", "i2", "b1", "c8"])
def test_masked_stores(dtype):
    shape = (7, 53)
    a, mask = ordinary(dtype, 7 * 53).reshape(shape), ordinary("b1", 7 * 53, 9).reshape(shape)
    for layout in ("C", "F"):
        out = np.array(ordinary(dtype, 7 * 53, 5).reshape(shape), order=layout)
        expected = np.where(mask, a, out)
        loop = Loop(shape)
        loop.store(out, loop.load(a), loop.load(mask))
        loop.run()
        assert same(out, expected)


def test_where_and_parts():
    z, mask = ordinary("c16", 61), ordinary("b1", 61, 1)
    swapped, chosen = np.empty_like(z), np.empty_like(z)
    loop = Loop(z.shape)
    value = loop.load(z)
    real, imag = loop.part("real", value, "f8"), loop.part("imag", value, "f8")
    other = loop.join(imag, real, "c16")
    loop.store(swapped, other)
    loop.store(chosen, loop.where(loop.load(mask), value, other))
    loop.run(chunk=10)
    assert same(swapped.real, z.imag)
    assert same(swapped.imag, z.real)
    assert same(chosen, np.where(mask, z, swapped))


@pytest.mark.parametrize("shape", [(50,), (5, 33), (3, 4, 5)])
def test_index_values(shape):
    ndim = len(shape)
    origins = [3, -5, 100][:ndim]
    outs = [np.empty(shape, np.int64) for _ in shape]
    loop = Loop(shape)
    for axis, out in enumerate(outs):
        loop.store(out, loop.index(axis))
    loop.run(chunk=4, threads=2, origins=origins)
    for axis, (out, expected) in enumerate(zip(outs, np.indices(shape), strict=True)):
        assert np.array_equal(out, origins[axis] + expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars(dtype):
    value = ordinary(dtype, 9)[5]
    out = np.empty(37, dtype)
    loop = Loop(out.shape)
    loop.scalar(0, "u1")
    loop.store(out, loop.scalar(value, dtype))
    loop.run()
    assert same(out, np.full(37, value))


def test_nothing_to_do():
    out = np.full((3, 4), 7.0)
    for shape in ((3, 0), (0, 4)):
        loop = Loop(shape)
        loop.store(out[: shape[0], : shape[1]], loop.const(1.0, "f8"))
        loop.run()
    assert (out == 7).all()


OPERATIONS = {
    "f8": ["add", "subtract", "multiply", "divide", "minimum", "copysign", "floor", "absolute"],
    "i4": ["add", "multiply", "floor_divide", "remainder", "bitwise_xor", "left_shift", "negative"],
    "c8": ["add", "multiply", "divide", "conjugate", "negative", "square"],
}


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_random_bodies(data):
    """Single-assignment programs of any form, run by a kernel and by NumPy."""
    dtype = data.draw(st.sampled_from(sorted(OPERATIONS)))
    shape = data.draw(st.sampled_from([(67,), (3, 19), (2, 3, 11)]))
    loop, values = Loop(shape), []
    for seed in range(data.draw(st.integers(1, 4))):
        array = data.draw(views(shape, dtype, seed))
        # NumPy rounds complex products by strides in another way; a kernel always as for none.
        values.append((loop.load(array), array.copy()))
    with np.errstate(all="ignore"):
        for _ in range(data.draw(st.integers(1, 25))):
            name = data.draw(st.sampled_from(OPERATIONS[dtype]))
            ufunc = getattr(np, name)
            chosen = [data.draw(st.sampled_from(values)) for _ in range(ufunc.nin)]
            number = loop.call(name, dtype, *[number for number, _ in chosen])
            values.append((number, ufunc(*[value for _, value in chosen])))
        outs = []
        for number, expected in values[-3:]:
            outs.append((np.empty(shape, dtype), expected))
            loop.store(outs[-1][0], number)
        loop.run(chunk=data.draw(st.integers(1, shape[0])))
    for out, expected in outs:
        assert np.array_equal(out, expected, equal_nan=dtype != "i4")


def test_tiles():
    """Operands that run across memory are read by tiles; nothing shows but the time."""
    x, y = (
        ordinary("f8", 150 * 200).reshape(200, 150),
        ordinary("f8", 150 * 200, 1).reshape(150, 200),
    )
    out = np.empty((150, 200))
    loop = Loop(out.shape)
    value = loop.call("subtract", "f8", loop.load(x.T), loop.load(y))
    loop.store(out, value)
    loop.reduce("maximum", "f8", value, position=-1)
    loop.reduce("add", "i8", loop.call("add", "i8", loop.index(0), loop.index(1)))
    _, partials = loop.run(chunk=13, threads=2)
    assert same(out, x.T - y)
    assert partials[0].max() == (x.T - y).max()
    assert partials[1].sum() == np.indices(out.shape).sum()


def test_tiles_keep_the_order_of_overlapping_operands():
    memory = ordinary("f8", 200 * 200).reshape(200, 200)
    plain = memory.copy()
    loop = Loop((20, 199))
    loop.store(memory[:20, 1:], loop.load(memory.T[:20, :-1], alias=1), alias=1)
    loop.run()
    for i in range(20):
        for j in range(199):
            plain[i, j + 1] = plain[j, i]
    assert same(memory, plain)
