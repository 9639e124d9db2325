"""Masked assignments, rolls and borders on ranks: in the loops of what reads them, without moving all elements."""

from __future__ import annotations

import warnings

import numpy
import pytest

import atoll


def masked(np):
    """What is picked by masks, changed, put back, and looked at in other ways."""
    a = np.arange(24 * 17.0).reshape(24, 17) % 13
    b = a * 2 + 1
    found = []
    for k in range(3):
        inside = a > 2 + k
        a[inside] = a[inside] ** 2 % 50 + b[inside]
        b[inside] += 1
        x = a[inside]
        found += [float(x.sum()), numpy.array(x), numpy.array(np.sort(x)), numpy.array(x[::2] * 2)]
        view = a[2:-2, 1:]
        some = view > 5
        view[some] = view[some] - 1
        found += [float(view[some].sum()), int(some.sum())]
        x += 1
        x[3] = 0
        found.append(numpy.array(x))
        line = a.reshape(-1)
        many = line > 7
        line[many] = line[many] * 0.5
        inside[0] = False
        a[inside] = a[inside] - b[inside]
        for none in (True, False):
            inside[:] = none
            a[inside] = a[inside] * 0.5
            found.append(numpy.array(a[inside]))
        inside[3, 3] = True
        a[inside] = a[inside] * 0.5 + 4
        found.append(numpy.array(a[inside]))
    return [*found, numpy.array(a), numpy.array(b)]


def picked_columns(np):
    """Columns and rows of a table under masks of a line of it, and what is put back."""
    a = np.arange(60 * 30.0).reshape(60, 30) % 17
    mask, narrow = a[:, 3] > 6, a[4] > 6
    b = a[:, 7] * 2
    found = [a[mask, 3], a[mask, -1], a[:, 5:9][mask], a[5, narrow], a[:, narrow], a[mask, 3:5]]
    found += [a[:, :9][a[:, :9] > 3], a[mask][:, 2], b[mask], a[a[:, 2] > 99, 1]]
    b[mask] = np.where(b[mask] > 9, b[mask] - 9, 0.25)
    found.append(b * 1.5)
    b[~mask] = b[~mask] + 1
    found += [b[mask], b]
    for wrong in (lambda: a[mask[:-1]], lambda: a[mask, 30], lambda: a[mask, 0, 0]):
        with pytest.raises(IndexError) as error:
            wrong()
        found.append(str(error.value))
    return [x if isinstance(x, str) else numpy.array(x) for x in found]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("small", [0, 70, 1500])
def test_masks_pick_of_columns(small):
    with atoll.config(small=small, everywhere=0):
        ours = picked_columns(atoll)
    for mine, theirs in zip(ours, picked_columns(numpy), strict=True):
        numpy.testing.assert_array_equal(mine, theirs)


@pytest.mark.ranks(2)
def test_a_mask_is_brought_to_all_ranks_once():
    """What is under it is NumPy's then: a loop of picks and assignments needs no message but those that bring columns."""
    with atoll.config(small=1000, everywhere=0):
        a = atoll.arange(500.0 * 8).reshape(500, 8) % 7 * 1.0
        mask, line = a[:, 1] > 3, a[:, 2] * 2
        atoll.sync()
        before = atoll.stats().messages
        for k in range(4):
            line[mask] = line[mask] * 0.5 + a[mask, k]
        assert isinstance((line[mask] + 1)._np, numpy.ndarray)
        assert atoll.stats().messages - before <= 6


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("small", [0, 20, 200])
def test_masks_pick_and_put(small):
    with atoll.config(small=small):
        ours = masked(atoll)
    for mine, theirs in zip(ours, masked(numpy), strict=True):
        numpy.testing.assert_array_equal(mine, theirs)


@pytest.mark.ranks(2, 3)
def test_what_a_mask_picks_and_gets_back_stays_where_it_is(size):
    a = atoll.arange(400.0).reshape(20, 20).copy()
    b = a * 2
    atoll.sync()
    before = atoll.stats()
    for k in range(4):
        inside = a < 300 - k
        a[inside] = a[inside] * 2 + b[inside]
    atoll.sync()
    assert atoll.stats().messages == before.messages
    assert atoll.stats().gathered == before.gathered


def frozen(np, steps):
    """Steps on a plane of which few elements stay, and a count of turns for few others."""
    u, turns = np.arange(4000.0).reshape(80, 50) % 7, np.zeros((80, 50), dtype=np.int64)
    fixed = np.zeros((80, 50), dtype=bool)
    fixed[30, 5:40] = True
    for k in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        u[fixed] = old[fixed]
        high = u > 5.9
        turns[high] += 1
        u[high] = np.minimum(abs(-u[high]), 5.0) - 0.001 * k
    return u, turns


@pytest.mark.ranks(2, 3)
def test_few_elements_that_go_back_under_their_mask_stay_on_their_ranks(size):
    """What is assigned in the statement that picks it is computed where it is, as far as the mask is true; other elements come to all."""
    with atoll.config(small=10, everywhere=3000):
        traffic = atoll.world.communicator.traffic
        mine = frozen(atoll, 6)
        atoll.sync()
        before = traffic.collectives
        again = frozen(atoll, 6)
        atoll.sync()
        assert traffic.collectives - before <= 5 * 6  # 12 in a step where few elements come to all
        few = again[0][again[0] > 4.9]
        assert few.layout.is_replicated
        assert 0 < few.size < 1500
    for ours, anew, theirs in zip(mine, again, frozen(numpy, 6), strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
        numpy.testing.assert_array_equal(anew, theirs)


@pytest.mark.ranks(2)
def test_one_rank_may_read_few_elements_that_have_a_name(rank):
    a, table = atoll.arange(4000.0), {}
    with atoll.config(small=10, everywhere=2000):
        mask = a > 3900.5
        few = a[mask]
        table["few"] = a[mask] * 2
        if rank == 0:
            assert few.tolist() == [*map(float, range(3901, 4000))]
            assert table["few"].max() == 2 * 3999
        assert float(a.sum()) == 4000 * 3999 / 2


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("edge", ["wrap", "edge", "reflect", "symmetric"])
def test_borders_are_slices(edge):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs = numpy.arange(12.0 * 11).reshape(12, 11)
        ours = atoll.array(theirs)
        atoll.sync()
        before = atoll.stats()
        for _ in range(3):
            wide, ours = atoll.pad(ours, 1, mode=edge), None
            ours = wide[:-2, 1:-1] + wide[2:, :-2] * 0.5
            border = numpy.pad(theirs, 1, mode=edge)
            theirs = border[:-2, 1:-1] + border[2:, :-2] * 0.5
        atoll.sync()
        after = atoll.stats()
    assert after.gathered == before.gathered
    assert after.plans_made + after.plans_reused - before.plans_made - before.plans_reused <= 2
    numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=1e-14)
    assert numpy.array_equal(
        numpy.asarray(atoll.pad(ours, (3, 2), mode=edge)), numpy.pad(theirs, (3, 2), mode=edge)
    )


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2)
def test_rolls_are_computed_where_they_are_read():
    a = atoll.arange(144.0).reshape(12, 12).copy()
    atoll.sync()
    around = atoll.roll(a, 1, 0) + atoll.roll(a, -1, 0) + atoll.roll(a, 3, 1) - 4 * a
    explanation = atoll.explain(around)
    assert [len(group.stored) for group in explanation.groups] == [1]
    joined = atoll.concatenate([a[3:], a[:3]]) + 1
    assert [len(group.stored) for group in atoll.explain(joined).groups] == [1]
    b = numpy.arange(144.0).reshape(12, 12)
    wanted = numpy.roll(b, 1, 0) + numpy.roll(b, -1, 0) + numpy.roll(b, 3, 1) - 4 * b
    assert numpy.array_equal(numpy.asarray(around), wanted)
    assert numpy.array_equal(numpy.asarray(joined), numpy.roll(b, -3, 0) + 1)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2)
def test_a_roll_that_is_kept_and_written_to():
    a = atoll.arange(60.0).reshape(12, 5).copy()
    b = numpy.arange(60.0).reshape(12, 5)
    for step in range(3):
        left, right = atoll.roll(a, 1, 0), numpy.roll(b, 1, 0)
        a, b = a + left, b + right
        assert float(a.sum()) == b.sum()
        left[step] = right[step] = 7
        left[:, 2] += 1
        right[:, 2] += 1
        a, b = a - left % 11, b - right % 11
        assert numpy.array_equal(numpy.asarray(a), b)
        assert numpy.array_equal(numpy.asarray(left), right)


@pytest.mark.simulated(2, 3)
def test_few_elements_under_a_mask_are_planned(size):
    failures = atoll.stats().planning_failures
    with atoll.config(debug=True, small=0):
        for length in range(4):
            a = atoll.arange(float(length))
            b = a * 2
            a[b > 1] = (b + 1)[b > 1]
            assert a.tolist() == [0.0, 3.0, 5.0][:length]
    assert atoll.stats().planning_failures == failures


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_arrays_that_every_rank_has_and_divided_masks(size):
    """Their elements stay where they are, and so do those of divided arrays under masks that every rank has."""
    whole = numpy.arange(24 * 17.0).reshape(24, 17) % 13
    everywhere = atoll.Layout.replicated(whole.shape, size)

    def turn(np, c, z, mask):
        inside = z < 9
        z[inside] = z[inside] ** 2 % 20 + c[inside]
        z[mask] = z[mask] * 0.5 + 1
        return z

    c = atoll.array(whole).redistribute(everywhere)
    mask = (atoll.array(whole) > 4).redistribute(everywhere)
    ours, theirs = atoll.array(whole) + 1, whole + 1
    for _ in range(3):
        atoll.sync()
        before = atoll.stats().messages
        turn(atoll, c, ours, mask)
        atoll.sync()
        assert atoll.stats().messages == before
        turn(numpy, whole, theirs, whole > 4)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
    picked = c[ours < 9] * 2, ours[mask] * 2
    expected = whole[theirs < 9] * 2, theirs[whole > 4] * 2
    for mine, his in zip(picked, expected, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(mine), his)


def survivors(np, given, other):
    """Two arrays that a loop shrinks by masks, unevenly from one end to the other."""
    x, y, found = np.array(given), np.array(other), []
    for turn in range(6):
        stays = x > 0.1 * turn
        x, y = x[stays], y[stays]
        z = x * 2 + y
        x = x - 0.05 * y
        found += [float(z.sum()), len(x), numpy.array(z), numpy.array(y[::-1][:5])]
    some = z > z.mean()
    z[some] = z[some] - 1
    return [*found, numpy.array(z), numpy.array(np.concatenate([x, z])), numpy.array(x[x > 9])]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4, 40)
@pytest.mark.parametrize("slope", [0.0, 1.0, 9.0])
def test_a_loop_picks_what_stays(slope):
    rng = numpy.random.default_rng(1)
    given = rng.random(900) + slope * numpy.linspace(-0.5, 0.5, 900)
    ours, theirs = survivors(atoll, given, 1 - given), survivors(numpy, given, 1 - given)
    for mine, expected in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.ranks(2)
@pytest.mark.simulated(4)
def test_elements_under_a_mask_stay_on_their_ranks_unless_few_of_these_have_them():
    size, traffic = atoll.world.size, atoll.world.communicator.traffic
    x = atoll.arange(800.0)
    atoll.sync()
    for _ in range(2):  # the first time, the ranks tell each other that all have plans
        before = atoll.stats().bytes_moved, traffic.collectives
        inner = x[x % 800 > 20] + 1.0
        inner._cell.settle()
    own = numpy.arange(800.0).reshape(size, -1)[atoll.world.rank]
    numpy.testing.assert_array_equal(inner.local, own[own > 20] + 1)
    assert atoll.stats().bytes_moved == before[0]
    assert traffic.collectives == before[1] + 1, "the ranks tell each other how many they have"
    first = x[x < 100] + 1.0
    assert not first.layout.is_replicated
    shares = [first.layout.local_size(rank) for rank in range(size)]
    assert max(shares) - min(shares) <= 1
    numpy.testing.assert_array_equal(first, numpy.arange(100.0) + 1)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
def test_masks_with_equally_many_elements_on_other_ranks(size):
    """The layout of the elements is a part of the key of a program, though a count of elements is all that shapes tell."""
    whole = numpy.arange(8.0)
    with atoll.config(everywhere=2, small=0):
        a = atoll.array(whole, layout="b")
        for chosen in ([0, 2], [0, 1], [6, 7], [1, 6], [0, 1, 7], [0, 6, 7], [2, 3, 4]):
            mask = numpy.isin(whole, chosen)
            found = a[atoll.array(mask, layout="b")]
            numpy.testing.assert_array_equal(numpy.asarray(found), whole[mask])
