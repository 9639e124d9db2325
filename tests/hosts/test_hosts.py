"""Ranks on several hosts."""

from __future__ import annotations

import sys

import pytest

from .__main__ import on_hosts
from .network import Network, refused

pytestmark = [
    pytest.mark.skipif(
        bool(refused()), reason=f"this machine permits no hosts in namespaces: {refused()}"
    ),
    pytest.mark.timeout(120),
]

SAMPLE = [
    "tests/comm/test_every_kind.py",
    "tests/files/test_npy.py",
    "tests/collective/test_recorded.py",
    "-k",
    "3ranks and (collectives or split_and_group or every_shape or sort or product)",
]


def test_ranks_know_their_host() -> None:
    program = "import atoll as np, socket; a = np.ones((600, 600)); print(socket.gethostname(), float((a @ a).sum()))"
    command = [sys.executable, "-m", "atoll", "run", "-n", "3", "--hosts", "ash,elm", "--all-output", "-c", program]  # fmt: skip
    with Network(["ash", "elm"]) as network:
        code, output, errors = network.run("ash", command)
        assert network.frames > 100  # the hosts share no memory
    assert (code, errors) == (0, "")
    words = ["[0] ash 216000000.0", "[1] elm 216000000.0", "[2] ash 216000000.0"]
    assert sorted(output.splitlines()) == words


def test_a_sample_passes_with_delay_and_loss() -> None:
    code, text, network = on_hosts(SAMPLE, hosts=3, delay=0.001, loss=0.02, limit=100)
    assert code == 0, text
    assert network.lost > 0
