"""Index arrays and masks on ranks: read and assigned, on every kind of layout."""

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.comm import simulated

from .distributions import LINES, MAPS, normal, put, same, uneven

SIX, SEVEN = np.array([5, 0, 3, 3, -1, 2, -6, 1]), np.array([6, -7, 2, 0, 1, 1, 5, 4])
GRID = np.array([[0, 5, 2], [-1, 3, 3]])
KEYS = {
    "rows": lambda s: s(SIX),
    "one row": lambda s: s(np.array([4])),
    "no rows": lambda s: s(np.array([], int)),
    "columns": lambda s: (slice(None), s(SEVEN)),
    "elements": lambda s: (s(SIX), s(SEVEN)),
    "columns of slices": lambda s: (slice(4, None, -2), s(SEVEN)),
    "a grid": lambda s: s(GRID),
    "a grid of columns": lambda s: (slice(1, 5), s(GRID)),
    "broadcast": lambda s: (s(GRID[:, :1]), s(GRID)),
    "and a number": lambda s: (2, s(SEVEN)),
    "behind a new axis": lambda s: (None, s(SIX), Ellipsis),
    "rows under a mask": lambda s: s(np.array([True, False, True, True, False, True])),
    "a list": lambda s: [1, 2, 2],
    "a mask": lambda s: s(normal((6, 7)) > 0),
    "elements under a mask": lambda s: (s(SIX[:4]), s(np.array([False, True] * 3 + [True]))[:7]),
}
SPREADS = {
    "replicated": lambda size: lambda index: index,
    "blocks": lambda size: lambda index: put(index, "b" + "n" * (index.ndim - 1), size),
    "cycles": lambda size: lambda index: put(index, "n" * (index.ndim - 1) + "c", size),
}


@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bn", "nb", "bb", (MAPS[-1])], ids=str)
@pytest.mark.parametrize("spread", SPREADS)
def test_reading(maps, spread, size):
    a = normal((6, 7))
    ours = put(a, maps, size)
    for key in KEYS.values():
        same(ours[key(SPREADS[spread](size))], a[key(lambda index: index)], 0)
    same(ours.T[:, SIX], a.T[:, SIX], 0)
    same(ours[1:, 2:][[0, 4, 4]], a[1:, 2:][[0, 4, 4]], 0)
    same(uneven(a, size)[SIX], a[SIX], 0)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 7)
@pytest.mark.parametrize("everywhere", [0, 100_000])
@pytest.mark.parametrize("maps", ["bnn", "nbn", "bbn", "nnb", "cnn"])
def test_rows_under_a_mask_of_their_first_axes(maps, everywhere, size):
    a = normal((20, 6, 3))
    ours = put(a, maps, size)
    with atoll.config(small=5, everywhere=everywhere):
        for share in (-9, 0, 1, 9):
            mask = normal((20, 6)) < share
            for given in (mask, put(mask, maps[:2].replace("nn", "bn"), size)):
                same(ours[given], a[mask], 0)
                same(ours[1:][given[1:]], a[1:][mask[1:]], 0)
                same(ours[..., :2][given], a[..., :2][mask], 0)
                same(ours[given[:, 1]], a[mask[:, 1]], 0)
        rows = put(a, "bnn", size)[put(mask, "bn", size)]
        assert rows.layout.is_replicated == (everywhere > 0 or size == 1)


@pytest.mark.contract
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("maps", ["bn", "nb", "bb", "cn"])
def test_ranks_of_a_node_share_an_array_of_which_they_read_much(maps, size):
    a = normal((60, 70))
    rows, columns = np.random.default_rng(4).integers(-60, 60, (2, 120, 60))
    with policy.limited(cached=1000):
        ours, places = put(a, maps, size), put(rows, "bn", size)
        for _ in range(3):
            before = atoll.stats().gathered
            picked = ours[places, columns]
            atoll.sync()
            assert atoll.stats().gathered == before + a.nbytes
            same(picked, a[rows, columns], 0)
            same(ours[put(rows[0], "b", size)], a[rows[0]], 0)
        ours += 1
        same(ours[put(rows, "bn", size), columns], a[rows, columns] + 1, 0)


@pytest.mark.slow
@pytest.mark.simulated(3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bn", "nb", "cc"])
@pytest.mark.parametrize("spread", SPREADS)
def test_assigning(maps, spread, size):
    a = normal((6, 7))
    for name, key in KEYS.items():
        mine, theirs = key(SPREADS[spread](size)), key(lambda index: index)
        shape = a[theirs].shape
        values = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 0.5
        row = np.arange(shape[-1] if shape else 1.0)
        for value in (np.array(7), values, row[-1:] if name == "a mask" else row):
            for given in (value, put(np.asarray(value), "b" * np.ndim(value), size)):
                ours, expected = put(a, maps, size), a.copy()
                ours[mine] = given
                expected[theirs] = value
                same(ours, expected, 0)


@pytest.mark.simulated(2, 4)
@pytest.mark.ranks(2)
def test_assigning_through_views_and_to_itself(size):
    a = normal((6, 7))
    for maps in MAPS:
        ours, theirs = put(a, maps, size), a.copy()
        before, view = ours + 0, ours.T[2:, ::-1]
        for one in (view, theirs.T[2:, ::-1]):
            one[[0, 3]] = np.arange(6.0)
            one[1][[2, 4]] += 10
        ours[SIX[:6]] = ours[np.arange(6)] + ours
        theirs[SIX[:6]] = theirs[np.arange(6)] + theirs
        same(ours, theirs, 0)
        same(before, a, 0)
        ours[SIX] *= 2
        theirs[SIX] *= 2
        same(ours, theirs, 0)
        ours[ours > 1] = ours[ours > 1] ** 2
        theirs[theirs > 1] = theirs[theirs > 1] ** 2
        same(ours, theirs)


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bn", "bb", "nc"], ids=str)
def test_functions(maps, size):
    a = normal((6, 7))
    ours = put(a, maps, size)
    for module, x in ((np, a), (atoll, ours)):
        flat = x > 0.3
        results = [
            *module.nonzero(flat), *x.nonzero(), *module.where(flat), module.argwhere(flat),
            module.flatnonzero(flat), module.extract(flat, x), module.compress([1, 0, 1], x, 0),
            module.take(x, SIX, 0), module.take(x, GRID), x.take(SEVEN, axis=1), x.take([-1, 41]),
            module.take(x, [9, -9], 1, mode="clip"), module.take(x, [9, -9], mode="wrap"),
            x.compress([True, False, True], axis=1),
            module.take_along_axis(x, np.argsort(a, axis=0), 0),
            module.take_along_axis(x, np.argmax(a, axis=1, keepdims=True), 1),
        ]  # fmt: skip
        if x is a:
            expected = results
    for mine, theirs in zip(results, expected, strict=True):
        same(mine, theirs, 0)
    for module, x in ((np, a), (atoll, ours)):
        module.put(x, [3, -1, 3, 17], [1.0, 2.0])
        x.put([0, 41], 9)
        module.place(x, x > 1, [5.0, 6.0, 7.0])
        module.put_along_axis(x, GRID[:, :1].repeat(3, 0) % 7, 8.0, 1)
    same(ours, a, 0)


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("line", LINES, ids=str)
def test_an_index_out_of_range_is_an_error_on_all_ranks(line, size):
    a = put(normal((6, 7)), "bn", size)
    for bad in (6, -7):
        index = np.array([0, 1, 2, bad, 3, 99])
        for key in (index, put(index, line, size)):
            text = rf"index {bad} is out of bounds for axis 0 with size 6"
            with pytest.raises(IndexError, match=text):
                a[key]
            with pytest.raises(IndexError, match=text):
                a[key] = 0
    with pytest.raises(IndexError, match=r"axis 1 with size 7"):
        a[:, [7]]
    with pytest.raises(ValueError, match=r"shape mismatch|could not be broadcast"):
        a[[1, 2, 3]] = np.zeros(5)
    with pytest.raises(ValueError, match=r"where the mask is true"):
        a[a > 99] = np.zeros(5)
    same(a, normal((6, 7)), 0)


@pytest.mark.ranks(2)
@pytest.mark.parametrize("way", ["a mask", "indices", "place", "put"])
def test_every_rank_hears_what_numpy_warns_of(way, size):
    a, values = put(np.zeros((6, 7)), "bn", size), np.array([1j])
    mask = put(np.arange(42).reshape(6, 7) == 1, "bn", size)
    write = {
        "a mask": lambda: a.__setitem__(mask, values),
        "indices": lambda: a.__setitem__(([0], [1]), values),
        "place": lambda: atoll.place(a, mask, values),
        "put": lambda: atoll.put(a, [1], values),
    }[way]
    with pytest.warns(np.exceptions.ComplexWarning):
        write(), atoll.sync()


WRITES = {
    "an element": lambda places, at: places.__setitem__(at, 60),
    "a slice": lambda places, at: places.__setitem__(slice(at, at + 1), 60),
    "an index array": lambda places, at: places.__setitem__(np.array([at]), 60),
    "a sum": lambda places, at: places.__iadd__(60),
    "a view": lambda places, at: places[at:].__iadd__(60),
    "put": lambda places, at: atoll.put(places, [at], 60),
}


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("at", [0, 39])
def test_the_range_of_indices_is_known_until_they_are_written_to(write, at, size):
    whole, indices = np.arange(60.0), np.arange(40) - 10
    a, places = put(whole, "b", size), put(indices.copy(), "b", size)
    for _ in range(2):
        same(a[places], whole[indices])
    WRITES[write](places, at)
    for _ in range(2):
        with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 60"):
            a[places]
    places[...] = indices[::-1]
    same(a[places], whole[indices[::-1]])


@pytest.mark.contract
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
@pytest.mark.parametrize("shape", [(999,), (333, 3)])
def test_ranks_check_their_parts_of_long_index_arrays_that_all_have(shape, size):
    whole = np.arange(60.0)
    a = put(whole, "b", size)
    with policy.limited(pieces=2, chunk=64, short=64):
        indices = np.arange(999).reshape(shape) % 120 - 60
        same(a[indices], whole[indices])
        for bad in (0, 500, 998):
            wrong = indices.copy()
            wrong.flat[bad:] = 61 + np.arange(999 - bad)
            with pytest.raises(IndexError, match="index 61 is out of bounds for axis 0"):
                a[wrong]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 5)
@pytest.mark.parametrize("maps", ["bn", "nb", "cn"])
@pytest.mark.parametrize("chosen", ["indices", "mask"])
def test_what_all_ranks_know_to_be_wanted_is_sent_unasked(maps, chosen, size):
    """Owners send rows at indices, or under a mask, that every rank has, and write such rows by themselves."""
    whole = np.arange(240.0).reshape(60, 4)
    axis = maps.index("b" if "b" in maps else "c")
    a = atoll.asarray(whole.copy()).redistribute(atoll.Layout(whole.shape, maps, size=size))
    indices = np.array([3, 59, 0, 0, -1, 31, 2, 3, -60, 17] * 3) % whole.shape[axis]
    if chosen == "mask":
        indices = np.isin(np.arange(whole.shape[axis]), indices)
    key = (slice(None),) * axis + (indices,)
    new = np.arange(whole[key].size).reshape(whole[key].shape) * 0.5
    traffic = atoll.world.communicator.traffic
    for again in (False, True):  # the first time, ranks ask whether all have such plans
        atoll.sync()
        before = atoll.stats().messages, traffic.collectives
        picked = a[key]
        picked._evaluate()
        after = atoll.stats().messages, traffic.collectives
        a[key] = new
        atoll.add.at(a, key, new)
        a._evaluate()
        if again:
            assert after[0] - before[0] <= size - 1
            assert (atoll.stats().messages, traffic.collectives) == (after[0], before[1])
        same(picked, whole[key])
        whole[key] = new
        np.add.at(whole, key, new)
        same(a, whole)
    with atoll.config(everywhere=40_000):
        few = a[key]
        assert few.layout.is_replicated
        same(few, whole[key])


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
def test_few_rows_under_a_mask_on_ranks_are_sent_unasked(size):
    """All ranks learn which rows are meant, and owners send them without being asked."""
    whole = np.arange(240.0).reshape(60, 4)
    true = np.arange(60) % 7 == 3
    a, mask = put(whole.copy(), "bn", size), put(true, "b", size)
    traffic = atoll.world.communicator.traffic
    with atoll.config(everywhere=40_000):
        for _ in range(2):
            atoll.sync()
            before = atoll.stats().messages, traffic.collectives
            picked = a[mask]
            picked._evaluate()
            after = atoll.stats().messages, traffic.collectives
            same(picked, whole[true])
            assert picked.layout.is_replicated
        assert after[0] - before[0] <= size - 1
        assert after[1] - before[1] <= 2  # how many each rank has, and which
        a[mask] = picked + 1
        whole[true] += 1
        same(a, whole)
        none = put(np.zeros(60, bool), "b", size)
        same(a[none], whole[np.zeros(60, bool)])
        same(a[~none], whole)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_few_elements_go_to_all_ranks_once_for_their_positions(size):
    """A program that asks rows of a large array where they are true."""
    table = np.arange(60_000).reshape(300, 200) * 7919 % 1000

    def rows():
        with atoll.config(everywhere=0):
            a = atoll.arange(60_000).reshape(300, 200) * 7919 % 1000
            traffic = atoll.world.communicator.traffic
            np.asarray(atoll.nonzero(a[0] < 100)[0])
            before = traffic.copy()
            for k in range(1, 11):
                (where,) = atoll.nonzero(a[k * 29] < 100)
                assert np.array_equal(where, np.nonzero(table[k * 29] < 100)[0])
        spent = traffic - before
        return spent.messages_sent, spent.collectives

    for messages, collectives in simulated.Simulation(size).run(rows):
        # ranks also agree that all make the same call; a broadcast is a message to each other rank
        assert messages + (size - 1) * max(collectives - 20, 0) <= 10 * (size - 1)


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_rows_that_two_ranks_have_in_other_orders_are_picked(size):
    whole = normal((2, 6))
    rows = atoll.Layout((2, 6), (atoll.Unstructured([[1, 0], [0, 1]]), "n"), size=size)
    a = atoll.array(whole).redistribute(rows)
    mask = put(whole > 0, "nc", size)
    np.testing.assert_array_equal(np.asarray(a[:-1][mask[:-1]]), whole[:-1][whole[:-1] > 0])


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
@pytest.mark.parametrize("ufunc", ["add", "minimum", "fmax", "multiply", "subtract"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u8", "c16"])
def test_values_of_many_elements_are_combined_before_they_travel(ufunc, dtype, size):
    """As many values as elements: each rank combines its own first, if the order of the values does not matter."""
    random = np.random.default_rng(8)
    whole = random.integers(0, 90, 300).astype(dtype)
    places = random.integers(-300, 300, 2000)
    given = random.integers(0, 3, 2000).astype(dtype)
    if dtype[0] == "f":
        whole[:4], given[5:9] = [-0.0, np.nan, np.inf, -np.inf], [-np.inf, np.inf, -0.0, 0.25]
    at, a = getattr(atoll, ufunc).at, put(whole.copy(), "b", size)
    with np.errstate(all="ignore"), atoll.errstate(all="ignore"):
        for _ in range(2):
            at(a, put(places, "b", size), put(given, "b", size))
            getattr(np, ufunc).at(whole, places, given)
    same(a, whole)
    result = np.array(a).real
    assert (np.signbit(result[result == 0]) == np.signbit(whole.real[whole.real == 0])).all()


@pytest.mark.contract
@pytest.mark.ranks(2)
def test_combined_values_travel_as_elements(size):
    whole, places = np.zeros(500), np.random.default_rng(9).integers(0, 500, 40_000)
    a, where, ones = put(whole, "b", size), put(places, "b", size), put(places * 0.0 + 1, "b", size)
    sent = []
    for _ in range(2):
        atoll.sync()
        before = atoll.stats().bytes_moved
        atoll.add.at(a, where, ones)
        a._evaluate()
        sent.append(atoll.stats().bytes_moved - before)
    assert sent[1] <= 500 * 8
    same(a, 2.0 * np.bincount(places, minlength=500))


STATEMENTS = {
    "a read": "result = a[i]",
    "take": "result = np.take(a, i)",
    "an assignment": "a[i] = v; result = a",
    "an assignment of a number": "a[i] = 2.0; result = a",
    "put": "np.put(a, i, v); result = a",
    "add.at": "np.add.at(a, i, v); result = a",
    "bincount": "result = np.bincount(i + 9000, v)",
}


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("size", [2, 3])
def test_a_repeated_statement_with_index_arrays_takes_one_joint_step(name, size):
    """Beside the sum by which the program looks at the result; three ranks send elements that they assign to their owners."""
    sends = size > 2 and name in ("an assignment", "an assignment of a number", "put")

    def run(module):
        random = np.random.default_rng(5)
        whole, values = random.random((2, 9000))
        indices = random.integers(-9000, 9000, 9000)
        names = {"np": module}
        names |= {k: module.array(v) for k, v in (("a", whole), ("v", values), ("i", indices))}
        if name == "bincount":
            names["places"] = names["i"] + 9000
        statement = STATEMENTS[name].replace("i + 9000", "places")
        spent = []
        for _ in range(5):
            traffic = atoll.world.communicator.traffic
            before = traffic.copy()
            exec(statement, names)
            total = float(names["result"].sum())
            after = traffic - before
            spent.append((after.messages_sent, after.collectives))
        return total, np.asarray(names["result"]), spent[2:]

    def on_ranks():
        with atoll.config(small=0, everywhere=0):
            return run(atoll)

    expected = run(np)
    with atoll.config(ranks_per_node=size):
        simulation = simulated.Simulation(size)
    for total, result, spent in simulation.run(on_ranks):
        np.testing.assert_allclose(total, expected[0])
        np.testing.assert_allclose(result, expected[1])
        assert [collectives for _, collectives in spent] == [2] * 3
        assert sends or [messages for messages, _ in spent] == [0] * 3


@pytest.mark.ranks(2, 3)
def test_views_of_other_integers_are_checked_though_the_bounds_of_the_base_are_known(size):
    places = put(np.arange(40) % 30, "b", size)
    a, whole = put(np.arange(60.0), "b", size), np.arange(60.0)
    same(a[places], whole[np.arange(40) % 30])
    same(a[places[5:]], whole[np.arange(40)[5:] % 30])
    halves = put((np.arange(40) % 30).astype(np.int32), "b", size)
    same(a[halves], whole[np.arange(40) % 30])
    with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 60"):
        a[halves.view(np.int64)]
    places[3] = 70
    with pytest.raises(IndexError, match="index 70 is out of bounds for axis 0 with size 60"):
        a[places]
    same(a[places[4:]], whole[np.arange(40)[4:] % 30])
