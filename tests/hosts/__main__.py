"""Tests on ranks, with the ranks on several hosts behind a slow network that loses frames.

python -m tests.hosts [--hosts N] [--delay SECONDS] [--loss SHARE] [pytest's options and files]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .network import Network, refused

ONE_HOST = [
    "tests/collective/test_sorting.py::test_an_element_travels_once_to_even_blocks",
    "tests/comm/test_nodes.py::test_real_ranks_of_this_host_share_a_node_unless_others_are_pretended",
    "tests/global_access/test_onesided.py::test_a_process_that_dies_with_a_lock_is_noticed",
    "tests/global_access/test_onesided.py::test_a_wait_for_a_lock_ends_and_names_its_holder",
    "tests/global_access/test_onesided.py::test_operations_complete_while_their_target_sleeps",
]
"""Tests of what only ranks of one host have: memory that they share, and one node."""

NAMES = ["ash", "elm", "fir", "oak", "yew"]


def on_hosts(
    words: Sequence[str], *, hosts: int = 2, delay: float = 0.0, loss: float = 0.0, limit: float
) -> tuple[int, str, Network]:
    """Run pytest on the first of some hosts, with its ranks on all of them: its exit code, its words, and the network."""
    with Network(NAMES[:hosts], delay=delay, loss=loss) as network:
        listed = network.folder / "hostfile"
        listed.write_text("".join(f"{name}\n" for name in network.hosts))
        fitting = ["--alone", "-m", "ranks", *(f"--deselect={test}" for test in ONE_HOST)]
        command = [sys.executable, "-m", "pytest", "-q", *fitting, *words]
        code, output, errors = network.run("ash", command, limit, HYDRA_HOST_FILE=str(listed))
    return code, output + errors, network


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.0005)
    parser.add_argument("--loss", type=float, default=0.01)
    parser.add_argument("--scenarios", nargs="*", metavar="WORD")
    asked, words = parser.parse_known_args()
    if refused():
        print(f"this machine permits no hosts: {refused()}")
        return 2
    if asked.scenarios is not None:
        names = NAMES[: asked.hosts]
        command = [sys.executable, "-m", "tests.cli.scenarios", "--jobs", "2", "--hosts", ",".join(names)]  # fmt: skip
        with Network(names, delay=asked.delay, loss=asked.loss) as network:
            code, output, errors = network.run(names[0], [*command, *asked.scenarios], 7200)
        print(output + errors)
        return code
    code, text, network = on_hosts(
        words, hosts=asked.hosts, delay=asked.delay, loss=asked.loss, limit=7200
    )
    print(f"{text}{network.frames} frames, of which {network.lost} were lost")
    return code


if __name__ == "__main__":
    sys.exit(main())
