"""What ranks compute together takes a few shares of each, counted on the rank where it is most."""

import pytest

from . import surface
from .survey import measured

LIMITS = {
    "a row": (0.1, lambda np, x: np.asarray(x.a[3])),
    "a column": (0.1, lambda np, x: np.asarray(x.a[:, 3])),
    "a.resize": (0.5, surface.CALLS["a.resize"]),
    "qr": (6, lambda np, x: np.linalg.qr(x.a)),
    "qr of a tall one": (1.5, lambda np, x: np.linalg.qr(x.a[:, :32])),
    "svd": (1.5, lambda np, x: np.linalg.svd(x.a[:, :32], full_matrices=False)),
    "svd of a wide one": (1.5, lambda np, x: np.linalg.svd(x.a[:, :32].T, full_matrices=False)),
    "pinv": (1.5, lambda np, x: np.linalg.pinv(x.a[:, :32])),
    "lstsq": (1, lambda np, x: np.linalg.lstsq(x.a[:, :32], x.a[:, 40])[0]),
    "eigh of stacks": (3, lambda np, x: np.linalg.eigh(x.a.reshape(-1, 16, 16))[0]),
    "add": (1.5, surface.CALLS["add"]),
    "roll": (6, surface.CALLS["roll"]),
    "take": (9, surface.CALLS["take"]),
    "convolve": (6, surface.CALLS["convolve"]),
    "random.permutation of rows": (4, surface.CALLS["random.permutation of rows"]),
}
"""In shares of the largest operand or result, results included; a whole array would be four."""


@pytest.mark.ranks(4)
def test_what_is_taken(size):
    wholes = surface.operands(1024, 256, 1 << 18)
    much = {}
    for name, (limit, call) in LIMITS.items():
        one = measured(call, wholes)
        if one.shares > limit or one.gathered > one.share // 8:
            much[name] = one
    assert not much
