"""Programs of many shapes, drawn at random: deep chains, wide sums, arrays that are kept, fields by name, objects with state.

No shape makes planning fail, and all give NumPy's values. ``python -m tests.engine.test_program_shapes 0:100`` runs more.
"""

import random
import sys

import numpy as np
import pytest

import atoll

from .campaign import campaign

N = 90


class State:
    """Fields that change in steps, as classes of users have them."""

    def __init__(self, np, x):
        self.np, self.u, self.v, self.history = np, x * 1.0, x * 0.5, []

    def step(self, k):
        self.v = self.v + 0.01 * (self.np.roll(self.u, 1) - 2 * self.u + self.np.roll(self.u, -1))
        self.u = self.u + 0.1 * self.v
        self.u[:3] = 0.5
        if k % 7 == 3:
            self.history.append(self.u[1:-1] * 2)


def chain(np, x, choose):
    steps = [choose.randrange(5) for _ in range(choose.choice([3, 40, 150, 400]))]
    for step in steps:
        x = (
            x * 0.9 + 0.1,
            x[::-1] * 0.5,
            np.sqrt(abs(x) + 1),
            np.where(x > 0.5, x, -x),
            x - x.mean(),
        )[step]
    return [x]


def wide(np, x, choose):
    parts = [x * k + np.roll(x, k % 5) for k in range(choose.choice([5, 30, 90]))]
    return [sum(parts), parts[0], parts[-1]]


def shared(np, x, choose):
    values = [x * 1.0, x + 1, x * 0.5]
    for _ in range(choose.choice([20, 100, 300])):
        a, b = choose.choice(values[-8:]), choose.choice(values)
        values.append(
            choose.choice([a * 0.5 + b * 0.25, a - b * 0.5, a * b / (1 + b * b), np.maximum(a, b)])
        )
    return choose.sample(values, 3) + [values[-1]]


def kept(np, x, choose):
    history = [x]
    for k in range(choose.choice([10, 120])):
        history.append(history[-1] * 0.5 + history[max(0, k - 3)] * 0.25)
    return [np.stack(history).sum(0), history[len(history) // 2]]


def named(np, x, choose):
    fields = {name: x * (k + 1.0) for k, name in enumerate("abcdef")}
    for k in range(choose.choice([5, 60])):
        first, second = choose.sample(sorted(fields), 2)
        fields[first] = 0.5 * fields[first] + 0.1 * fields[second]
        fields[second][k % 20 :] += 0.01
        if k % 9 == 0:
            fields[first] = fields[first] / (1 + abs(fields[second]).max())
    return [fields[name] for name in sorted(fields)]


def objects(np, x, choose):
    state = State(np, x)
    for k in range(choose.choice([6, 60])):
        state.step(k)
    return [state.u, state.v, *state.history[-2:]]


def joined(np, x, choose):
    for k in range(choose.choice([4, 30])):
        cut = 1 + (7 * k) % (N - 2)
        x = np.concatenate([x[cut:] * 0.9, x[:cut] + 0.1])
    return [x]


SHAPES = (chain, wide, shared, kept, named, objects, joined)


def check(seed):
    choose = random.Random(seed)
    shapes = [choose.choice(SHAPES) for _ in range(2)]
    start = np.linspace(-1, 1, N)
    before = atoll.stats().planning_failures
    with atoll.config(small=0), np.errstate(all="ignore"):
        for shape in shapes:
            ours = shape(atoll, atoll.array(start), random.Random(seed))
            right = shape(np, start.copy(), random.Random(seed))
            for mine, theirs in zip(ours, right, strict=True):
                np.testing.assert_allclose(
                    np.asarray(mine),
                    theirs,
                    rtol=1e-9,
                    atol=1e-9,
                    err_msg=f"{seed} {shape.__name__}",
                )
    assert atoll.stats().planning_failures == before, seed


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(8))
def test_no_shape_of_program_makes_planning_fail(seed):
    check(seed)


if __name__ == "__main__":
    campaign(sys.argv[1], check)
