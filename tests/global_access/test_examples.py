"""The programs of Global Arrays' tutorial, and the Mandelbrot set by dynamic tasks, at any number of ranks."""

import runpy
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import atoll

EXAMPLES = Path(__file__).parents[2] / "examples" / "onesided"
pytestmark = [
    pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not beside the tests"),
    pytest.mark.ranks(3, distributes=False),
    pytest.mark.simulated(4, distributes=False),
]


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def together(mine):
    """The numbers of all ranks, in order."""
    return sorted(chain.from_iterable(atoll.world.communicator.allgather_object(mine)))


def test_transpose(rank, size):
    ref = np.arange(37.0)
    a = atoll.asarray(ref).redistribute(atoll.Layout((37,), "b"))
    np.testing.assert_array_equal(
        np.asarray(example("transpose")["reversed_by_blocks"](a)), ref[::-1]
    )


@pytest.mark.parametrize("name", ["matmul", "srumma"])
def test_products(rank, size, name):
    assert example(name)["main"](90) < 1e-11


def test_pi(rank, size):
    assert abs(example("pi")["pi"](1000) - np.pi) < 1e-6


def test_read_increment(rank, size):
    mine, owner = example("read_increment")["tickets"](50)
    assert together(mine) == list(range(50))
    np.testing.assert_array_equal(np.flatnonzero(np.asarray(owner) == rank), mine)


def test_ghosts(rank, size):
    assert example("ghosts")["main"](24, 3) == 0


def test_mandelbrot(rank, size):
    program = example("mandelbrot")
    first, second = (np.asarray(program["picture"](24, 2, way)[0]) for way in (False, True))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, program["counts"](slice(0, 24), 24))
