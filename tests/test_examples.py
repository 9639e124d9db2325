"""The examples are plain NumPy programs: changing their import changes no answer, on any number of ranks."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import atoll

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = [
    pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not beside the tests"),
    pytest.mark.ranks(2),
    pytest.mark.simulated(1, 3),
]


def example(name, *words):
    """An example as a module, as if it was started with these words on the command line."""
    before, sys.argv = sys.argv, [name, *words]
    try:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.argv = before
    return module


def both(name):
    """The example on NumPy and on atoll."""
    theirs, ours = example(name, "--numpy"), example(name)
    assert (theirs.np, ours.np) == (np, atoll)
    return theirs, ours


def spread(array, size):
    """True if an array of atoll's lies on all ranks."""
    return array.layout.cells == size


def test_conjugate_gradient(rank, size):
    theirs, ours = both("conjugate_gradient")
    n = 14
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing falls back to gathering
        expected, count = theirs.solve(theirs.heat_source(n))
        found, steps = ours.solve(ours.heat_source(n))
        assert steps == count
        assert spread(found, size)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)


def test_kmeans(rank, size):
    theirs, ours = both("kmeans")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing falls back to gathering
        points, mine = theirs.clouds(200, 3), ours.clouds(200, 3)
        np.testing.assert_allclose(np.asarray(mine), points, rtol=1e-14)
        centers, labels, squares, count = theirs.cluster(points, 3)
        found, names, distances, steps = ours.cluster(mine, 3)
        assert steps == count
        assert spread(mine, size)
        assert spread(names, size)
        np.testing.assert_allclose(np.asarray(found), centers, rtol=1e-11)
        np.testing.assert_array_equal(np.asarray(names), labels)
        assert float(distances) == pytest.approx(squares, rel=1e-11)


@pytest.mark.slow
def test_shallow_water(rank, size):
    theirs, ours = both("shallow_water")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing falls back to gathering
        *expected, passed = theirs.simulate(24, 4)
        *found, elapsed = ours.simulate(24, 4)
        for one, other in zip(found, expected, strict=True):
            assert spread(one, size)
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-10, atol=1e-13)
        assert float(elapsed) == pytest.approx(passed, rel=1e-12)


def test_laplace(rank, size):
    theirs, ours = both("laplace")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing falls back to gathering
        u, dx, dy = theirs.start(40)
        v, *steps = ours.start(40)
        for _ in range(3):
            expected = theirs.advance(u, dx, dy)
            found = ours.advance(v, *steps)
        assert float(found) == pytest.approx(expected, rel=1e-12)
        assert spread(v, size)
        np.testing.assert_allclose(np.asarray(v), u, rtol=1e-13)


def test_ising(rank, size):
    theirs, ours = both("ising")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing falls back to gathering
        expected, found = theirs.start(24), ours.start(24)
        for _ in range(2):
            theirs.sweep(*expected[:2], 0.6, expected[2])
            ours.sweep(*found[:2], 0.6, found[2])
        assert spread(found[0], size)
        assert found[0].dtype == np.int8
        np.testing.assert_array_equal(np.asarray(found[0]), expected[0])
        assert float(ours.energy(found[0])) == theirs.energy(expected[0])


@pytest.mark.slow
def test_gray_scott(rank, size):
    theirs, ours = both("gray_scott")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        u, v, history = theirs.simulate(24, 100)
        found_u, found_v, means = ours.simulate(24, 100)
    assert spread(found_v, size)
    np.testing.assert_allclose(np.asarray(found_u), u, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(found_v), v, rtol=1e-12, atol=1e-15)
    assert means == pytest.approx(history, rel=1e-12)


@pytest.mark.slow
def test_fractal(rank, size):
    theirs, ours = both("fractal")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = theirs.escape(theirs.plane(20), 12)
        found = ours.escape(ours.plane(20), 12)
    assert spread(found, size)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert 0 < int((found == 12).sum()) < found.size


def test_options(rank, size):
    theirs, ours = both("options")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = theirs.prices(*theirs.market(60))
        found = ours.prices(*ours.market(60))
        value, error = theirs.asian(80, steps=5)
        our_value, our_error = ours.asian(80, steps=5)
    for one, other in zip(found, expected, strict=True):
        assert spread(one, size)
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-11, atol=1e-11)
    assert float(our_value) == pytest.approx(float(value), rel=1e-12)
    assert float(our_error) == pytest.approx(float(error), rel=1e-10)


def test_diffusion_goes_on_from_its_checkpoint(rank, size, tmp_path):
    module = example("diffusion")
    folder = atoll.world.comm.bcast(str(tmp_path)) if atoll.world.comm else str(tmp_path)
    whole = module.simulate(20, 25, f"{folder}/whole")
    module.simulate(20, 15, f"{folder}/parts")
    parts = module.simulate(20, 25, f"{folder}/parts")  # from step 10 on
    assert spread(parts, size)
    np.testing.assert_array_equal(np.asarray(parts), np.asarray(whole))
