"""Eigenvalues and singular values of matrices that are too large for each rank: NumPy's values, without a gathered matrix."""

import numpy as np
import pytest

import atoll
from atoll import policy

from .distributions import normal, put


def unitary(q):
    q = np.asarray(q)
    return abs(q.conj().T @ q - np.eye(q.shape[1])).max() < 1e-12


SQUARE = normal((10, 10))
HERMITIAN = {
    "complex": SQUARE + SQUARE.T + 1j * (SQUARE - SQUARE.T),
    "of low rank": SQUARE[:, :3] @ SQUARE[:, :3].T,
    "equal eigenvalues": np.diag([1.0, 1, 2, 2, 5, 5, 5, 5, 9, 100]),
}


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("name", HERMITIAN)
def test_eigenvalues_of_hermitian_matrices(size, name):
    whole = HERMITIAN[name]
    with policy.limited(whole=1):
        values, vectors = atoll.linalg.eigh(put(np.tril(whole), "bn", size))
        np.testing.assert_allclose(values, np.linalg.eigvalsh(whole), atol=1e-12)
        assert unitary(vectors)
        vectors = np.asarray(vectors)
        np.testing.assert_allclose((vectors * values) @ vectors.conj().T, whole, atol=1e-11)
        with pytest.raises(np.linalg.LinAlgError):
            atoll.linalg.eigvalsh(put(whole * np.nan, "bn", size))


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.parametrize("shape", [(11, 8), (8, 10)])
def test_singular_values_and_what_follows(size, shape):
    whole = normal(shape)
    whole[:, 2] = whole[:, 1]
    right = normal((shape[0], 2))
    with policy.limited(whole=1):
        a = put(whole, "bn", size)
        u, s, vh = map(np.asarray, atoll.linalg.svd(a))
        assert [x.shape for x in (u, s, vh)] == [x.shape for x in np.linalg.svd(whole)]
        np.testing.assert_allclose(s, np.linalg.svd(whole)[1], atol=1e-12)
        assert unitary(u)
        assert unitary(vh.conj().T)
        np.testing.assert_allclose((u[:, : len(s)] * s) @ vh[: len(s)], whole, atol=1e-11)
        np.testing.assert_allclose(atoll.linalg.pinv(a), np.linalg.pinv(whole), atol=1e-9)
        ours, theirs = atoll.linalg.lstsq(a, right), np.linalg.lstsq(whole, right)
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-9)


@pytest.mark.simulated(3)
def test_diagonals_of_parts_that_move_are_planned(size):
    """Parts of many extents get a plan for any extents, which has to know whether a diagonal crosses ranks."""
    whole = normal((20, 20))
    a = put(whole, "bn", size)
    with atoll.config(debug=True, small=0):
        for k in range(4, 18):
            part = a[:k, :k] * 2
            np.testing.assert_array_equal(
                np.asarray(part.diagonal() + 1), whole[:k, :k].diagonal() * 2 + 1
            )
