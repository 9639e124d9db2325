"""Results lie in memory as NumPy's do, as far as a program can see: in flags, the order of strides, and in what is a view.

On ranks every block is in an order of its own; what is compared is what arrays say of themselves.
"""

from __future__ import annotations

import numpy
import pytest

import atoll
from atoll import Layout

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("by_numpy")]

CALLS = [
    "np.cumsum(x, axis=0)",
    "np.cumsum(x, axis=-1)",
    "np.cumprod(x, axis=1)",
    "x.cumsum(axis=0)",
    "np.add.accumulate(x, axis=1)",
    "np.maximum.accumulate(x, axis=0)",
    "np.cumulative_sum(x, axis=1)",
    "np.nancumsum(x, axis=0)",
    "np.sort(x, axis=0)",
    "np.sort(x, axis=-1)",
    "np.argsort(x, axis=0)",
    "np.argsort(x, axis=1)",
    "np.partition(x, 1, axis=0)",
    "np.argpartition(x, 1, axis=1)",
    "np.argwhere(x > 3)",
    "np.fft.fft(x, axis=0)",
    "np.fft.fft(x, axis=1)",
    "np.fft.ifft(x, axis=0)",
    "np.fft.rfft(x, axis=0)",
    "np.fft.irfft(x, axis=1)",
    "np.fft.fft2(x, axes=(0, 1))",
    "np.fft.fftn(x)",
    "np.fft.rfftn(x)",
    "np.fft.fftshift(x)",
    "np.flip(x, 0) + 0",
    "np.roll(x, 1, 0)",
    "np.roll(x, 1)",
    "np.take(x, [1, 0], axis=0)",
    "np.take(x, [[1, 0]], axis=1)",
    "x[[1, 0]]",
    "x[:, [1, 0]]",
    "x[[1, 0], [0, 1]]",
    "x[..., [0, 1]]",
    "x[x > 3]",
    "np.take_along_axis(x, np.argsort(x, 0), 0)",
    "np.compress([True, True], x, axis=0)",
    "np.repeat(x, 2, axis=0)",
    "np.tile(x, 2)",
    "np.concatenate([x, x])",
    "np.concatenate([x, x], axis=1)",
    "np.stack([x, x])",
    "np.stack([x, x], -1)",
    "np.vstack([x, x])",
    "np.hstack([x, x])",
    "np.dstack([x, x])",
    "np.pad(x, 1)",
    'np.pad(x, 1, mode="edge")',
    "np.where(x > 3, x, 0)",
    "np.clip(x, 1, 4)",
    "np.diff(x, axis=0)",
    "np.gradient(x, axis=0)",
    "np.quantile(x, [.2, .5], axis=0)",
    "np.percentile(x, 30, axis=1)",
    "np.mean(x, axis=0)",
    "np.sum(x, axis=1)",
    "np.sum(x, axis=0, keepdims=True)",
    "np.argmax(x, axis=0)",
    "np.tril(x)",
    "np.triu(x)",
    "np.select([x > 3, x < 1], [x, -x], 0)",
    "np.choose((x > 3).astype(int), [x, -x])",
    "np.piecewise(x, [x > 3], [1, 0])",
    "np.nan_to_num(x)",
    "np.isclose(x, 3)",
    "np.unwrap(x, axis=0)",
    "np.real(x + 1j * x) + 0",
    "np.angle(x + 1j * x)",
    "np.copy(x)",
    "np.array(x)",
    "x.astype('f4')",
    "np.array(x, order='C')",
    "np.ascontiguousarray(x)",
    "np.asfortranarray(x)",
    "np.zeros_like(x)",
    "np.full_like(x, 3)",
    "np.empty_like(x)",
    "x + 1",
    "x * x.copy()",
    "np.tensordot(x, x, ((0,), (0,)))",
    "np.einsum('...ij->...ji', x)",
    "np.einsum('ij...,ij...->ij...', x, x)",
    "np.insert(x, 1, 5, axis=0)",
    "np.delete(x, 1, axis=0)",
    "np.append(x, x, axis=0)",
    "np.broadcast_to(x, (2, *x.shape)) + 0",
    "np.apply_along_axis(lambda v: v * 2, 0, x)",
    "np.apply_along_axis(numpy.sort, 1, x)",
    "np.random.default_rng(1).permuted(x, axis=0)",
    "np.random.default_rng(1).permutation(x)",
    "np.random.default_rng(1).permutation(x, axis=1)",
    "np.random.default_rng(1).choice(x, 3, axis=1)",
    "np.rot90(x) + 0",
    "np.nan_to_num(x, copy=False)",
    "np.block([[x, x]])",
    "np.cross(x[..., :3], x[..., :3])",
    "np.vectorize(lambda v: v + 1)(x)",
    "np.frexp(x)[0]",
    "np.divmod(x, 2)[1]",
    "np.modf(x)[0]",
    "np.sort_complex(x)",
    "np.lib.stride_tricks.sliding_window_view(x, 2, axis=0) + 0",
    "np.unpackbits((x * 1).astype('u1'), axis=0)",
    "np.float_power(x, 2)",
    "np.round(x, 1)",
    "np.cumsum(x, axis=0, dtype='f4')",
    "np.squeeze(x[:1]) + 0",
    "np.moveaxis(x, 0, -1) * 1",
    "x.repeat(2, 0)",
    "x.take([1, 0], 1)",
    "np.fliplr(x) * 2",
    "np.heaviside(x, 1)",
    "np.angle(x)",
    "np.angle(x, deg=True)",
    "np.imag(x)",
    "np.isreal(x)",
    "np.iscomplex(x)",
]
REPEATING = [
    "x.astype('f4')", "x.astype('c8')", "np.copy(x)", "x + 1", "np.nan_to_num(x)", "np.gradient(x)[0]",
    "np.concatenate([x, x])", "np.concatenate([x, x], 1)", "np.stack([x, x], -1)", "np.append(x, x, 0)", "np.sqrt(x)",
]  # fmt: skip
"""What is called on views that repeat elements: copies follow their strides, elementwise operations do not."""
NUMBERS = numpy.arange(20.0).reshape(4, 5) * 3 % 7
CUBE = numpy.arange(24.0).reshape(2, 3, 4) % 7


def placed(np, array):
    """The array, on the ranks in blocks if there are several."""
    made = np.asarray(array.copy())
    if np is numpy or atoll.world.size == 1:
        return made
    return made.redistribute(Layout.default(array.shape))


OPERANDS = {
    "rows": lambda np: placed(np, NUMBERS),
    "transposed": lambda np: placed(np, NUMBERS.T).T,
    "columns": lambda np: np.asfortranarray(placed(np, NUMBERS)),
    "every other": lambda np: placed(np, numpy.repeat(NUMBERS, 2, 0))[::2],
    "backwards": lambda np: placed(np, NUMBERS)[::-1],
    "turned": lambda np: placed(np, CUBE.transpose(2, 0, 1)).transpose(1, 2, 0),
    "swapped": lambda np: placed(np, CUBE.transpose(1, 0, 2)).transpose(1, 0, 2),
}
VIEWS = [
    "r.reshape(-1)", "np.ravel(r)", "np.ravel(r, order='K')", "np.ravel(r, order='F')",
    "r.reshape(-1, order='F')", "r.T.reshape(-1)",
]  # fmt: skip


def facts(np, call, operand):
    """What a program can see of the memory of a call's result."""
    names = {"np": np, "numpy": numpy, "x": OPERANDS[operand](np)}
    r = eval(call, names)
    long = [abs(stride) for stride, n in zip(r.strides, r.shape, strict=True) if n > 1]
    order = sorted(range(len(long)), key=lambda k: -long[k])
    views = [bool(np.shares_memory(eval(how, {"np": np, "r": r}), r)) for how in VIEWS]
    return order, r.flags.c_contiguous, r.flags.f_contiguous, dict(zip(VIEWS, views, strict=True))


@pytest.mark.parametrize("size", [20, 250])
@pytest.mark.parametrize("call", REPEATING)
def test_results_of_views_that_repeat_elements(call, size):
    def strides(np):
        row = np.arange(float(size)) + 1
        views = np.broadcast_to(row, (size, size)), np.broadcast_to(row[:, None], (size, size)).T
        return [eval(call, {"np": np, "x": x}).strides for x in views]

    assert strides(atoll) == strides(numpy)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(3)
@pytest.mark.parametrize("operand", OPERANDS)
def test_as_in_numpy(operand):
    wrong = {}
    for call in CALLS:
        found, expected = facts(atoll, call, operand), facts(numpy, call, operand)
        if found != expected:
            wrong[call] = found, expected
    assert not wrong, f"{operand}: {list(wrong)}, {wrong}"


COPIES = [
    "x.ravel('K')", "x.ravel('A')", "x.flatten('K')", "x.flatten('A')", "x.copy('K')", "x.copy('A')", "np.array(x)",
    "np.zeros_like(x)", "np.frombuffer(x.tobytes('A'))", "np.frombuffer(x.tobytes('F'))",
]  # fmt: skip
REPEATED = {
    "below": lambda np, x: np.broadcast_to(x[0], x.shape),
    "beside": lambda np, x: np.broadcast_to(x[..., :1], x.shape),
    "below, turned": lambda np, x: np.broadcast_to(x[0], x.shape).T,
    "of one": lambda np, x: np.broadcast_to(x[:1, ..., :1], x.shape),
    "not": lambda np, x: x[..., 1:2],
}


@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("operand", OPERANDS)
def test_copies_in_the_order_of_views_that_repeat(operand):
    for name, repeat in REPEATED.items():
        ours, theirs = (repeat(np, OPERANDS[operand](np)) for np in (atoll, numpy))
        for call in COPIES:
            found = eval(call, {"np": atoll, "x": ours})
            expected = eval(call, {"np": numpy, "x": theirs})
            shown = [[s for s, n in zip(a.strides, a.shape) if n > 1] for a in (found, expected)]
            assert shown[0] == shown[1], (name, call)
            assert (numpy.asarray(found) == expected).all(), (name, call)


PARTS = [
    "x[::2, 1:5:3]", "x[:, 2]", "x[3]", "x[1:-1]", "x.T[::3]", "x[::-1]", "x[::-2, ::-3]", "x[4, ::2]", "x.reshape(8, 2, 6)[:, :, ::2]",
]  # fmt: skip


@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("text", PARTS)
def test_strides_are_those_of_the_memory_that_libraries_get(text):
    start = numpy.arange(96.0).reshape(16, 6)
    expected = eval(text, {"np": numpy, "x": start})
    part = eval(text, {"np": atoll, "x": placed(atoll, start)})
    assert part.strides == numpy.asarray(part).strides
    for module in (numpy, atoll):
        windows = module.lib.stride_tricks.as_strided(part, part.shape, part.strides)
        assert numpy.array_equal(windows, expected)


@pytest.mark.simulated(3)
def test_a_part_of_a_distributed_array_takes_no_strides():
    part = placed(atoll, numpy.arange(96.0).reshape(16, 6))[::2]
    with pytest.raises(ValueError, match=r"strides: .*use atoll\.array\(a\)"):
        part.strides = (96, 8)
