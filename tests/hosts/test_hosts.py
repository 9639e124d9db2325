"""Ranks on several hosts: tests pass on a network that loses frames, and a job outlives a host."""

from __future__ import annotations

import re
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


@pytest.mark.slow
def test_a_sample_passes_with_delay_and_loss() -> None:
    code, text, network = on_hosts(SAMPLE, hosts=3, delay=0.001, loss=0.02, limit=100)
    assert code == 0, text
    assert network.lost > 0


GONE = "rank 1 of 4 cannot be reached any more: host elm"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "words"),
    [
        ("cut", f"{GONE} has given no sign for 4 s"),
        ("crash", f"{GONE} does not answer"),
        ("kill", r"rank 1 of 4 \(process \d+ on elm\) was killed by signal 9"),
    ],
)
def test_a_job_goes_on_without_what_it_lost_on_another_host(
    event: str, words: str, tmp_path: Path
) -> None:
    act = "size < 4 or (print('going'), np.world.barrier(), KILL, time.sleep(60))"
    kill = "rank == 1 and os.kill(os.getpid(), 9)" if event == "kill" else "0"
    program = [PROGRAM, "--", str(tmp_path / "run"), act.replace("KILL", kill)]
    command = [sys.executable, "-m", "atoll", "run", "-n", "4", "--hosts", "ash,elm,fir", "--restart", "-c", *program]  # fmt: skip
    with Network(["ash", "elm", "fir"], delay=0.001) as network:
        job = network.start("ash", command, ATOLL_WAIT_ABORT="20")
        job.said("going")
        if event != "kill":
            getattr(network, event)("elm")
        code, output, errors = job.ended()
        left = [name for name in ("ash", "fir") if "rank.py" in network.processes(name)]
    assert code == 0, errors
    assert re.search(words, errors), errors
    assert "Segmentation fault" not in errors
    assert "atoll: starts again with 3 ranks on ash:2,fir:1\n" in errors
    assert output.splitlines()[-2] == "from 2 on 3"
    assert float(output.splitlines()[-1]) == pytest.approx(total(), rel=1e-12)
    assert left == []


@pytest.mark.slow
def test_a_host_that_does_not_answer_is_named(tmp_path: Path) -> None:
    hostfile = tmp_path / "hosts"
    hostfile.write_text("# two ranks\nash:2\nelm\n")
    command = [sys.executable, "-m", "atoll", "run", "-n", "3", "--hostfile", str(hostfile), "-c", "import atoll"]  # fmt: skip
    with Network(["ash", "elm"]) as network:
        network.crash("elm")
        code, output, errors = network.run("ash", command)
    assert code == 1, (output, errors)
    assert errors.endswith("atoll: host elm does not answer; all ranks ended\n"), errors


@pytest.mark.slow
def test_a_wait_for_a_rank_on_another_host_ends_and_names_its_line() -> None:
    program = "import atoll as np\nnp.world.barrier()\nwhile np.world.rank == 1:\n    pass\n"
    command = [sys.executable, "-m", "atoll", "run", "-n", "2", "--hosts", "ash,elm", "-c", program]
    with Network(["ash", "elm"]) as network:
        code, _, errors = network.run("ash", command, ATOLL_WAIT_ABORT="4")
    assert code == 1, errors
    words = "atoll: rank 0 of 2 came to the end of the program, and waited 4 s .*; rank 1 is at <string>:[34](, computing)?; all"
    assert re.search(words, errors), errors
