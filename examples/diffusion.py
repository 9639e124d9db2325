"""Heat that spreads from random sources, in a program that resumes from its last checkpoint.

    atoll run -n 2 examples/diffusion.py                        two ranks
    atoll run -n 3 --restart examples/diffusion.py --lose 25    rank 2 is killed at step 25, and two ranks finish

After any end, the next start resumes from the last checkpoint, on any number of ranks, and computes the same bits:
a checkpoint keeps the field, the step and the state of the random generator. ``--restart`` starts the program again
by itself if a rank is killed or a host is lost.
"""

import argparse
import os
import shutil
import signal
from typing import Any

import atoll as np

FOLDER = "diffusion-checkpoints"


def start(n: int) -> dict[str, Any]:
    """The initial state."""
    return {"u": np.zeros((n, n)), "rng": np.random.default_rng(1), "step": 0}


def advance(u: np.ndarray, rng: np.random.Generator) -> None:
    """One step in place."""
    u[1:-1, 1:-1] += 0.2 * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    )
    u += rng.random(u.shape) < 1e-3


def simulate(n: int, steps: int, folder: str, lose: int = -1) -> np.ndarray:
    """The field after some steps, with a checkpoint every tenth."""
    try:
        state = np.restore(folder)
    except FileNotFoundError:  # on all ranks
        state = start(n)
    u: np.ndarray = state["u"]
    rng: np.random.Generator = state["rng"]
    if np.world.rank == 0:
        print(f"from step {state['step']} with {np.world.size} rank(s)", flush=True)
    for step in range(state["step"], steps):
        if step == lose and np.world.rank == np.world.size - 1 == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        advance(u, rng)
        if step % 10 == 9:
            np.checkpoint(folder, u=u, rng=rng, step=step + 1)
    return u


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=600)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lose", type=int, default=-1, help="kill rank 2 of 3 at this step")
    asked = parser.parse_args()
    heat = float(simulate(asked.size, asked.steps, FOLDER, asked.lose).sum())
    if np.world.rank == 0:
        print(f"heat after {asked.steps} steps: {heat:.6f}")
        shutil.rmtree(FOLDER, ignore_errors=True)  # the next start begins anew


if __name__ == "__main__":
    main()
