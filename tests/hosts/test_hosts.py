"""Ranks on several hosts: tests pass on a network that loses frames, and a job outlives a host."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ..cli.test_restart import PROGRAM, total
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


def test_a_sample_passes_with_delay_and_loss() -> None:
    code, text, network = on_hosts(SAMPLE, hosts=3, delay=0.001, loss=0.02, limit=100)
    assert code == 0, text
    assert network.lost > 0


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("cut", "rank 1 of 4 cannot be reached any more: host elm has given no sign for 4 s"),
        ("crash", "rank 1 of 4 cannot be reached any more: host elm does not answer"),
    ],
)
def test_a_lost_host_is_named_and_the_job_goes_on_without_it(
    event: str, words: str, tmp_path: Path
) -> None:
    act = "size < 4 or (print('going'), np.world.barrier(), time.sleep(60))"
    command = [sys.executable, "-m", "atoll", "run", "-n", "4", "--hosts", "ash,elm,fir", "--restart", "-c", PROGRAM, "--", str(tmp_path / "run"), act]  # fmt: skip
    with Network(["ash", "elm", "fir"], delay=0.001) as network:
        job = network.start("ash", command, ATOLL_WAIT_ABORT="20")
        job.said("going")
        getattr(network, event)("elm")
        code, output, errors = job.ended()
        left = [name for name in ("ash", "fir") if "rank.py" in network.processes(name)]
    assert code == 0, errors
    assert words in errors
    assert "atoll: starts again with 3 ranks on ash:2,fir:1\n" in errors
    assert output.splitlines()[-2] == "from 2 on 3"
    assert float(output.splitlines()[-1]) == pytest.approx(total(), rel=1e-12)
    assert left == []
