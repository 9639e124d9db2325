"""QR, singular values and what follows from them: NumPy's answers, from shares of the matrix."""

import numpy as np
import pytest

import atoll
from atoll.context import statistics

from .distributions import normal, put, uneven

SHAPES = [(40, 3), (24, 18), (18, 24), (12, 12), (2, 31), (1, 1), (3, 1), (1, 4)]
KINDS = "dDfi"


def given(shape, kind):
    whole = normal(shape)
    if kind == "D":
        return whole + 1j * normal(shape[::-1]).T
    return (whole * 10).astype(kind) if kind in "fi" else whole


def close(ours, theirs, digits=11):
    theirs = np.asarray(theirs)
    ours = np.asarray(ours)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    scale = max(1.0, abs(theirs).max(initial=0))
    tolerance = 10.0 ** (-digits if theirs.dtype.char not in "fF" else -4) * scale
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def ungathered(compute, *args, **options):
    """The result, of which no whole array was brought together."""
    before = statistics.stats().gathered
    found = compute(*args, **options)
    for one in found if isinstance(found, tuple) else (found,):
        if isinstance(one, atoll.ndarray):
            one._evaluate()
    assert statistics.stats().gathered == before
    return found


@pytest.mark.ranks(2)
@pytest.mark.simulated(3, 4)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_qr_has_numpys_signs(size, mode):
    for number, shape in enumerate(SHAPES):
        for kind in KINDS if number == 0 else "dD":
            whole = given(shape, kind)
            a = (
                uneven(whole, size)
                if number % 3 == 1
                else put(whole, ["bn", "cc", "nb"][number % 3], size)
            )
            ours = ungathered(atoll.linalg.qr, a, mode)
            theirs = np.linalg.qr(whole, mode)
            assert type(ours).__name__ == type(theirs).__name__ or mode == "r"
            for one, two in zip(*([x] if mode == "r" else x for x in (ours, theirs))):
                close(one, two)
            np.testing.assert_array_equal(np.asarray(a), whole)


@pytest.mark.simulated(1, 5, 17)
def test_qr_of_many_ranks(size):
    for shape in [(200, 4), (60, 33), (5, 40)]:
        whole = normal(shape)
        q, r = atoll.linalg.qr(put(whole, "bn", size))
        close(q, np.linalg.qr(whole)[0])
        close(r, np.linalg.qr(whole)[1])


@pytest.mark.simulated(3)
def test_columns_that_are_in_place_stay(size):
    for whole in [
        np.eye(30, 4),
        -np.eye(30, 4),
        np.triu(normal((30, 5))),
        np.eye(9),
        np.zeros((20, 3)),
    ]:
        q, r = atoll.linalg.qr(put(whole, "bn", size))
        close(q, np.linalg.qr(whole)[0])
        close(r, np.linalg.qr(whole)[1])


@pytest.mark.simulated(4)
@pytest.mark.parametrize("shape", [(64, 6), (30, 30), (20, 41)])
def test_factors_of_matrices_of_any_rank_are_accurate(size, shape):
    scales = 10.0 ** -np.arange(shape[1])
    for whole in [
        normal(shape) * scales,  # from large columns to tiny ones
        np.repeat(normal((shape[0], 1)), shape[1], 1),
        normal((shape[0], 2)) @ normal((2, shape[1])),
        np.vstack(
            [np.zeros((shape[0] // 2, shape[1])), normal((shape[0] - shape[0] // 2, shape[1]))]
        ),
    ]:
        q, r = map(np.asarray, atoll.linalg.qr(put(whole, "bn", size)))
        assert abs(q.T @ q - np.eye(q.shape[1])).max() < 3e-15 * shape[0]
        assert abs(q @ r - whole).max() < 1e-14 * max(1, abs(whole).max()) * shape[0]
        np.testing.assert_array_equal(r, np.triu(r))


@pytest.mark.ranks(2)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_singular_vectors(size, full, kind):
    for shape in [(48, 5), (5, 48), (33, 1)]:
        whole = given(shape, kind)
        a = put(whole, "bn" if full else "cc", size)
        u, s, vh = ungathered(atoll.linalg.svd, a, full_matrices=full)
        theirs = np.linalg.svd(whole, full_matrices=full)
        assert type(atoll.linalg.svd(a, full)).__name__ == "SVDResult"
        close(s, theirs[1])
        u, s, vh = map(np.asarray, (u, s, vh))
        assert [(x.shape, x.dtype) for x in (u, s, vh)] == [(x.shape, x.dtype) for x in theirs]
        digits = 1e-13 if kind != "f" else 1e-4
        for basis in (u, vh.T):
            assert abs(basis.conj().T @ basis - np.eye(basis.shape[1])).max() < digits
        assert abs((u[:, : len(s)] * s) @ vh[: len(s)] - whole).max() < digits * 100
        close(atoll.linalg.svd(a, compute_uv=False), theirs[1])


@pytest.mark.simulated(2, 4)
@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_from_singular_values(size, kind):
    for shape in [(48, 5), (5, 48)]:
        whole = given(shape, kind)
        poor = whole.copy()
        poor[:, 1:3] = poor[:, :1]
        poor[1:3] = poor[:1]
        for w in (whole, poor):
            a = put(w, "nb", size)
            close(ungathered(atoll.linalg.pinv, a), np.linalg.pinv(w), 9)
            close(atoll.linalg.pinv(a, 0.3), np.linalg.pinv(w, 0.3), 9)
            if kind != "i":
                close(atoll.linalg.pinv(a, rtol=None), np.linalg.pinv(w, rtol=None), 9)
            for tol in (None, 1.0):
                assert atoll.linalg.matrix_rank(a, tol) == np.linalg.matrix_rank(w, tol)
            close(atoll.linalg.norm(a, "nuc"), np.linalg.norm(w, "nuc"), 9)
            b = given((shape[0], 3), kind)
            for right in (b, b[:, 0]):
                b_there = put(right, "b" + "n" * (right.ndim - 1), size)
                ours = ungathered(atoll.linalg.lstsq, a, b_there)
                theirs = np.linalg.lstsq(w, right)
                for one, two in zip(ours, theirs):
                    close(one, two, 9)
        close(atoll.linalg.cond(put(whole, "nb", size)), np.linalg.cond(whole), 9)


@pytest.mark.simulated(3)
def test_condition_in_other_norms(size):
    whole = normal((20, 20))
    for p in (1, -1, np.inf, -np.inf, "fro"):
        close(
            ungathered(atoll.linalg.cond, put(whole, "bn", size), p),
            np.linalg.cond(whole, p),
            8,
        )
    assert atoll.linalg.cond(put(np.ones((20, 20)), "bn", size), 1) == np.linalg.cond(
        np.ones((20, 20)), 1
    )


STACKS = {
    "qr": lambda np, a: np.linalg.qr(a),
    "r of qr": lambda np, a: np.linalg.qr(a, "r"),
    "svd": lambda np, a: np.linalg.svd(a)[1],
    "svdvals": lambda np, a: np.linalg.svdvals(a),
    "eigh": lambda np, a: np.linalg.eigh(a + a.swapaxes(1, 2))[0],
    "eigvals": lambda np, a: np.sort(np.linalg.eigvals(a), -1),
    "slogdet": lambda np, a: tuple(np.linalg.slogdet(a)),
    "cholesky": lambda np, a: np.linalg.cholesky(a @ a.swapaxes(1, 2) + 9 * np.eye(6)),
}


@pytest.mark.simulated(2, 4)
@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("count", [3, 10])
def test_stacks_of_matrices(size, name, count):
    whole = normal((count, 6, 6))
    whole[0] = whole[0] + whole[0].T  # all eigenvalues are real in one, and complex in others
    a = put(whole, "bnn", size)
    ours, theirs = STACKS[name](atoll, a), STACKS[name](np, whole)
    for one, two in zip(*((x if isinstance(x, tuple) else [x]) for x in (ours, theirs))):
        close(one, two, 10)


@pytest.mark.simulated(3)
def test_errors_are_numpys(size):
    a = put(normal((30, 2)), "bn", size)
    with pytest.raises(ValueError, match="Unrecognized mode 'all'"):
        atoll.linalg.qr(a, "all")
    with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
        atoll.linalg.qr(a[:, 0])
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        atoll.linalg.svd(a * np.nan)
    with pytest.raises(np.linalg.LinAlgError, match="Incompatible dimensions"):
        atoll.linalg.lstsq(a, a[1:, 0])
    with pytest.raises(ValueError, match="can't be both set"):
        atoll.linalg.pinv(a, 0.1, rtol=0.1)
    assert np.isnan(np.asarray(atoll.linalg.qr(a * np.nan)[1])).any()
    empty = atoll.linalg.qr(a[:0])
    assert [part.shape for part in empty] == [(0, 0), (0, 2)]
