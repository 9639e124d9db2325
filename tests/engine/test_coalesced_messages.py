"""What several groups of loops need of a neighbour travels in one message."""

import random
from dataclasses import replace

import numpy as np
import pytest

import atoll
from atoll import policy

from .random_layouts import random_layout

pytestmark = pytest.mark.timeout(300)


def same(ours, theirs):
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), right)


def grid(np, n, m):
    x = np.arange(float(n * m)).reshape(n, m)
    return x * 3 % 17, x * 5 % 13 - 1


def sent(action):
    """What an action gives, and how many messages this rank sends for it."""
    atoll.sync()
    before = atoll.stats().messages
    found = action()
    atoll.sync()
    return found, atoll.stats().messages - before


@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(1, 3)
def test_loops_over_other_domains_share_messages(rank, size):
    p, q = grid(atoll, 24, 6)

    def differences(p, q):
        return p[1:] - p[:-1], q[2:] + 2 * q[:-2], p[:-3] * q[3:]

    found, messages = sent(lambda: differences(p, q))
    assert messages == (rank < size - 1) + (rank > 0)
    same(found, differences(*grid(np, 24, 6)))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 3)
def test_what_a_group_stores_is_sent_after_it(rank, size):
    p, q = grid(atoll, 24, 6)

    def differences(p, q):
        once = p[1:] - p[:-1]
        return once, q[2:] + 2 * q[:-2], once[1:] * once[:-1]

    found, messages = sent(lambda: differences(p, q))
    assert messages == 2 * (rank < size - 1)
    same(found, differences(*grid(np, 24, 6)))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_nothing_is_overwritten_that_is_yet_to_be_sent():
    for _ in range(3):
        p, q = grid(atoll, 24, 6)
        x, y = grid(np, 24, 6)
        for a, b, one in ((p, q, atoll), (x, y, np)):
            first = a[1:] - a[:-1]
            second = b[2:] + a[:-2]
            a[1:-1] += 1
            b[...] = one.sqrt(b + 1)
            third = a[2:] * b[:-2]
            a[0] = 7
            if one is atoll:
                atoll.sync()
                ours = first, second, third, a, b
            else:
                same(ours, (first, second, third, a, b))


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_the_explanation_counts_messages(rank):
    p, q = grid(atoll, 24, 6)
    atoll.sync()
    first, second = (p[1:] - p[:-1]) ** 2, (q[2:] - q[:-2]) ** 2
    total = first[:-1] + second
    found = atoll.explain(total)
    ours = [one for one in found.messages if one.sends == (rank == 0)]
    assert len(ours) == 2
    assert len({one.travels for one in ours}) == 1
    assert ("sends 1 message" if rank == 0 else "receives 1 (") in str(found)
    x, y = grid(np, 24, 6)
    same([total], [((x[1:] - x[:-1]) ** 2)[:-1] + (y[2:] - y[:-2]) ** 2])


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_pieces_that_are_too_large_to_be_copied_together_travel_alone(rank, size, monkeypatch):
    monkeypatch.setattr(policy, "limits", replace(policy.limits, cached=80, packed=16))
    p, q = grid(atoll, 24, 7)
    found, messages = sent(lambda: (p[1:] - p[:-1], q[2:] - q[:-2]))
    assert messages == 2 * (rank < size - 1)
    x, y = grid(np, 24, 7)
    same(found, (x[1:] - x[:-1], y[2:] - y[:-2]))


def moved(rng, a):
    """A part of an array, a few rows and columns less, and the parts of others that go with it."""
    rows, columns = a.shape
    less, fewer = rng.randint(0, 2), rng.randint(0, 2)
    down, right = rng.randint(0, less), rng.randint(0, fewer)
    return a[down : rows - less + down, right : columns - fewer + right]


def program(np, seed, fields):
    """Several turns of loops over parts of fields, which read what lies beside, and some of which are assigned to."""
    rng = random.Random(seed)
    found = []
    for _ in range(3):
        for _ in range(rng.randint(1, 4)):
            one, two = (moved(rng, rng.choice(fields)) for _ in range(2))
            rows, columns = (min(n) for n in zip(one.shape, two.shape, strict=True))
            found.append(one[:rows, :columns] * 2 - two[:rows, -columns:])
        target = rng.choice(fields)
        if rng.random() < 0.5:
            target[1:-1] = (target[2:] + target[:-2]) / 2
        else:
            target[:, 1:] -= 1
        now = rng.random() < 0.4
        if now and np is atoll:
            atoll.sync()
    return [*found, *fields]


@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(1, 3, 5)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, size):
    rng = random.Random(seed)
    arrays = [
        np.arange(float(n * m)).reshape(n, m) % 23
        for n, m in [(rng.randint(5, 12), rng.randint(5, 9)) for _ in range(3)]
    ]
    fields = []
    for array in arrays:
        field, layout = atoll.array(array), random_layout(rng, array.shape, size)
        alike = rng.random() < 0.5 or layout is None or size == 1
        fields.append(field if alike else field.redistribute(layout))
    ours = program(atoll, seed, fields)
    atoll.sync()
    same(ours, program(np, seed, [array.copy() for array in arrays]))
