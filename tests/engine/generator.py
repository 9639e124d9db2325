"""What the lines of random programs are made of, and which of those that were drawn are kept.

Each line is drawn for the arrays that are there, and run in NumPy at once. Numbers are small integers, also in the
inexact types, and what grows past that is dropped. So every order of adding has the same bits, and what is compared is
which elements enter and where results go.
"""

# fmt: off
from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from .program import NUMPYS, run_line

SHAPES = [(), (0,), (1,), (3,), (7,), (12,), (0, 3), (1, 4), (3, 4), (4, 4), (5, 2), (6, 5), (2, 3, 2)]
SHAPES += [(4, 1, 3), (3, 2, 4), (2, 2, 2, 2)]
DTYPES = ["f8", "f8", "f8", "f4", "f2", "i8", "i8", "i4", "u1", "i2", "u8", "b1", "c16", "c8"]
LARGEST = {"f2": 200.0, "i1": 50.0, "u1": 200.0, "b1": 2.0}


class Generator:
    """Draws the lines of one program; a subclass says in ``kinds`` what there is to draw."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        self.rng = random.Random(seed)
        self.ranks = ranks
        self.names: dict[str, Any] = dict(NUMPYS)
        self.start: dict[str, numpy.ndarray] = {}
        self.arrays: list[str] = []
        self.exports = 0
        for k in range(3):
            self.start[f"a{k}"] = self.data()
            self.names[f"a{k}"] = self.start[f"a{k}"].copy()
            self.arrays.append(f"a{k}")
        self.whole = list(self.arrays)
        self.texts: list[str] = []
        self.kinds: list[Callable[[], str]] = []

    # what lines are made of

    def data(self) -> numpy.ndarray:
        shape, dtype = self.rng.choice(SHAPES), numpy.dtype(self.rng.choice(DTYPES))
        numbers = [self.rng.randint(-5, 5) for _ in range(int(numpy.prod(shape)))]
        made = numpy.array(numbers, "f8").reshape(shape)
        if dtype.kind == "c":
            made = made + 1j * numpy.roll(made, 1)
        return numpy.asarray(abs(made) if dtype.kind == "u" else made).astype(dtype)

    def pick(self, *, ndim: int = 0, kinds: str = "") -> tuple[str, numpy.ndarray]:
        good = [n for n in self.arrays if self.names[n].ndim >= ndim]
        good = [n for n in good if not kinds or self.names[n].dtype.kind in kinds] or self.arrays
        name = self.rng.choice(good[-6:] if self.rng.random() < 0.6 else good)
        return name, self.names[name]

    def like(self, array: numpy.ndarray) -> str:
        """Another array that broadcasts with this one, mostly."""
        good = [n for n in self.arrays if self.names[n].shape == array.shape]
        if good and self.rng.random() < 0.7:
            return self.rng.choice(good)
        if self.rng.random() < 0.3:
            return self.number(array.dtype)
        return self.pick()[0]

    def number(self, dtype: numpy.dtype) -> str:
        value = self.rng.randint(0, 5)
        if dtype.kind in "fc" and self.rng.random() < 0.3:
            return f"{value}.5"
        if self.rng.random() < 0.1:
            return f"np.{self.rng.choice(['float32', 'int16', 'uint8', 'float64', 'int64'])}({value})"
        return str(value)

    def key(self, shape: tuple[int, ...]) -> str:
        parts = []
        for n in shape:
            kind = self.rng.random()
            if kind < 0.15 and n:
                parts.append(str(self.rng.randrange(-n, n)))
            elif kind < 0.35:
                parts.append(":")
            else:
                ends = [self.rng.choice(["", str(self.rng.randint(-n, n))]) for _ in range(2)]
                step = self.rng.choice(["", "", "", ":2", ":-1", ":-1", ":-2", ":3"])
                parts.append(f"{ends[0]}:{ends[1]}{step}")
        while parts and self.rng.random() < 0.25:
            parts.pop()
        if self.rng.random() < 0.15:
            parts.insert(self.rng.randint(0, len(parts)), "None")
        if not parts or self.rng.random() < 0.1:
            parts.append("...")
        return ", ".join(parts)

    def indices(self, n: int) -> str:
        """An index array for an axis of this length."""
        count = self.rng.choice([0, 1, 2, 3, 5, n])
        shape = "" if self.rng.random() < 0.75 or count % 2 else ".reshape(2, -1)"
        values = [self.rng.randrange(-n, n) for _ in range(count)] if n else []
        if self.rng.random() < 0.03:
            values.append(n)
        if not values:
            return "np.array([], int)"
        if self.rng.random() < 0.3 and not shape:
            return str(values)
        return f"np.array({values}){shape}" if len(values) % 2 == 0 else f"np.array({values})"

    def fancy_key(self, array: numpy.ndarray) -> str:
        shape, kind = array.shape, self.rng.random()
        if kind < 0.2:
            number = self.rng.randint(-2, 3)
            name = self.like(array) if self.rng.random() < 0.3 else "$"
            return f"{name} {self.rng.choice(['>', '<', '==', '!='])} {number}"
        if kind < 0.35 and shape:
            bits = [self.rng.random() < 0.5 for _ in range(shape[0])]
            rest = self.rng.choice(["", "", ", ::2", ", 0", ", ..."])
            return f"np.array({bits}, bool){rest}"
        if kind < 0.45:
            good = [n for n in self.arrays if self.names[n].dtype.kind in "iu" and self.names[n].ndim < 3]
            if good and shape and shape[0]:
                return f"{self.rng.choice(good)} % {shape[0]}"
        if not shape:
            return self.rng.choice(["True", "False", "np.array(True)", "()"])
        parts = [self.indices(n) if self.rng.random() < 0.6 else self.rng.choice([":", "::2", "0", "::-1"]) for n in shape]
        if len(shape) > 1 and self.rng.random() < 0.3:
            parts = [f"np.array({[self.rng.randrange(-n, n) for _ in range(3)] if n else []}, int)" for n in shape[:2]]
        return ", ".join(parts[: self.rng.randint(1, len(parts))])

    def axis(self, ndim: int, *, several: bool = False) -> str:
        kind = self.rng.random()
        if kind < 0.03:
            return str(ndim + 1)
        if ndim == 0 or kind < 0.25:
            return "None"
        if several and kind < 0.5:
            return str(tuple(self.rng.sample(range(-ndim, 0), self.rng.randint(0, ndim))))
        return str(self.rng.randrange(-ndim, ndim))

    def one_axis(self, ndim: int) -> str:
        return str(self.rng.randrange(-ndim, ndim)) if ndim else "0"

    def mask(self, shape: tuple[int, ...]) -> str:
        if shape and self.rng.random() < 0.3:
            shape = shape[self.rng.randrange(len(shape)) :]
        bits = [self.rng.random() < 0.6 for _ in range(int(numpy.prod(shape)))]
        return f"np.array({bits}, bool).reshape({shape})"

    # the program

    def evaluate(self, text: str) -> Any:
        with numpy.errstate(all="ignore"):
            return eval(text, dict(self.names))

    def sane(self, value: Any) -> bool:
        """True if numbers are still small, and arrays too."""
        if not isinstance(value, numpy.ndarray):
            return True
        if value.dtype.kind not in "fciub" or value.dtype.itemsize > 16 or value.size > 400 or value.ndim > 6:
            return False
        if value.dtype == numpy.longdouble:
            return False
        largest = LARGEST.get(value.dtype.str[1:], 5000.0)
        with numpy.errstate(all="ignore"):
            whole = (
                numpy.isfinite(value).all()
                and (numpy.asarray(value * 8) == numpy.floor(value.real * 8) + (1j * numpy.floor(value.imag * 8) if value.dtype.kind == "c" else 0)).all()
            )
            return bool(whole and (abs(value.astype("c16")) <= largest).all())

    def step(self) -> None:
        """Draw lines until one is fit, and keep it."""
        for _ in range(20):
            text = self.rng.choice(self.kinds)()
            new = f"a{len(self.arrays)}" if "{}" in text else None
            text = text.replace("{}", new or "")
            trial = dict(self.names)
            before = {k: self.names[k].copy() for k in self.arrays}
            bases = {id(self.root(self.names[k])): self.root(self.names[k]) for k in self.arrays}
            saved = [(v, v.copy()) for v in bases.values() if isinstance(v, numpy.ndarray) and may_write(v)]
            shapes = {k: self.names[k].shape for k in self.arrays}
            _, error = run_line(text, trial)
            value = trial.get(new) if new else None
            fits = all(self.sane(trial[k]) for k in self.arrays) and self.sane(value)
            if isinstance(error, (NameError, SyntaxError, DeprecationWarning)):
                fits = False
            if error is not None and any(not numpy.array_equal(before[k], self.names[k], equal_nan=before[k].dtype.kind != "V") for k in self.arrays):
                fits = False  # NumPy itself gave up half-way
            if not fits:
                for k in self.arrays:
                    if self.names[k].shape != shapes[k]:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            self.names[k].shape = shapes[k]
                for array, old in saved:
                    flags = array.flags.writeable
                    array.setflags(write=True)
                    array[...] = old
                    array.setflags(write=flags)
                continue
            self.names = trial
            if new and isinstance(value, numpy.ndarray):
                self.arrays.append(new)
                if "moved(" in text:
                    self.whole.append(new)
            elif new:
                text = text.replace(f"{new} =", "v =", 1)
                self.names.pop(new, None)
            self.texts.append(text)
            return

    @staticmethod
    def root(array: Any) -> Any:
        while isinstance(array, numpy.ndarray) and isinstance(array.base, numpy.ndarray):
            array = array.base
        return array


def may_write(array: numpy.ndarray) -> bool:
    """True if an array's memory can be put back."""
    flag = array.flags.writeable
    try:
        array.setflags(write=True)
    except ValueError:
        return False
    array.setflags(write=flag)
    return True


def outcome_shape(call) -> tuple[int, ...] | None:
    """The shape of what a call returns, or nothing where it fails."""
    try:
        return numpy.shape(call())
    except Exception:
        return None
