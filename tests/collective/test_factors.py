"""LU, Cholesky and QR factors on process grids: NumPy's answers, and what ranks of large worlds send and receive."""

from math import isqrt, log2

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.collective.cholesky import cholesky
from atoll.collective.lu import Factors, factored_panel
from atoll.collective.process_grid import (
    GridMatrix,
    block_cyclic,
    is_better_whole,
    panel_width,
    process_grid,
)
from atoll.collective.reflections import factors_of
from atoll.collective.section import Section
from atoll.comm.dry_run import CountingCommunicator, Sent

from .distributions import normal, put


class Answered(CountingCommunicator):
    """What arrives is ones, so that pivots are not zero; zeros in integers, so that pivots are on the diagonal."""

    def irecv(self, array, source, tag=0, what=""):
        request = super().irecv(array, source, tag, what)
        array[...] = array.dtype.kind in "fc"
        return request


def close(ours, theirs):
    ours, scale = np.asarray(ours), max(1.0, np.abs(theirs).max())
    assert ours.dtype == np.asarray(theirs).dtype
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * scale)


@pytest.mark.slow
@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(4, 7, 17)
@pytest.mark.parametrize("kind", "dD")
def test_equations(size, kind):
    with policy.limited(panel=3):
        for length in (1, 4, 23):
            whole = normal((length, length)).astype(kind)
            whole[:, 0] *= 1e-3  # the pivots are not on the diagonal
            a, b = put(whole, "bn", size), normal((length, 3)).astype(kind)
            close(atoll.linalg.solve(a, b), np.linalg.solve(whole, b))
            close(atoll.linalg.solve(a, put(b[:, 0], "b", size)), np.linalg.solve(whole, b[:, 0]))
            close(atoll.linalg.inv(a), np.linalg.inv(whole))
            close(atoll.linalg.det(a), np.linalg.det(whole))
            square = whole @ whole.conj().T + length * np.eye(length, dtype=kind)
            for upper in (False, True):
                ours = atoll.linalg.cholesky(put(square, "nb", size), upper=upper)
                close(ours, np.linalg.cholesky(square, upper=upper))


@pytest.mark.ranks(2)
@pytest.mark.simulated(7, 17)
def test_matrices_without_factors_are_errors_on_all_ranks(size):
    poor = normal((20, 20))
    poor[:, 7] = 0
    with policy.limited(panel=3):
        for whole in (poor, np.zeros((20, 20)), np.ones((20, 20))):
            a = put(whole, "bb", size)
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                atoll.linalg.inv(a)
            assert atoll.linalg.det(a) == 0
            with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
                atoll.linalg.cholesky(a - np.eye(20))
        late = np.eye(20)
        late[13, 13] = -1
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            atoll.linalg.cholesky(put(late, "bn", size))
        assert np.isnan(atoll.linalg.det(put(whole * np.nan, "bn", size)))


@pytest.mark.parametrize("shape", [(40, 30), (9, 9), (1, 20), (20, 1), (12, 31)])
def test_panels_are_factored_with_partial_pivoting(shape):
    whole = normal(shape)
    panel = whole.copy()
    order = factored_panel(panel)
    lower = np.tril(panel, -1)[:, : min(shape)] + np.eye(shape[0], min(shape))
    assert abs(lower).max() == 1
    np.testing.assert_allclose(lower @ np.triu(panel)[: min(shape)], whole[order], atol=1e-12)


def test_grids_are_nearly_square_and_leave_out_few():
    for size in [*range(1, 300), 9973, 99_991, 10**6]:
        rows, columns = process_grid(size)
        assert columns <= rows
        assert 0 <= size - rows * columns <= size >> 4
        assert size < 40 or rows <= 2.5 * columns


@pytest.mark.parametrize("size", [100, 10_000])
def test_a_rank_of_many_receives_the_square_root(size):
    """The bounds: ``n**2 / sqrt(size)`` elements, each with the logarithm of a tree; partners in one row and one column."""
    length = 16 * isqrt(size)
    grid = process_grid(size)
    width = panel_width((length, length), grid)
    rank = size // 2 + grid[1] // 2 + 1
    layout = block_cyclic((length, length), grid, (width, width), size)
    block = np.random.default_rng(0).random(layout.local_shape(rank))
    beside = block_cyclic((length, 4), grid, (width, width), size)

    def matrix(layout, block):
        return Section(block, layout, Answered(rank, size, 1))

    def factored(section):
        Factors(section)

    def solved(section):
        right = np.ones(beside.local_shape(rank))
        Factors(section, Section(right, beside, section.communicator)).solution()

    def cholesky_of(section):
        cholesky(GridMatrix(section, grid, width))

    def qr_of(section):
        with np.errstate(all="ignore"):
            factors_of(GridMatrix(section, grid, width), "reduced")

    for work in (factored, solved, cholesky_of, qr_of):
        section = matrix(layout, block)
        work(section)
        messages = [e for e in section.communicator.events if isinstance(e, Sent)]
        received = sum(message.nbytes for message in messages if not message.leaves) / 8
        assert received < length**2 / isqrt(size) * log2(size) / 2
        assert len(messages) < 2 * length // width * log2(size)
        assert len({message.peer for message in messages}) < 3 * log2(size)


@pytest.mark.simulated(3)
def test_compositions_of_solutions(size):
    whole, right = normal((12, 12)), normal((3, 4))
    a = put(whole, "bn", size)
    close(atoll.linalg.matrix_power(a, -3), np.linalg.matrix_power(whole, -3))
    cube = whole.reshape(3, 4, 12)
    ours = put(cube, "bnn", size)
    close(atoll.linalg.tensorinv(ours), np.linalg.tensorinv(cube))
    close(atoll.linalg.tensorsolve(ours, right), np.linalg.tensorsolve(cube, right))
    with pytest.raises(np.linalg.LinAlgError):
        atoll.linalg.tensorinv(ours, 1)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("maps", ["bn", "nb", "bb", "cn"])
def test_small_matrices_are_factored_as_a_whole_with_the_digits_of_numpy(size, maps):
    with policy.limited(step=policy.Limits().step):
        for kind in "dfD":
            whole = normal((23, 23)).astype(kind)
            square = whole @ whole.conj().T + 23 * np.eye(23, dtype=kind)
            a, right = put(whole, maps, size), normal((23, 3)).astype(kind)
            cases = [
                (atoll.linalg.solve(a, right), np.linalg.solve(whole, right)),
                (atoll.linalg.inv(a), np.linalg.inv(whole)),
                (atoll.linalg.det(a), np.linalg.det(whole)),
                (atoll.linalg.slogdet(a)[1], np.linalg.slogdet(whole)[1]),
                (atoll.linalg.cholesky(put(square, maps, size)), np.linalg.cholesky(square)),
            ]
            for mode in ("reduced", "complete", "raw"):
                cases += zip(atoll.linalg.qr(a, mode), np.linalg.qr(whole, mode), strict=True)
            cases.append((atoll.linalg.qr(a[:, 2:], "r"), np.linalg.qr(whole[:, 2:], "r")))
            for ours, theirs in cases:
                assert np.asarray(ours).dtype == theirs.dtype
                np.testing.assert_array_equal(np.asarray(ours), theirs)
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            atoll.linalg.inv(put(np.zeros((23, 23)), maps, size))


def test_what_is_factored_as_a_whole_follows_from_what_both_ways_cost():
    with policy.limited(step=policy.Limits().step):
        kind = np.dtype("d")
        assert is_better_whole((1000, 1000), 2 / 3, kind, 2)
        assert is_better_whole((1000, 1000), 2 / 3, kind, 10**4)
        assert not is_better_whole((2000, 2000), 8 / 3, kind, 100)  # arithmetic
        assert not is_better_whole((4000, 4000), 1 / 3, kind, 2)  # memory
        with atoll.config(gather_bytes=10**6):
            assert not is_better_whole((1000, 1000), 2 / 3, kind, 2)
