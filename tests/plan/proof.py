"""Programs of plans, compared with what the planner makes of the same geometries with actual numbers, number by number.

That is no matter of what they compute: whatever a plan has assumed of the geometries that it was made for shows here, for
``NumpyStep`` keeps all numbers of a launch. On ranks such a program may use less memory again than one
that is made anew, so there it is compared by what it sends (``test_plans_on_ranks.py``).
"""

from __future__ import annotations

from contextlib import contextmanager

from atoll.backend.numpy import NumpyStep
from atoll.plan.plans import Plan


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
    told = step._extents, step._chunk, step._chunks, step._origins, step._places, step._literals
    return told, memories, [dtype for _, dtype, _ in launch.scalars], launch.spec


@contextmanager
def proving():
    """Compare every program of a plan; gives a list with a line for each."""
    plain, filled = Plan.filled, []

    def compared(self, sample, order):
        program = plain(self, sample, order)
        if program is None:
            return None
        planned = self.described(sample, NumpyStep.of)
        assert said(program) == said(planned), "a program is not the one planned with its numbers"
        filled.append(len(program.steps))
        return program

    Plan.filled = compared
    try:
        yield filled
    finally:
        Plan.filled = plain
