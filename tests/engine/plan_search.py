"""Random loops over slices that move, in layouts at random: ``python -m tests.engine.plan_search 0:500 [2-8]``.

What they compute is compared with NumPy, and the programs that ranks have bound to other slices with what the planner says of
the same slices.
"""

from __future__ import annotations

import random
import sys

import numpy

import atoll
from atoll.comm import simulated
from atoll.comm.world import current_world

from . import random_layouts
from .campaign import campaign
from .search import among
from .test_plans import Loop
from .test_plans_on_ranks import check_moved


def arrays_by(seed):
    """Atoll's functions; the arrays of a program lie in layouts that the seed says."""
    import atoll as np

    numbers = random.Random(seed)

    class Moved:
        where = staticmethod(np.where)

        @staticmethod
        def array(values):
            layout = random_layouts.random_layout(numbers, values.shape, current_world().size)
            made = np.array(values)
            return made if layout is None else made.redistribute(layout)

    return Moved


def check(seed):
    """One loop; how many of its programs have moved."""
    loop = Loop(seed)
    steps = loop.n - 2
    with numpy.errstate(all="ignore"):
        expected, sums = loop.run(numpy, steps, seed % 4)
        found, ours = loop.run(arrays_by(seed), steps, seed % 4)
    report = "\n".join(loop.text)
    for got, right in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(got, right, rtol=1e-10, equal_nan=True, err_msg=report)
    numpy.testing.assert_allclose(ours, sums, rtol=1e-10, equal_nan=True, err_msg=report)
    return check_moved()


def main():
    """Search."""
    least, most = among(sys.argv[2] if len(sys.argv) > 2 else "2-8")
    atoll.config.backend = "numpy"

    def run(seed):
        ranks = random.Random(seed).randint(least, most)
        try:
            simulated.run(ranks, check, seed, seed=seed, rendezvous=seed % 3 == 1)
        except Exception as error:
            error.add_note(f"on {ranks} ranks\n" + "\n".join(Loop(seed).text))
            raise

    campaign(sys.argv[1], run)


if __name__ == "__main__":
    main()
