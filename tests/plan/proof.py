"""Programs that have moved to other slices, compared with what the planner makes of the same slices, number by number.

That is no matter of what they compute: whatever a plan has assumed of the slices that it was made for shows here, for
``NumpyStep`` keeps all numbers of a launch. On ranks a plan that has moved may use less memory again than one
that is made anew, so there it is compared by what it sends (``test_templates_on_ranks.py``).
"""

from __future__ import annotations

from contextlib import contextmanager

from atoll.backend.numpy import NumpyStep
from atoll.plan.templates import Plan


def said(program):
    """What the steps of a program do, and with which memory."""
    return [
        (type(step).__name__, *numbers(step))
        if isinstance(step, NumpyStep)
        else type(step).__name__
        for step in program.steps
    ]


def numbers(step):
    """All that a launch is told."""
    launch = step.launch
    memories = [(m.register, m.dtype, m.access) for m in launch.memories]
    return step._numbers, memories, [dtype for _, dtype, _ in launch.scalars], launch.spec


@contextmanager
def proving():
    """Compare every program that moves; gives a list with a line for each."""
    plain, moved = Plan.bound, []

    def bound(self, sample, order):
        program = plain(self, sample, order)
        if program is not None:
            planned = self.described(sample, NumpyStep)
            assert said(program) == said(planned), (
                "a program that has moved is not the one planned anew"
            )
            moved.append(len(program.steps))
        return program

    Plan.bound = bound
    try:
        yield moved
    finally:
        Plan.bound = plain
