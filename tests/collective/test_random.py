"""Random arrays: NumPy's values where a word makes an element, and the same on any number of ranks."""

import numpy as np
import pytest

import atoll
from atoll.comm import simulated
from atoll.config import config
from atoll.lazy import random_draws

EXACT = {
    "random": lambda g: g.random((6, 7)),
    "single precision": lambda g: g.random((5, 3), dtype=np.float32),
    "uniform": lambda g: g.uniform(-2, 5, size=(3, 4, 2)),
    "halves of words": lambda g: g.integers(0, 256, size=(7, 3)),
    "32 bits": lambda g: g.integers(1 << 32, size=11, dtype=np.uint32),
    "narrow": lambda g: g.integers(-8, 8, size=13, dtype=np.int32),
    "words": lambda g: g.integers(0, 1 << 40, size=9),
    "all words": lambda g: g.integers(0, (1 << 64) - 1, size=9, dtype=np.uint64, endpoint=True),
    "other integers": lambda g: g.integers(0, 10, size=(6, 7)),
    "normal": lambda g: g.normal(1, 2, (6, 7)),
    "poisson": lambda g: g.poisson(3.5, 30),
    "one": lambda g: g.normal(),
    "parameters of each": lambda g: g.normal(np.arange(5.0)),
    "shuffled": lambda g: g.permutation(12),
}


@pytest.mark.slow
@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
def test_numpys_values_one_after_the_other(size):
    for make in (np.random.PCG64, np.random.PCG64DXSM):
        ours = atoll.random.Generator(make(5))
        theirs = np.random.Generator(make(5))
        for turn in range(2):
            for name, draw in EXACT.items():
                mine, other = draw(ours), draw(theirs)
                assert np.asarray(mine).dtype == np.asarray(other).dtype
                np.testing.assert_array_equal(np.asarray(mine), other, err_msg=f"{name}, {turn}")
        assert ours.random() == theirs.random()


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_the_old_functions(size):
    for module in (np, atoll):
        module.random.seed(3)
        found = [
            module.random.rand(6, 5), module.random.randn(3, 4), module.random.random(7),
            module.random.randint(0, 10, 20), module.random.normal(size=(5, 5)), module.random.rand(),
            module.random.uniform(1, 2, 8),
        ]  # fmt: skip
        state = module.random.RandomState(4)
        found += [state.standard_normal((4, 5)), state.random_sample(9)]
        if module is np:
            expected = found
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), other)


OLD = {
    "choice": (5, 4), "dirichlet": ([1, 2], 5), "multinomial": (5, [0.5, 0.5], 4), "permutation": (6,),
    "multivariate_normal": ([0, 0], [[1, 0], [0, 1]], 5), "rand": (4, 3), "randn": (4, 3),
    "hypergeometric": (5, 5, 3, 7), "triangular": (0, 1, 2, 7),
}  # fmt: skip


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_each_method_of_an_old_generator_also_those_that_call_others():
    for name in sorted({*random_draws.SIZE_AT, *OLD}):
        if hasattr(np.random.RandomState, name):
            place = random_draws.SIZE_AT.get(name, 0)
            given = OLD.get(name, (*[2.5 if name == "zipf" else 0.5] * place, (4, 3)))
            if name in ("randint", "binomial", "negative_binomial"):
                given = (2, 9 if name == "randint" else 0.5, (4, 3))
            ours = getattr(atoll.random.RandomState(4), name)(*given)
            theirs = getattr(np.random.RandomState(4), name)(*given)
            np.testing.assert_array_equal(np.asarray(ours), theirs, err_msg=name)


@pytest.mark.simulated(1, 3)
def test_what_old_generators_draw_of_their_own_draws():
    found = []
    for module in (np, atoll):
        state = module.random.RandomState(5)
        drawn = []
        for _ in range(3):
            drawn += [state.normal(), state.choice(7), state.choice(7, None), state.rand()]
            drawn += [*state.permutation(4), *state.choice(5, 3, replace=False), *state.randn(3)]
            drawn += [state.choice([3.5, 4, 5], p=[0.2, 0.3, 0.5])]
        kept = state.get_state()
        drawn += [state.normal(), state.choice(100)]
        state.set_state(kept)
        drawn += [state.normal(), state.choice(100)]
        assert type(state.choice(7)) is int
        found.append(drawn)
    assert found[0] == found[1]


def test_blocks_are_the_same_on_any_number_of_ranks_and_in_part_numpys(monkeypatch):
    monkeypatch.setattr(random_draws, "BLOCK", 16)

    def work():
        generator = atoll.random.default_rng(11)
        found = [
            generator.normal(size=(9, 11)),
            generator.random((5, 7)),
            generator.integers(0, 7, 50),
        ]
        return [np.asarray(x) for x in found]

    with config(small=0):
        one = work()
        for size in (1, 2, 3, 4):
            for every in simulated.run(size, work):
                for mine, other in zip(every, one, strict=True):
                    np.testing.assert_array_equal(mine, other)
    whole = np.random.default_rng(11).normal(size=16)
    np.testing.assert_array_equal(one[0].ravel()[:16], whole)
    flat = one[0].ravel()
    assert len(np.unique(flat)) == flat.size
    assert abs(flat.mean()) < 0.5
    assert 0.7 < flat.std() < 1.3


@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("name", ["random", "sample", "ranf", "random_sample"])
def test_names_of_one_function_take_a_layout(size, name):
    layout = atoll.Layout((6, 2), "nb", size=size)
    atoll.random.seed(3)
    assert getattr(atoll.random, name)((6, 2), layout=layout).layout == layout


@pytest.mark.simulated(4)
def test_a_rank_draws_its_own_part(rank, size, monkeypatch):
    drawn = []
    original = np.random.Generator.random

    class Counting(np.random.Generator):
        def random(self, *args, **options):
            found = original(self, *args, **options)
            drawn.append(np.size(found))
            return found

    generator = atoll.random.default_rng(1)
    made = random_draws.drawn(generator, "random", Counting.random, (), {"size": (4000, 100)})
    assert sum(drawn) <= 2 * 4000 * 100 // size
    np.testing.assert_array_equal(np.asarray(made), np.random.default_rng(1).random((4000, 100)))
