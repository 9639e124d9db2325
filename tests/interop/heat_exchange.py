"""Heat as a producer and a consumer of ``__partitioned__``, on this rank's share of a world.

    python tests/interop/heat_exchange.py
    atoll run -n 3 tests/interop/heat_exchange.py

Says what it skips where Heat is not installed. Heat needs torch; what it loads of torchvision is not
used here, so one that does not fit the installed torch is replaced by an empty one.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
import types
import warnings

import numpy as np

import atoll
from atoll import Layout
from atoll.errors import ProtocolWarning


class Empty(types.ModuleType):
    """A module with a class for every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def heat():
    """Heat, or ``None``."""
    if importlib.util.find_spec("heat") is None or importlib.util.find_spec("torch") is None:
        return None
    try:
        importlib.import_module("torchvision")
    except Exception:
        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("torchvision", "torchvision.transforms", "torchvision.datasets"):
            module = sys.modules[name] = Empty(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
            module.__path__ = []
            if "." in name:
                setattr(sys.modules["torchvision"], name.partition(".")[2], module)
    return importlib.import_module("heat")


def say(*words):
    """Rank 0 speaks for all."""
    if atoll.world.rank == 0:
        print(*words, flush=True)


class Shown:
    """Anything with the property."""

    def __init__(self, description):
        self.__partitioned__ = description


def imported(x):
    """Heat's array in atoll, and which rules had to be mended for it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ProtocolWarning)
        a = atoll.from_partitioned(x)
    return a, {str(one.message).split()[1].rstrip(":") for one in seen}


def main():
    ht = heat()
    if ht is None:
        say("skipped: Heat is not installed here")
        return
    size = atoll.world.size
    whole = np.arange(35.0).reshape(7, 5)
    for split in (0, 1, None):
        x = ht.array(whole.copy(), split=split)
        a, rules = imported(x)
        np.testing.assert_array_equal(np.asarray(a), whole)
        assert rules <= {"P9", "P13", "P5", "P3"}, rules
        assert np.shares_memory(a.local, x.larray.numpy())
        a *= 2
        np.testing.assert_array_equal(x.numpy(), whole * 2)
        say(f"split={split}: {a.layout!r}, over Heat's memory, mended: {sorted(rules)}")
    rows = atoll.array(whole).redistribute(Layout((7, 5), "bn", size=size))
    y = ht.from_partitioned(Shown(atoll.to_partitioned(rows, dialect="heat")))
    assert y.split == (0 if size > 1 else y.split)
    np.testing.assert_array_equal(y.numpy(), whole)
    np.testing.assert_array_equal((y + 1).numpy(), whole + 1)
    say("and back: Heat reads atoll's blocks")
    z = ht.arange(40, split=0, dtype=ht.float64)
    _ = z.__partitioned__
    b, _ = imported(z[z > 11])  # unbalanced, and described once before
    np.testing.assert_array_equal(np.asarray(b), np.arange(12.0, 40))
    say("and what is not in balance")


if __name__ == "__main__":
    main()
