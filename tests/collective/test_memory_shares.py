"""What ranks compute together takes a few shares of each, counted on the rank where it is most."""

import pytest

from . import calls
from .survey import measured

LIMITS = {
    "np.asarray(a[3])": 0.1,
    "np.asarray(a[:, 3])": 0.1,
    "v = v * 1; v.resize((3, 30), refcheck=False)": 0.5,
    "np.linalg.qr(a)": 6,
    "np.linalg.qr(a[:, :32])": 1.5,
    "np.linalg.svd(a[:, :32], full_matrices=False)": 1.5,
    "np.linalg.svd(a[:, :32].T, full_matrices=False)": 1.5,
    "np.linalg.pinv(a[:, :32])": 1.5,
    "np.linalg.lstsq(a[:, :32], a[:, 40])[0]": 1,
    "np.linalg.eigh(a.reshape(-1, 16, 16))[0]": 3,
    "np.add(b, b)": 1.5,
    "np.roll(a, 5)": 6,
    "np.take(v, j)": 9,
    "np.convolve(v, [1.0, 2.0, 1.0])": 6,
    "np.random.default_rng(5).permutation(a)": 4,
}
"""In shares of the largest operand or result, results included; a whole array would be four."""


@pytest.mark.ranks(4)
def test_what_is_taken(size):
    wholes = calls.operands(1024, 256, 1 << 18)
    much = {}
    for line, limit in LIMITS.items():
        one = measured(line, wholes)
        if one.shares > limit or one.gathered > one.share // 8:
            much[line] = one
    assert not much
