"""More statements for random programs: folds, masks, outputs, scans, positions and exports.

Sums are taken only of numbers so small that every order of adding gives the same bits; what is
compared here is which elements enter, and where results go, not rounding.
"""

from __future__ import annotations

import random

import numpy as np

SHAPES = [(), (0,), (1,), (3,), (7,), (0, 3), (2, 0), (1, 4), (3, 4), (5, 2), (2, 3, 2)]
DTYPES = ["f8", "f8", "f4", "f2", "i8", "i4", "u1", "i2", "b1", "c16", "c8"]
EXACT = {"f2": 500, "f4": 1 << 20, "c8": 1 << 20, "f8": 1 << 48, "c16": 1 << 48}


def data(rng: random.Random) -> np.ndarray:
    """A small array of small integers, at times without elements or without axes."""
    shape, dtype = rng.choice(SHAPES), np.dtype(rng.choice(DTYPES))
    numbers = [rng.randint(-5, 5) for _ in range(int(np.prod(shape)))]
    made = np.array(numbers, "f8").reshape(shape)
    return np.asarray(abs(made) if dtype.kind == "u" else made, dtype)


def sums_exactly(array: np.ndarray) -> bool:
    """Whether adding in any order has the same bits."""
    limit = EXACT.get(array.dtype.str[1:])
    if limit is None:
        return True
    return bool(np.isfinite(array).all()) and float(np.abs(array).astype("f8").sum()) < limit


def mask_for(rng: random.Random, shape: tuple[int, ...], *, full: bool = False) -> np.ndarray:
    """A mask of this shape, or one that broadcasts to it."""
    if not full and shape and rng.random() < 0.3:
        shape = shape[rng.randrange(len(shape)) :]
    return np.array([rng.random() < 0.6 for _ in range(int(np.prod(shape)))], bool).reshape(shape)


def outcome(call):
    """What a call returns, or the class of what it raises."""
    try:
        with np.errstate(all="ignore"):
            return call(), None
    except (ValueError, TypeError, IndexError) as error:
        return None, type(error)


class Statements:
    """Statements on the arrays of one program."""

    def __init__(self, rng, pairs, text, from_numpy, functions, pair, *, exports):
        self.rng, self.pairs, self.text = rng, pairs, text
        self.from_numpy, self.functions, self.pair = from_numpy, functions, pair
        self.exports = [] if exports else None

    def both(self, line, ours, theirs):
        """Run both; a new array joins the others, a number is compared at once."""
        expected, error = outcome(theirs)
        self.text.append(line)
        got, got_error = outcome(ours)
        report = "\n".join(self.text)
        assert (error is None) == (got_error is None), f"{error}, {got_error}\n{report}"
        if error is not None:
            return  # where two rules are broken, either may be named
        if isinstance(expected, np.ndarray):
            self.text[-1] = f"a{len(self.pairs)} = {line}"
            self.pairs.append(self.pair(got, expected))
        elif expected is not None:
            assert np.dtype(got.dtype) == expected.dtype, f"{got.dtype}\n{report}"
            assert np.array_equal(np.asarray(got), expected, equal_nan=True), f"{got}\n{report}"

    def pick(self):
        i = self.rng.randrange(len(self.pairs))
        return i, self.pairs[i]

    def mask(self, shape, *, full=False):
        mask = mask_for(self.rng, shape, full=full)
        return self.from_numpy(mask.copy()), mask

    def axes(self, ndim):
        """An axis, several, or all."""
        kind = self.rng.random()
        if ndim == 0 or kind < 0.3:
            return None
        if kind < 0.7:
            return self.rng.randrange(-ndim, ndim)
        return tuple(self.rng.sample(range(ndim), self.rng.randint(0, ndim)))

    def fold(self):
        i, p = self.pick()
        name = self.rng.choice(["sum", "sum", "max", "min", "any", "all", "count_nonzero"])
        if name == "sum" and not sums_exactly(p.theirs):
            name = "max"
        options = {"axis": self.axes(p.theirs.ndim)}
        if self.rng.random() < 0.3:
            options["keepdims"] = True
        if name in ("sum", "max", "min") and self.rng.random() < 0.3:
            options["initial"] = self.rng.randint(0, 3)
        mine, line = dict(options), f"{name}(a{i}, {options}"
        if name != "count_nonzero" and self.rng.random() < 0.3:
            mine["where"], options["where"] = self.mask(p.theirs.shape)
            line += f", where={options['where'].tolist()}"
        self.both(
            line + ")",
            lambda: self.functions(name)(p.ours, **mine),
            lambda: getattr(np, name)(p.theirs, **options),
        )

    def position(self):
        i, p = self.pick()
        name = self.rng.choice(["argmax", "argmin"])
        axis = self.rng.choice([None, *range(p.theirs.ndim)])
        self.both(
            f"{name}(a{i}, {axis})",
            lambda: self.functions(name)(p.ours, axis),
            lambda: getattr(np, name)(p.theirs, axis),
        )

    def scan(self):
        i, p = self.pick()
        if sums_exactly(p.theirs):
            axis = self.rng.choice([None, *range(p.theirs.ndim)])
            self.both(
                f"cumsum(a{i}, {axis})",
                lambda: self.functions("cumsum")(p.ours, axis),
                lambda: np.cumsum(p.theirs, axis),
            )

    def masked(self):
        """Read or write through a mask."""
        i, p = self.pick()
        mine, mask = self.mask(p.theirs.shape, full=True)
        if self.rng.random() < 0.5:
            self.both(f"a{i}[{mask.tolist()}]", lambda: p.ours[mine], lambda: p.theirs[mask])
            return
        value = self.rng.randint(0, 5)
        self.both(
            f"a{i}[{mask.tolist()}] = {value}",
            lambda: p.ours.__setitem__(mine, value),
            lambda: p.theirs.__setitem__(mask, value),
        )

    def into(self):
        """A ufunc with an output, at times with a mask."""
        i, p = self.pick()
        j, q = self.pick()
        same = [k for k, c in enumerate(self.pairs) if c.theirs.shape == p.theirs.shape]
        k = self.rng.choice(same) if self.rng.random() < 0.8 else self.pick()[0]
        r = self.pairs[k]
        name = self.rng.choice(["add", "multiply", "maximum", "less", "subtract"])
        mine, theirs, line = {}, {}, f"{name}(a{i}, a{j}, out=a{k}"
        if self.rng.random() < 0.4:
            mine["where"], theirs["where"] = self.mask(r.theirs.shape)
            line += f", where={theirs['where'].tolist()}"

        def ours():
            assert self.functions(name)(p.ours, q.ours, out=r.ours, **mine) is r.ours

        def numpys():
            getattr(np, name)(p.theirs, q.theirs, out=r.theirs, **theirs)

        self.both(line + ")", ours, numpys)

    def export(self):
        """Hand the memory out: what is assigned later must show in it, unlooked at."""
        if self.exports is not None:
            i, p = self.pick()
            self.text.append(f"export a{i}")
            self.exports.append((np.asarray(p.ours), p.theirs))

    def one(self):
        """One statement."""
        kinds = [self.fold] * 3 + [self.masked] * 2 + [self.into] * 2
        self.rng.choice([*kinds, self.position, self.scan, self.export])()

    def finish(self):
        """Compare what was handed out, before anybody looks at the arrays."""
        for got, expected in self.exports or ():
            assert np.array_equal(got, expected, equal_nan=True), "\n".join(self.text)
