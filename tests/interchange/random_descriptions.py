"""Descriptions by the protocols, changed at random: by values of wrong types, by objects that lie or raise.

:func:`drawn` makes a *case* from any object with the methods of :class:`random.Random`: descriptions for some ranks, and what to do
with them. :func:`outcome` does it on simulated ranks, and says what came of it. The only good answers are an array, a list of
violations, and a named refusal that is the same on all ranks.
"""

from __future__ import annotations

import array
import collections
import contextlib
import copy
import ctypes
import io
import sys
import types
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

import atoll
from atoll.cli import UsageError, check_distarray
from atoll.comm import simulated
from atoll.config import config
from atoll.errors import AtollError
from atoll.interchange.distarray import to_distarray
from atoll.interchange.partitioned import to_partitioned

LARGEST = 1 << 20
"""Up to how many elements of what was imported are looked at."""


class Refusal(Exception):
    """What objects that refuse raise."""


def refuses(*_: Any, **__: Any) -> Any:
    raise Refusal("no")


def hostile(name: str, base: type = object, **methods: Any) -> type:
    """A class whose methods refuse, or answer what they should not."""
    return type(name, (base,), {"__slots__": (), **methods} if base is object else methods)


def answers(value: Any) -> Any:
    return lambda *_, **__: value


def endless(*_: Any) -> Any:
    while True:
        yield 1


RAISING = [
    hostile(f"Raises{name.strip('_').title()}", base, **{name: refuses})
    for base in (object, dict, list, tuple, str, int)
    for name in (
        "__index__", "__len__", "__iter__", "__getitem__", "__contains__", "__eq__", "__hash__", "__repr__", "__str__", "__bool__",
        "__getattribute__", "__array__", "__int__", "__lt__", "__ge__", "__array_interface__", "__dlpack__", "__call__", "get", "keys", "items",
    )
]  # fmt: skip
LYING = [
    hostile("IndexIsText", __index__=answers("3")),
    hostile("IndexIsHuge", __index__=answers(10**30)),
    hostile("IndexIsBool", __index__=answers(True)),
    hostile("LengthIsNegative", list, __len__=answers(-1)),
    hostile("LengthIsHuge", list, __len__=answers(1 << 60)),
    hostile("LengthIsText", tuple, __len__=answers("2")),
    hostile("ShorterThanSaid", tuple, __len__=answers(2)),
    hostile("Endless", list, __iter__=endless),
    hostile("EndlessTuple", tuple, __iter__=endless),
    hostile("EndlessDict", dict, __iter__=endless, __len__=answers(3), keys=endless, items=endless),
    hostile("HasEverything", dict, __contains__=answers(True), __len__=answers(3)),
    hostile("ItemsAreNone", dict, __getitem__=answers(None), get=answers(None)),
    hostile("EqualsAll", __eq__=answers(True), __hash__=answers(0)),
    hostile("EqualsAllText", str, __eq__=answers(True), __hash__=str.__hash__),
    hostile("EqualIsArray", __eq__=answers(numpy.zeros(3)), __hash__=answers(1)),
    hostile("EqualsAllInts", int, __eq__=answers(True), __hash__=int.__hash__),
    hostile("LessIsNone", int, __lt__=answers(None), __le__=answers(None), __ge__=answers([1]), __gt__=answers("")),
    hostile("ArrayIsText", __array__=answers("array")),
    hostile("ArrayIsNone", __array__=answers(None)),
    hostile("ArrayIsOfObjects", __array__=answers(numpy.array([None, 1]))),
    hostile("ReprIsNone", __repr__=answers(None), __str__=answers(None)),
    hostile("ReprIsLong", __repr__=answers("x" * 10**6)),
    hostile("ReprIsNoText", __repr__=answers("\ud800")),
    hostile("HasAll", __getattr__=lambda self, name: self, __call__=lambda self, *_, **__: self),
    hostile("ClassIsDict", __class__=property(answers(dict))),
    hostile("ClassIsNothing", __class__=property(refuses)),
    hostile("OnAnotherDevice", __dlpack_device__=answers((2, 0)), __dlpack__=refuses),
    hostile("NoDevice", __dlpack_device__=answers(None), __dlpack__=answers(None)),
    hostile("DeviceIsText", __dlpack_device__=answers(("a", "b", "c")), __dlpack__=answers(3)),
    hostile("Frame", to_numpy=answers([[1], [2, 3]]), dtypes=[1], ndim=2),
    hostile("EndlessFrame", to_numpy=answers(None), dtypes=property(endless)),
    hostile("ShapeRaises", numpy.ndarray, shape=property(refuses)),
    hostile("DtypeRaises", numpy.ndarray, dtype=property(refuses)),
    hostile("FinalizeRaises", numpy.ndarray, __array_finalize__=refuses),
]  # fmt: skip


class View(Mapping):
    """A mapping that is no dict, of what it is given."""

    def __init__(self, inner: dict[Any, Any]) -> None:
        self.inner = inner

    def __getitem__(self, key: Any) -> Any:
        return self.inner[key]

    def __iter__(self) -> Any:
        return iter(self.inner)

    def __len__(self) -> int:
        return len(self.inner)


class Fickle(dict):
    """A dictionary that answers otherwise each time."""

    asked = 0

    def __getitem__(self, key: Any) -> Any:
        self.asked += 1
        if self.asked % 2:
            return super().__getitem__(key)
        return None

    def get(self, key: Any, default: Any = None) -> Any:
        self.asked += 1
        return super().get(key, default) if self.asked % 2 else -1


def made(kind: type) -> Any:
    """An object of a hostile class, with something in it where it can hold something."""
    for given in (([1, 2],), (3,), ("b",), ({"a": 1},), ()):
        try:
            return kind(*given)
        except Exception:  # its class takes something else
            continue
    return kind


def in_itself(kind: type) -> Any:
    holder: Any = kind()
    if kind is dict:
        holder["self"] = holder
    else:
        holder += [holder, holder]
    return holder


def released() -> memoryview:
    view = memoryview(bytearray(16))
    view.release()
    return view


def strided(random: Any) -> Any:
    """A NumPy array that lies oddly."""
    base = numpy.arange(24.0)
    return random.choice([
        lambda: base[::-1], lambda: base[::2], lambda: base.reshape(4, 6).T, lambda: base.reshape(2, 3, 4),
        lambda: numpy.broadcast_to(base[:1], (10,)), lambda: numpy.broadcast_to(base[:1], (5, 10)),
        lambda: numpy.lib.stride_tricks.as_strided(base, (10,), (0,)), lambda: numpy.lib.stride_tricks.as_strided(base, (5, 4), (8, 8)),
        lambda: numpy.broadcast_to(base[:1], (10**12,)), lambda: numpy.zeros((0, 5)), lambda: numpy.zeros((5, 0)), lambda: numpy.array(3.0),
        lambda: base[:5], lambda: base[:10].astype("i4"), lambda: numpy.frombuffer(b"\0" * 80, "f8"), lambda: numpy.zeros(81, "u1")[1:].view("f8"),
        lambda: base[:10].astype(">f8"), lambda: base[:10].astype("f2"), lambda: numpy.zeros((1,) * 40), lambda: numpy.zeros((1,) * 64),
    ])()  # fmt: skip


def odd_dtype(random: Any) -> Any:
    """A NumPy array of a dtype that does not travel, or hardly."""
    kind = random.choice([
        "O", "U3", "S2", "M8[s]", "m8[ns]", "g", "G", "V3", [("a", "O")], [("a", "f8"), ("b", "i1")], [("a", "M8[D]")], "?", "V0", "S0",
        numpy.dtype([]), numpy.dtypes.StringDType(), numpy.dtype({"names": ["x"], "formats": ["f8"], "offsets": [8], "itemsize": 24}),
        numpy.dtype({"names": ["x", "y"], "formats": ["f8", "f8"], "offsets": [0, 4], "itemsize": 16}), numpy.dtype(("f8", (2,))),
        numpy.dtype([("a\ud800" if random.random() < 0.3 else "a:b", "f8")]),
    ])  # fmt: skip
    return numpy.zeros(random.choice([0, 1, 5, 10, (2, 5)]), kind)


def buffer(random: Any) -> Any:
    """Something with the buffer protocol, or almost."""
    return random.choice([
        lambda: bytes(10), lambda: bytearray(80), lambda: array.array("d", range(10)), lambda: array.array("u", "abc"), released,
        lambda: memoryview(bytes(80)).cast("d"), lambda: memoryview(bytes(80)).cast("d", (2, 5)), lambda: memoryview(bytes(10)).cast("c"),
        lambda: memoryview(bytes(16)).cast("P"), lambda: memoryview(bytes(10)).cast("?"), lambda: memoryview(bytes(10))[::-2],
        lambda: (ctypes.c_double * 10)(), lambda: ((ctypes.c_int * 5) * 2)(), lambda: (ctypes.py_object * 5)(), lambda: (ctypes.c_char_p * 3)(),
        lambda: (ctypes.POINTER(ctypes.c_int) * 2)(), lambda: (ctypes.c_wchar * 3)(), lambda: (ctypes.c_longdouble * 2)(), lambda: (ctypes.c_double * 0)(),
        lambda: type("Pair", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int), ("b", ctypes.py_object)]})(),
        lambda: type("Bits", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int, 3), ("b", ctypes.c_int, 5)]})(),
        lambda: memoryview(numpy.zeros(10)), lambda: memoryview(numpy.zeros(3, object)), lambda: memoryview(numpy.zeros(10))[2:7], lambda: io.BytesIO(b"123").getbuffer(),
        lambda: numpy.ma.masked_array([1.0, 2.0], [True, False]), lambda: numpy.matrix([[1.0, 2.0]]), lambda: numpy.rec.array([(1, 2.0)]),
    ])()  # fmt: skip


PLAIN = [
    None, True, False, 0, 1, 2, 3, -1, 5, 7, 10, 10**9, 10**12, -(10**12), 1 << 31, 1 << 62, 1 << 63, 1 << 64, 10**30, -(10**30), 2.0, 2.5, -1.0, 1e300,
    float("nan"), float("inf"), 1j, "", "x", "b", "c", "u", "n", "1.0.0", "0.9.0", "0.10.0", "2.0.0", "1", "1.0", "0.9", "9" * 5000 + ".0.0", "\ud800",
    "x" * 10**5, b"b", b"", [], (), {}, set(), frozenset({1}), [[]], ((),), (0, 0), (1, 1), (-1, 0), (1, 2, 3), [1, 1], (10**9, 10**9), (1.0, 1.0), (None, None),
    ("a", "b"), (True, True), Ellipsis, NotImplemented, int, dict, len, range(0), range(10), range(10**12), range(0, -(10**12), -1), slice(None), object,
    types, atoll, lambda: None, print,
]  # fmt: skip


def strange(random: Any) -> Any:
    """A value that stands where another one should."""
    return random.choice([
        lambda: random.choice(PLAIN), lambda: random.choice(PLAIN), lambda: made(random.choice(RAISING)), lambda: made(random.choice(LYING)),
        lambda: random.choice([numpy.int8, numpy.uint64, numpy.float16, numpy.float64, numpy.longdouble, numpy.bool_, numpy.str_])(random.choice([0, 1, 3, 5])),
        lambda: random.randint(-3, 12), lambda: strided(random), lambda: odd_dtype(random), lambda: buffer(random),
        lambda: in_itself(random.choice([list, dict])), lambda: endless(), lambda: (x for x in [1, 2]), lambda: iter([1, 2]), lambda: map(int, "12"),
        lambda: View({"a": 1}), lambda: collections.defaultdict(int), lambda: collections.ChainMap({}), lambda: types.MappingProxyType({}),
        lambda: atoll.arange(5), lambda: atoll.arange(5).sum(), lambda: [strange(random)], lambda: (strange(random), strange(random)),
        lambda: {"dist_type": strange(random)}, lambda: random.choice(RAISING), lambda: numpy.array([1, 2]), lambda: numpy.array([[1, 2]]),
        lambda: numpy.array(random.sample(range(-3, 12), 5)), lambda: numpy.array([1 << 63, 3], "u8"), lambda: Refusal("x"),
    ])()  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = (value,)
    return value


def wrapped(random: Any, value: Any) -> Any:
    """The same value, in another class."""
    try:
        return _wrapped(random, value)
    except Exception:  # some classes refuse to be made
        return strange(random)


WRAPPERS: dict[Any, list[Any]] = {
    dict: [View, Fickle, collections.OrderedDict, types.MappingProxyType, lambda v: collections.defaultdict(int, v)],
    (list, tuple): [list, tuple, iter, numpy.array, set],
    str: [],
    int: [float, str, numpy.int8, numpy.uint8, numpy.array, complex, bool, lambda v: [v], lambda v: -v, lambda v: v + 1],
}  # fmt: skip
"""Other classes for a value of a class, beside the hostile ones that inherit from it."""


def _wrapped(random: Any, value: Any) -> Any:
    for kind, wrappers in WRAPPERS.items():
        if isinstance(value, kind):
            inheriting = [one for one in (*RAISING, *LYING) if issubclass(one, kind)]
            few = wrappers and random.random() < 0.5
            return random.choice(wrappers if few else inheriting)(value)
    if isinstance(value, numpy.ndarray):
        return random.choice([
            numpy.ndarray.tolist, lambda v: v.astype("O"), lambda v: v[::-1], lambda v: v[1:] if v.ndim else v, lambda v: v.T, lambda v: v.ravel(),
            lambda v: v.astype("i2"), lambda v: v.byteswap().view(v.dtype.newbyteorder()), lambda v: memoryview(v), lambda v: v.reshape(1, *v.shape),
            lambda v: v.view(made_subclass(random)), lambda v: numpy.broadcast_to(v, (2, *v.shape)), lambda v: numpy.repeat(v, 2, 0) if v.ndim else v,
            lambda v: v.astype("M8[s]"), lambda v: v.astype("U8"), lambda v: numpy.ma.masked_array(v), atoll.asarray, lambda v: nested(2000),
        ])(value)  # fmt: skip
    return strange(random)


def made_subclass(random: Any) -> type:
    return random.choice([one for one in LYING if issubclass(one, numpy.ndarray)][:2])


def places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Every place in a description, as keys to go through."""
    yield path
    if len(path) > 6:
        return
    if type(value) is dict:
        for key in value:
            yield from places(value[key], (*path, key))
    elif type(value) in (list, tuple) and len(value) < 50:
        for number, item in enumerate(value):
            yield from places(item, (*path, number))


def changed(value: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy in which ``change`` has been applied at a place."""
    if not path:
        return change(value)
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, first: changed(value[first], rest, change)}
    items = list(value)
    items[first] = changed(items[first], rest, change)
    return type(value)(items)


def mutated(random: Any, description: Any) -> Any:
    """A description with one thing changed."""
    every = list(places(description))
    path = random.choice(every)
    target = description
    for key in path:
        target = target[key]
    ways = [lambda v: strange(random), lambda v: strange(random), lambda v: wrapped(random, v)]
    if type(target) is dict and target:
        key = random.choice(list(target))
        ways += [
            lambda v: {k: x for k, x in v.items() if k != key},
            lambda v: {**v, strange_key(random): strange(random)},
            lambda v: {(strange_key(random) if k == key else k): x for k, x in v.items()},
        ]
    if type(target) in (list, tuple):
        ways += [lambda v: v[:-1], lambda v: v + type(v)([strange(random)]), lambda v: v + v]
    return changed(description, path, random.choice(ways))


KEYS = ["size", "padding", "periodic", "locals", "block_size", "x", (0,), (0, 0), (99,), (-1,)]


def strange_key(random: Any) -> Any:
    """A key that dictionaries take."""
    while True:
        key = random.choice([strange(random), random.choice(KEYS)])
        try:
            {key: 1}[key]
        except Exception:
            continue
        return key


def produced(random: Any, protocol: str, description: Any) -> Any:
    """The description, as a library would show it, or nearly so."""
    name = f"__{protocol}__"

    def shown(value: Any) -> Any:
        return types.SimpleNamespace(**{name: value})

    by_property = hostile("ByProperty", **{name: property(lambda self: description)})()
    by_method = shown(lambda: description)
    ways = [lambda: description] * 9
    ways += [lambda: by_property if protocol == "partitioned" else by_method] * 3
    ways += [
        lambda: shown(description),
        lambda: by_method,
        lambda: shown(strange(random)),
        lambda: hostile("Raising", **{name: random.choice([property(refuses), refuses])})(),
        lambda: type("Class", (), {name: lambda self: description}),
        lambda: shown(lambda: copy.copy(description)),
        lambda: strange(random),
        lambda: shown(lambda *args: description),
    ]
    return random.choice(ways)()


@dataclass
class Case:
    """What ranks are given, and what they do with it."""

    size: int
    protocol: str
    action: str
    sources: list[Any]


ACTIONS = {
    "distarray": ["from", "from strict", "check", "check lenient", "command", "command lenient"],
    "partitioned": ["from", "from copy", "from no copy", "check", "check lenient"],
}


def axis_of(random: Any, extent: int, size: int) -> Any:
    """A way to divide an axis, of each kind that there is."""
    kind = random.choice("bbbpPcku")
    if kind == "u":
        order = list(range(extent))
        random.shuffle(order)
        return atoll.Unstructured([order[k::size] for k in range(size)])
    return {
        "b": atoll.Block(), "p": atoll.Block(padding=(1, 1)), "P": atoll.Block(padding=(1, 1), periodic=True),
        "c": atoll.Cyclic(1), "k": atoll.Cyclic(2),
    }[kind]  # fmt: skip


def right(random: Any, protocol: str, size: int) -> list[Any]:
    """What an array of ours shows on each rank."""
    shape = random.choice([(10,), (10, 3), (6, 4), (7,), (), (1,), (0,), (2, 3, 4)])
    dtype = random.choice(["f8", "f8", "i4", "c16", "u1", [("x", "f4"), ("y", "i2")]])
    axes = [
        axis_of(random, n, size) if k == 0 and n >= 2 * size else "n" for k, n in enumerate(shape)
    ]
    grid = tuple([size if k == 0 and axes[0] != "n" else 1 for k in range(len(shape))])
    version = random.choice(["1.0.0", "1.0.0", "0.9.0", "0.10.0"])

    def show(_: Any = None) -> Any:
        layout = atoll.Layout(shape, axes, grid=grid, size=size)
        given = atoll.from_local(numpy.ones(layout.padded_shape(atoll.world.rank), dtype), layout)
        if protocol == "distarray":
            return to_distarray(given, version)
        try:
            return to_partitioned(
                given, random.choice(["spec", "spec", "heat"]) if size == 1 else "spec"
            )
        except AtollError:
            return to_partitioned(atoll.from_local(numpy.ones((2, *shape[1:]), dtype)))

    shown = [show()] if size == 1 else simulated.run(size, show, None)
    if protocol == "partitioned" and random.random() < 0.3:
        shown = [clustered(random, one, shown) for one in shown]
    return shown


class Handle:
    """Stands for a partition that lies in a cluster."""

    def __init__(self, data: Any) -> None:
        self.data = data


def clustered(random: Any, one: dict[str, Any], every: list[dict[str, Any]]) -> dict[str, Any]:
    """The same as a cluster shows it: no locals, and handles that ``get`` fetches."""
    data = {
        place: whole["partitions"][place]["data"] for whole in every for place in whole["locals"]
    }
    get = random.choice([
        lambda handles: [handle.data for handle in handles], lambda handles: [handle.data for handle in handles],
        lambda handle: handle.data, refuses, answers(None), endless, lambda handles: (handle.data for handle in handles),
        lambda handles: [strange(random) for _ in handles], lambda handles: numpy.zeros(len(handles)), lambda handles: [handles[0].data] * 7,
    ])  # fmt: skip
    partitions = {
        place: {**entry, "data": Handle(data[place])} for place, entry in one["partitions"].items()
    }
    return {
        **{key: value for key, value in one.items() if key != "locals"},
        "partitions": partitions,
        "get": get,
    }


def drawn(random: Any, protocol: str = "", action: str = "") -> Case:
    """A case."""
    protocol = protocol or random.choice(list(ACTIONS))
    action = action or random.choice(ACTIONS[protocol])
    size = random.choice([1, 1, 2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = right(random, protocol, size)
        count = random.choice([1, 1, 1, 2, 3])
        if random.random() < 0.6:  # each rank by itself, most of them right
            changes = [count if rank == 0 or random.random() < 0.3 else 0 for rank in range(size)]
            random.shuffle(changes)
        else:
            changes = [count] * size
        for rank, number in enumerate(changes):
            for _ in range(number):
                shown[rank] = mutated(random, shown[rank])
    sources = [produced(random, protocol, one) for one in shown]
    return Case(size, protocol, action, sources)


def act(case: Case) -> Any:
    """One rank's part, and what it answers: comparable between ranks."""
    source = case.sources[atoll.world.rank]
    first, _, word = case.action.partition(" ")
    if first == "command":
        name = f"a_module_of_rank_{atoll.world.rank}"
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].make = lambda: source
        return check_distarray.check(f"{name}:make", bool(word))
    if first == "check":
        check = atoll.check_distarray if case.protocol == "distarray" else atoll.check_partitioned
        return [str(violation) for violation in check(source, strict=not word)]
    if case.protocol == "distarray":
        array = atoll.from_distarray(source, strict=bool(word))
    else:
        array = atoll.from_partitioned(source, copy={"copy": True, "no copy": False}.get(word))
    if array.size <= LARGEST and all(
        not getattr(axis, "labels", False) for axis in array.layout.axes
    ):
        values = numpy.asarray(array)
        assert values.shape == array.shape
        assert values.dtype == array.dtype
        values.tobytes()
        array.local.tobytes()
    return repr(array.layout)


def outcome(case: Case) -> str:
    """``"array"``, ``"checked"`` or ``"refused"``; anything else is wrong, and raised.

    What a world of one rank refuses, it says by an error of atoll's own; several ranks all say the same.
    """
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), config(small=0, everywhere=0):  # fmt: skip
        warnings.simplefilter("ignore")

        def one(_: Any = None) -> Any:
            try:
                return act(case)
            except (AtollError, UsageError) as error:
                return f"{type(error).__name__}: {error}"

        answers = [one()] if case.size == 1 else simulated.run(case.size, one, None)
    refused = [answer for answer in answers if isinstance(answer, str) and "Error: " in answer]
    assert len(refused) in (0, case.size), answers
    parted = "DivergenceError"  # an array of ours among what was given, which wants all ranks for what it shows
    if any(answer.startswith(parted) for answer in refused):
        return "refused"
    assert all(answer == answers[0] for answer in answers), answers
    if refused:
        return "refused"
    return "array" if case.action.startswith("from") else "checked"
