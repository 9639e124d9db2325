"""Random array programs, run statement by statement in NumPy and in atoll.

A program keeps a list of arrays; each statement makes a new one (an expression, a view, a copy)
or writes into one. After the last statement all arrays are compared, in value, dtype, shape and
strides; aliasing shows because later statements write through earlier views.
"""

from __future__ import annotations

import random

import numpy as np

DTYPES = ["f8", "f4", "i8", "i4", "u1", "i2", "b1", "c16"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "less", "equal", "logical_and"]


class Pair:
    """The same array in both worlds."""

    def __init__(self, ours, theirs):
        self.ours = ours
        self.theirs = theirs


def make_array(rng: random.Random, from_numpy):
    ndim = rng.choice([1, 1, 2, 2, 2, 3])
    shape = tuple(rng.choice([1, 2, 3, 4, 5, 6]) for _ in range(ndim))
    dtype = np.dtype(rng.choice(DTYPES[: rng.choice([1, 1, 3, 8])]))
    n = int(np.prod(shape))
    data = np.array([rng.randint(-9, 9) for _ in range(n)], "f8").reshape(shape)
    data = (np.abs(data) if dtype.kind == "u" else data).astype(dtype)
    return Pair(from_numpy(data.copy()), data)


def random_key(rng: random.Random, shape):
    key = []
    for n in shape:
        kind = rng.random()
        if kind < 0.15 and n:
            key.append(rng.randrange(-n, n))
        elif kind < 0.3:
            key.append(slice(None))
        else:
            step = rng.choice([1, 1, 1, 1, 2, -1, -1, -2, 3])
            start = rng.choice([None, rng.randint(-n, n)])
            stop = rng.choice([None, rng.randint(-n, n)])
            key.append(slice(start, stop, step))
    while key and rng.random() < 0.2:
        key.pop()
    if rng.random() < 0.15:
        key.insert(rng.randint(0, len(key)), None)
    if rng.random() < 0.1:
        key.append(Ellipsis)
    return tuple(key)


def shifted_keys(rng: random.Random, shape):
    """Two keys that take equally shaped, overlapping pieces."""
    one, two = [], []
    for n in shape:
        if n > 1 and rng.random() < 0.7:
            k = rng.randint(1, n - 1)
            a, b = slice(k, None), slice(None, n - k)
            if rng.random() < 0.3:
                a, b = b, a
        else:
            a = b = slice(None)
        one.append(a)
        two.append(b)
    return tuple(one), tuple(two)


def view(rng: random.Random, pair: Pair) -> Pair:
    kind = rng.random()
    shape = pair.theirs.shape
    if kind < 0.55:
        key = random_key(rng, shape)
        theirs = pair.theirs[key]
        if not isinstance(theirs, np.ndarray):
            return pair
        return Pair(pair.ours[key], theirs)
    if kind < 0.8:
        return Pair(pair.ours.T, pair.theirs.T)
    new = rng.choice([(-1,), (pair.theirs.size,), (1, -1), shape[::-1]])
    return Pair(pair.ours.reshape(new), pair.theirs.reshape(new))


def scalar(rng: random.Random, dtype):
    value = rng.randint(1, 5)
    return rng.choice([value, value, float(value) + 0.5]) if dtype.kind in "fc" else value


def run(seed: int, from_numpy, functions, statements: int = 12):
    """One random program; the pairs to be compared, and its text for a report."""
    rng = random.Random(seed)
    pairs = [make_array(rng, from_numpy) for _ in range(3)]
    text = [
        f"a{k} = array({p.theirs.tolist()}, '{p.theirs.dtype.str}')" for k, p in enumerate(pairs)
    ]

    def add(ours, theirs, line):
        if isinstance(theirs, np.ndarray) and theirs.ndim:
            text.append(f"a{len(pairs)} = {line}")
            pairs.append(Pair(ours, theirs))

    for _ in range(rng.randint(2, statements)):
        i = rng.randrange(len(pairs))
        p = pairs[i]
        kind = rng.random()
        if kind < 0.2:
            q = view(rng, p)
            add(
                q.ours, q.theirs, f"view of a{i}: shape {q.theirs.shape} strides {q.theirs.strides}"
            )
        elif kind < 0.45:
            j = rng.randrange(len(pairs))
            name = rng.choice(BINARY)
            q = pairs[j]
            try:
                with np.errstate(all="ignore"):
                    theirs = getattr(np, name)(p.theirs, q.theirs)
            except (ValueError, TypeError) as error:
                try:
                    functions(name)(p.ours, q.ours)
                except type(error):
                    continue
                raise AssertionError(f"{name}(a{i}, a{j}) should raise {error!r}") from None
            add(functions(name)(p.ours, q.ours), theirs, f"{name}(a{i}, a{j})")
        elif kind < 0.55:
            name = rng.choice(["add", "multiply", "subtract"])
            s = scalar(rng, p.theirs.dtype)
            try:
                theirs = getattr(np, name)(p.theirs, s)
            except (TypeError, OverflowError):
                continue
            add(functions(name)(p.ours, s), theirs, f"{name}(a{i}, {s})")
        elif kind < 0.6:
            add(p.ours.copy(), p.theirs.copy(), f"a{i}.copy()")
        elif kind < 0.7:
            one, two = shifted_keys(rng, p.theirs.shape)
            if rng.random() < 0.5 or p.theirs.dtype.kind in "b":
                text.append(f"a{i}[{one}] = a{i}[{two}]")
                p.theirs[one] = p.theirs[two]
                p.ours[one] = p.ours[two]
            else:
                text.append(f"a{i}[{one}] = a{i}[{two}] + a{i}[{one}]")
                p.theirs[one] = p.theirs[two] + p.theirs[one]
                p.ours[one] = p.ours[two] + p.ours[one]
        elif kind < 0.85:
            q = view(rng, p) if rng.random() < 0.6 else p
            candidates = [
                k
                for k, c in enumerate(pairs)
                if c.theirs.shape == q.theirs.shape or c.theirs.size == 1
            ]
            if candidates and rng.random() < 0.8:
                j = rng.choice(candidates)
                v = pairs[j]
                mine, other = v.ours, v.theirs
                label = f"a{j}"
            else:
                mine = other = scalar(rng, q.theirs.dtype)
                label = str(mine)
            try:
                with np.errstate(all="ignore"):
                    q.theirs[...] = other
            except (ValueError, OverflowError):
                continue
            text.append(f"(view of a{i}: {q.theirs.shape} {q.theirs.strides})[...] = {label}")
            q.ours[...] = mine
        else:
            s = scalar(rng, p.theirs.dtype)
            candidates = [k for k, c in enumerate(pairs) if c.theirs.shape == p.theirs.shape]
            j = rng.choice(candidates)
            mine, other = (pairs[j].ours, pairs[j].theirs) if rng.random() < 0.6 else (s, s)
            try:
                p.theirs += other
            except TypeError:
                continue
            text.append(f"a{i} += {f'a{j}' if mine is not s else s}")
            p.ours += mine
        if rng.random() < 0.15:
            k = rng.randrange(len(pairs))
            text.append(f"look at a{k}")
            str(pairs[k].ours)
    return pairs, text
