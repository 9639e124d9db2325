"""What ranks compute together is told apart by name, shapes, axes and words, though it may need no message."""

import numpy
import pytest

import atoll
from atoll.comm import simulated
from atoll.errors import DivergenceError

PAIRS = {
    "other indices": ("u[[3, 5, 7]] = 1", "u[[3, 5]] = 1"),
    "indices of other columns": ("u[:, [3, 5]] = 1", "u[:, [3, 4]] = 1"),
    "an index array of another length": ("u[rows(3)]", "u[rows(2)]"),
    "a flat index": ("u.flat[[3, 4]] = 1", "u.flat[[3, 4, 5]] = 1"),
    "take": ("u.take([3, 5], 0)", "u.take([3, 5], 1)"),
    "put": ("u.put([3, 5, 7], 1)", "u.put([3, 5], 1)"),
    "along an axis": (
        "np.put_along_axis(u, rows(0, 12), 1, 0)",
        "np.put_along_axis(u, rows(1, 12), 1, 0)",
    ),
    "a scan of products": ("np.cumsum(u, 1)", "np.cumprod(u, 1)"),
    "a scan along another axis": ("np.cumsum(u, 0)", "np.cumsum(u, 1)"),
    "another position": ("u.argmax(0)", "u.argmin(0)"),
    "sorted along another axis": ("np.sort(u, 0)", "np.sort(u, 1)"),
    "another transform": ("np.fft.fft(u)", "np.fft.ifft(u)"),
    "another norm of a transform": ("np.fft.fft2(u)", "np.fft.fft2(u, norm='ortho')"),
    "a transposed factor": ("u @ u", "u @ u.T"),
    "spelt otherwise": ("np.einsum('ij,jk', u, u)", "np.einsum('ij,kj', u, u)"),
    "the other triangle": ("np.tril(u)", "np.triu(u)"),
    "the other way round": ("u - 1", "1 - u"),
    "other repetitions": ("np.repeat(u, [1] * 12, 0)", "np.repeat(u, [1] * 11 + [2], 0)"),
    "another side": ("np.searchsorted(v, [1, 2])", "np.searchsorted(v, [1, 2], side='right')"),
    "more values to look for": ("np.isin(v, [1, 2])", "np.isin(v, [1, 2, 3])"),
    "another place": ("np.insert(u, 1, 3, 0)", "np.insert(u, 2, 3, 0)"),
    "added or subtracted": ("np.add.at(u, [1, 2], 1)", "np.subtract.at(u, [1, 2], 1)"),
    "another seed": ("random().random((12, 12))", "np.random.default_rng(2).random((12, 12))"),
    "another seed of an order": (
        "random().permutation(u)",
        "np.random.default_rng(2).permutation(u)",
    ),
    "another state": (
        "np.random.RandomState(3).normal(size=(12, 12))",
        "np.random.RandomState(4).normal(size=(12, 12))",
    ),
    "another function of what is gathered": ("np.linalg.eigvals(u).real", "np.linalg.eigvalsh(u)"),
    "another sampler": ("random().random((12, 12))", "random().normal(size=(12, 12))"),
}


def program(pair: tuple[str, str]) -> float:
    u = atoll.arange(144.0).reshape(12, 12) % 17
    v = atoll.arange(12.0)
    names = {
        "np": atoll,
        "u": u,
        "v": v,
        "rows": lambda *shape: numpy.zeros(shape, int),
        "random": lambda: atoll.random.default_rng(1),
    }
    text = pair[min(atoll.world.rank, 1)]
    if " = " in text:
        exec(text, names)
        result = u
    else:
        result = eval(text, names)
        result = u if result is None else result
    return float(abs(result.sum()))


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_who_does_something_else_is_told(name: str) -> None:
    with atoll.config(small=0), pytest.raises(DivergenceError, match="ranks have parted"):
        simulated.run(3, program, PAIRS[name])


@pytest.mark.ranks(2, 3)
def test_an_assignment_with_another_index_names_both(rank, size):
    with atoll.world.split(0, rank):
        u = atoll.zeros((12, 12))
        u[1] = 2.0
        with pytest.raises(DivergenceError, match=r"\[3, 5, 7\].*\[3, 5\]|\[3, 5\].*\[3, 5, 7\]"):
            u[[3, 5, 7] if rank == 0 else [3, 5]] += 1.0


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2)
@pytest.mark.parametrize("do", ["barrier", "split"])
def test_who_comes_to_a_barrier_or_a_split_alone_is_told(rank, size, do):
    with atoll.world.split(0, rank), atoll.config(wait_check=0.05):
        u = atoll.arange(36.0).reshape(6, 6) + 1
        alone = {"barrier": atoll.world.barrier, "split": lambda: atoll.world.split(0)}[do]
        with pytest.raises(DivergenceError, match=rf"world\.{do}\(\) at test_together.py"):
            alone() if rank == 0 else float(u.sum())


def computing(widths: tuple[int, int]) -> float:
    v = atoll.ones((6, widths[min(atoll.world.rank, 1)]))
    return float((v * 2).sum())


def test_other_shapes_at_one_line_are_named() -> None:
    with (
        atoll.config(small=0),
        pytest.raises(
            DivergenceError, match=r"ank 0 computes .*\(6, 7\).*rank 1 computes .*\(6, 8\)"
        ),
    ):
        simulated.run(2, computing, (7, 8))


@pytest.mark.parametrize(
    "pair",
    [
        ("u[rows(3)]", "u[1 + rows(3)]"),
        ("u * 2", "u * 3"),
        ("u + rows(12)", "u + (rows(12) + 1)"),
        ("np.extract(rows(12) == 0, v)", "np.extract(rows(12) == 1, v)"),
        ("np.einsum('ij,j', u, rows(12) + 0.5)", "np.einsum('ij,j', u, rows(12) + 1.5)"),
        ("np.add.at(u, [1, 2], 1.0)", "np.add.at(u, [1, 2], 2.0)"),
        ("np.add(u, 1, where=rows(12) == 0, out=u)", "np.add(u, 1, where=rows(12) == 1, out=u)"),
        ("v * np.percentile(u, 20.5)", "v * np.percentile(u, 30.5)"),
    ],
)
def test_the_debug_setting_compares_values(pair: tuple[str, str]) -> None:
    with atoll.config(small=0):
        simulated.run(2, program, pair)
        with (
            atoll.config(debug=True),
            pytest.raises(DivergenceError, match="ranks have parted"),
        ):
            simulated.run(2, program, pair)
