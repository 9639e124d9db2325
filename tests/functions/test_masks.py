"""Assignments through masks: what is wanted is computed, and nothing else is noticed."""

import warnings

import numpy
import pytest

import atoll as np

N = 40_003
RANDOM = numpy.random.default_rng(5)
MASKS = {
    "scattered": RANDOM.random(N) < 0.5,
    "sparse": RANDOM.random(N) < 0.002,
    "in runs": numpy.sin(numpy.arange(N) / 500) > 0.3,
    "last": numpy.arange(N) == N - 1,
    "none": numpy.zeros(N, bool),
    "all": numpy.ones(N, bool),
}


@pytest.fixture(params=sorted(MASKS))
def mask(request):
    return MASKS[request.param]


def harmful(mask, dtype=float):
    """Numbers that are zero, or infinite, or negative wherever they are not wanted."""
    bad = RANDOM.choice([0.0, numpy.inf, -numpy.inf, -1.0, 1e300], N)
    with numpy.errstate(over="ignore"):
        return numpy.where(mask, RANDOM.uniform(0.5, 2.0, N), bad).astype(dtype)


def both(program, *arrays):
    """What NumPy and atoll make of a program, neither with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = program(numpy, *[array.copy() for array in arrays])
        found = program(np, *[np.array(array) for array in arrays])
        return numpy.asarray(found), expected


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_elements_that_are_not_wanted_raise_no_flags(mask, dtype):
    def program(xp, a, m):
        a[m] = 1.0 / (a[m] * a[m] - 9.0) + a[m]
        return a

    a = harmful(mask, dtype)
    found, expected = both(program, a, mask)
    assert found.tobytes() == expected.tobytes()


def test_where_of_a_ufunc_raises_no_flags(mask):
    def program(xp, a, m):
        out = xp.zeros(N)
        xp.divide(3.0, a, out=out, where=m)
        return out

    found, expected = both(program, harmful(mask), mask)
    assert found.tobytes() == expected.tobytes()


def test_a_wanted_element_raises_its_flags():
    a = np.array(numpy.where(MASKS["sparse"], 0.0, 1.0))
    m = np.array(MASKS["sparse"])
    with warnings.catch_warnings(record=True) as seen:
        a[m] = 1.0 / a[m]
        assert float(a.max()) == numpy.inf
    assert "divide by zero" in str(seen[0].message)


def test_steps_and_broadcasting(mask):
    def program(xp, a, b, m):
        a[1::2][m] = a[::2][m] / b[m]
        a[:N][m] = 7.0
        return a

    a = numpy.zeros(2 * N)
    a[::2] = harmful(mask)
    found, expected = both(program, a, harmful(mask), mask)
    assert found.tobytes() == expected.tobytes()


def test_what_follows_is_computed_in_the_same_pass(mask):
    z, c = harmful(mask, "c16"), harmful(~mask, "c16")
    ours, theirs = [(xp.array(z), xp.array(c), xp.array(mask)) for xp in (np, numpy)]
    np.sync()
    with numpy.errstate(all="ignore"):
        for xp, (zs, cs, m) in ((np, ours), (numpy, theirs)):
            zs[m] = zs[m] ** 2 + cs[m]
            following = (xp.abs(zs) < 2) & (zs * zs != 1)
            if xp is np:
                explained = np.explain(following)
                assert len(explained.launches) == 1
                found = numpy.asarray(following), numpy.asarray(zs)
            else:
                expected = following, zs
    assert (found[0] == expected[0]).all()
    assert found[1].tobytes() == expected[1].tobytes()


def test_the_count_of_a_mask_follows_the_mask(mask):
    a, m = np.array(numpy.arange(N)), np.array(mask)
    assert a[m].size == a[m].size == numpy.count_nonzero(mask)
    m[:100] = True
    changed = mask.copy()
    changed[:100] = True
    assert a[m].size == numpy.count_nonzero(changed)
    m[5] = False
    changed[5] = False
    assert a[m].size == numpy.count_nonzero(changed)
    m.local[7] = False
    changed[7] = False
    assert a[m].size == numpy.count_nonzero(changed)
    m.sort()
    assert a[m].size == numpy.count_nonzero(changed)
    assert (numpy.asarray(a[m]) == numpy.arange(N)[numpy.sort(changed)]).all()


LIMITS = [2.0, 1.4, 1.0, 3.3e-7, 1e200, 0.0, -1.0, numpy.nan, numpy.inf, 5e-324, 1.1547005383792517]


@pytest.mark.parametrize("limit", LIMITS)
def test_sizes_of_complex_numbers_are_compared_as_their_roots(limit):
    angle = RANDOM.uniform(0.0, 7.0, N)
    with numpy.errstate(all="ignore"):
        near = limit * (1 + RANDOM.integers(-4, 5, N) * 1.1e-16)
        z = near * numpy.cos(angle) + 1j * (near * numpy.sin(angle))
    special = [0.0, 1e300, 1e-300, numpy.inf, numpy.nan, 5e-324]
    z.real[::77] = RANDOM.choice(special, z[::77].size)
    z.imag[::77] = RANDOM.choice(special, z[::77].size)
    a = np.array(z)
    sizes = numpy.asarray(np.abs(a))
    assert (numpy.asarray(np.abs(a) < limit) == (sizes < limit)).all()
    assert (numpy.asarray(np.abs(a) <= limit) == (sizes <= limit)).all()
    assert (numpy.asarray(np.abs(a) > limit) == (sizes > limit)).all()
    assert (numpy.asarray(np.abs(a) >= limit) == (sizes >= limit)).all()
