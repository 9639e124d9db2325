"""Exchanges of which only the senders know the partners: by a ring and trees among many ranks, with the answers of few."""

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.collective import Finder, Section, even_line, even_part
from atoll.errors import DivergenceError
from atoll.exchange.partners import arriving, strung, sums
from atoll.exchange.trees import added

from .distributions import normal, put, same


def counts_of(case, size):
    """By sender and receiver, how much goes."""
    table = np.zeros((size, size), int)
    for k in range(size):
        if case == "next":
            table[k, (k + 1) % size] = k + 1
        elif case == "all":
            table[k] = np.arange(size) + 100 * k + 1
        elif case == "to one":
            table[k, size - 1] = 7
        elif case == "from one":
            table[0, k] = k
    return table


@pytest.mark.simulated(2, 3, 5, 23, distributes=False)
@pytest.mark.ranks(1, 3, distributes=False)
def test_each_rank_learns_what_comes(rank, size):
    communicator = atoll.world.communicator
    for few in (1, 100):
        with policy.limited(few_ranks=few):
            for case in ("next", "all", "to one", "from one", "nothing"):
                table = counts_of(case, size)
                leaving = {peer: int(n) for peer, n in enumerate(table[rank])}
                expected = {p: n for p, n in enumerate(table[:, rank]) if n and p != rank}
                assert arriving(communicator, leaving, case) == expected, case


@pytest.mark.simulated(2, 5, 9, distributes=False)
@pytest.mark.ranks(3, distributes=False)
def test_sums_and_lines_of_many(rank, size):
    communicator = atoll.world.communicator
    for few in (1, 100):
        with policy.limited(few_ranks=few):
            before, every = sums(communicator, np.array([rank, 2]), "numbers")
            assert (before.tolist(), every.tolist()) == (
                [rank * (rank - 1) // 2, 2 * rank],
                [size * (size - 1) // 2, 2 * size],
            )
            parts = [np.arange(k % 3) + 10.0 * k for k in range(size)]
            whole = np.concatenate(parts)
            start = sum(map(len, parts[:rank]))
            assert (strung(communicator, parts[rank], start, len(whole), "lines") == whole).all()
            nothing = strung(communicator, whole[:0], 0, 0, "no lines")
            assert nothing.tolist() == []
    results = []
    for few in (1, 100):
        with policy.limited(few_ranks=few):
            results.append(added(communicator, normal((4, 2)) ** (rank + 1), "arrays"))
            integers = added(communicator, np.array([[rank], [-1]]), "integers")
            assert integers.tolist() == [[size * (size - 1) // 2], [-size]]
    assert results[0].tobytes() == results[1].tobytes()
    same(results[0], sum(normal((4, 2)) ** (k + 1) for k in range(size)), 1e-12)


@pytest.mark.simulated(2, 5, 11, distributes=False)
@pytest.mark.ranks(3, distributes=False)
@pytest.mark.parametrize("length", [0, 1, 4, 60])
def test_values_find_their_places_by_groups(rank, size, length):
    whole = np.sort(np.round(normal((length,)) * 4))
    own = slice(*even_part(length, size, rank))
    sought = np.concatenate([whole[rank::3], [-np.inf, np.inf, np.nan, 0.5], whole[own]])
    with policy.limited(few_ranks=1):
        line = even_line(length, size)
        finder = Finder(Section(whole[own].copy(), line, atoll.world.communicator))
        for side in ("left", "right"):
            for values in (sought, sought[:0]):
                places = finder.places(values, side)
                assert (places == np.searchsorted(whole, values, side)).all()


PROGRAMS = {
    "read": lambda np, a, i: (a[i], a[i[::-1]], a.reshape(-1)[i * 3], a[i, i % 7]),
    "written": lambda np, a, i: _written(a.copy(), i),
    "masked": lambda np, a, i: (a[a > 0.3], a[a > 9], np.flatnonzero(a > 0), a[a[:, 0] > 0]),
    "searched": lambda np, a, i: (
        np.searchsorted(np.sort(a[:, 1]), a[:, 2]),
        np.interp(a[:, 0], np.sort(a[:, 1]), a[:, 2]),
    ),
    "counted": lambda np, a, i: (
        np.histogram(a, 5)[0],
        np.histogram(a, 5, weights=a * a)[0],
        np.bincount(i),
        *np.unique(np.round(a), return_counts=True),
    ),
    "packed": lambda np, a, i: (np.packbits(a[:, 0] > 0),),
    "multiplied": lambda np, a, i: (a[:, 0] @ a, a.T @ a),
}


def _written(a, i):
    a[i] = 2.0
    a[a < -1] = 3.0
    a[i[::2], i[::2] % 7] += 1.0
    return (a,)


@pytest.mark.slow
@pytest.mark.simulated(3, 7)
@pytest.mark.ranks(3)
@pytest.mark.parametrize("small", [0, 1000])
def test_many_ranks_answer_as_few_do(size, small):
    whole = normal((23, 7))
    numbers = np.random.default_rng(3).integers(0, 23, 19)
    results = []
    for few in (16, 1):
        with policy.limited(few_ranks=few), atoll.config(small=small):
            ours, index = put(whole, "bn", size), put(numbers, "b", size)
            results.append(
                [
                    [np.asarray(x).copy() for x in run(atoll, ours, index)]
                    for run in PROGRAMS.values()
                ]
            )
    for by_few, by_many, (name, run) in zip(*results, PROGRAMS.items(), strict=True):
        for few, many, expected in zip(by_few, by_many, run(np, whole, numbers), strict=True):
            same(many, np.asarray(expected), 1e-12)
            assert many.tobytes() == few.tobytes(), name


@pytest.mark.simulated(3, 5)
@pytest.mark.ranks(3)
def test_all_raise_the_error_of_some(size):
    a = put(normal((23,)), "b", size)
    numbers = np.arange(23)
    numbers[[5, 20]] = 99, -77
    for few in (16, 1):
        with (
            policy.limited(few_ranks=few),
            atoll.config(small=0),
            pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 23"),
        ):
            a[put(numbers, "b", size)]


@pytest.mark.simulated(5, distributes=False)
def test_ranks_of_different_steps_are_told(rank):
    communicator = atoll.world.communicator

    def run():
        if rank == 3:
            sums(communicator, np.array([1]), "something else")
        arriving(communicator, {0: 1}, "something")
        sums(communicator, np.array([1]), "something else")

    with policy.limited(few_ranks=1), pytest.raises(DivergenceError, match="something"):
        run()
