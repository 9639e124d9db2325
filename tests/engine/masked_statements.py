"""Programs whose arrays all have one shape, so that their loops meet: masks above all, and whoever reads what others store.

Lines of other programs seldom share loops, for their arrays have all kinds of shapes. Here one shape is drawn for a program, and
lines assign under masks that have names, through views of views of the same memory, into fields of structured arrays, by
``out=`` and ``where=``, between dtypes; old values die where names are bound anew; and mostly nobody looks before the end.
"""

# fmt: off
from __future__ import annotations

from typing import Any

import numpy

from .generator import Generator

SHAPES = [(37,), (64,), (5,), (131,), (6, 7), (9, 16), (3, 40), (40, 3), (1, 33), (33, 1), (4, 5, 6), (2, 3, 17)]
DTYPES = ["f8", "f8", "f8", "f8", "f4", "i8", "i8", "i4", "u1", "i2", "b1", "c16"]
RECORD = "[('x', 'f8'), ('y', 'i4'), ('z', 'f4'), ('k', '?')]"


class MaskedStatements(Generator):
    """Draws such lines."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        super().__init__(seed, exports=exports, ranks=ranks)
        self.shape = self.rng.choice(SHAPES)
        self.start, self.arrays = {}, []
        few = self.rng.choice([["f8"], ["f8"], ["f8", "i8", "b1"], DTYPES, DTYPES])
        for k in range(4):
            dtype = numpy.dtype("b1" if k == 3 else self.rng.choice(few))
            numbers = numpy.array([self.rng.randint(-5, 5) for _ in range(int(numpy.prod(self.shape)))]).reshape(self.shape)
            self.start[f"a{k}"] = (numbers > 1) if k == 3 else (abs(numbers) if dtype.kind == "u" else numbers).astype(dtype)
            self.names[f"a{k}"] = self.start[f"a{k}"].copy()
            self.arrays.append(f"a{k}")
        self.whole = list(self.arrays)
        self.kinds = [self.made, self.made, self.bound, self.bound, self.masks, self.masked, self.masked, self.masked, self.masked]
        self.kinds += [self.chosen, self.in_place, self.in_place, self.through, self.through, self.shifted, self.shifted]
        self.kinds += [self.lines, self.lines, self.record, self.field, self.field, self.frozen, self.turns, self.look]
        if exports:
            self.kinds += [self.export, self.threads]

    def sane(self, value: Any) -> bool:
        if isinstance(value, numpy.ndarray) and value.dtype.kind == "V":
            return all(super(MaskedStatements, self).sane(value[name]) for name in value.dtype.names)
        return super().sane(value)

    # arrays, and other ways to say them

    def one(self, kinds: str = "fiubc") -> str:
        """An array of the shape."""
        good = [n for n in self.arrays if self.names[n].shape == self.shape and self.names[n].dtype.kind in kinds]
        return self.rng.choice(good[-5:] if self.rng.random() < 0.6 and good else good or ["a0"])

    def target(self) -> str:
        """One that may be written."""
        good = [n for n in self.arrays if self.names[n].shape == self.shape and self.names[n].dtype.kind in "fiuc"]
        good = [n for n in good if self.names[n].flags.writeable] or ["a0"]
        return self.rng.choice(good[-5:] if self.rng.random() < 0.6 else good)

    def same(self, text: str) -> str:
        """The same elements in the same places, said in another way, mostly."""
        d = len(self.shape)
        ways = ["{}", "{}", "{}[:]", "{}[...]", "{}[::-1][::-1]", "{}.view()", f"{{}}.reshape({self.shape})", "{}.T.T", f"{{}}.reshape(-1).reshape({self.shape})"]
        ways += [f"np.ravel({{}}).reshape({self.shape})", "{}[None][0]", "{}[..., None][..., 0]", "np.flip(np.flip({}))", f"{{}}.swapaxes(0, {d - 1}).swapaxes(0, {d - 1})"]
        if 1 in self.shape:
            ways += [f"{{}}.squeeze().reshape({self.shape})"]
        return self.rng.choice(ways).format(text)

    def other(self, text: str) -> str:
        """The same elements in other places."""
        ways = ["{}[::-1]", "np.flip({})", "np.roll({}, 1)", "{}[..., ::-1]"]
        if self.shape == self.shape[::-1]:
            ways += ["{}.T"]
        return self.rng.choice(ways).format(text)

    def mask(self) -> str:
        kind = self.rng.random()
        names = [n for n in self.arrays if self.names[n].shape == self.shape and self.names[n].dtype.kind == "b"]
        if kind < 0.6 and names:
            name = self.rng.choice(names)
            return name if self.rng.random() < 0.8 else f"~{name}"
        a = self.one("fiu")
        return f"({a} {self.rng.choice(['>', '<', '>=', '=='])} {self.rng.randint(-2, 3)})" if kind < 0.8 else f"({self.one('fiu')} > {self.one('fiu')})"

    def value(self, depth: int = 2) -> str:
        """An expression."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.25:
            name = self.one("fiu" if self.rng.random() < 0.9 else "fiubc")
            return name if self.rng.random() < 0.6 else self.same(name)
        a, b = self.value(depth - 1), self.value(depth - 1)
        if kind < 0.4:
            return f"({a} + {self.rng.randint(1, 4)})"
        if kind < 0.55:
            return f"({a} {self.rng.choice('+-')} {b})"
        if kind < 0.65:
            return f"np.where({self.mask()}, {a}, {b if self.rng.random() < 0.5 else self.rng.randint(-3, 3)})"
        if kind < 0.72:
            return f"np.{self.rng.choice(['maximum', 'minimum', 'fmax'])}({a}, {b})"
        if kind < 0.8:
            return f"({a} {self.rng.choice(['% 7', '// 2', '* 2', '* 0.5', '- 1'])})"
        if kind < 0.85:
            return f"{self.other(self.one())}"
        if kind < 0.9:
            return f"{self.one('fiub')}.astype('{self.rng.choice(['f8', 'f4', 'i4', 'i8', 'u1'])}')"
        if kind < 0.94:
            return f"({a} + {self.one('fi')}.{self.rng.choice(['max', 'min'])}())"
        return f"{self.rng.choice(['np.abs', 'np.square', 'np.negative', 'np.sign'])}({a})"

    # lines

    def made(self) -> str:
        return f"{{}} = {self.value(3)}"

    def bound(self) -> str:
        """A name is bound anew, so that what it was may be written over."""
        name = self.one("fiuc")
        return f"{name} = {self.value() if self.rng.random() < 0.6 else f'({name} {self.rng.choice(chr(43) + chr(45))} {self.value(1)})'}"

    def masks(self) -> str:
        a, b = self.mask(), self.mask()
        return f"{{}} = {self.rng.choice([a, f'{a} & {b}', f'{a} | {b}', f'~{a}', f'np.logical_xor({a}, {b})', f'np.isfinite({self.one()})'])}"

    def assigned(self, target: str, reading: str, m: str) -> str:
        """Under a mask, what is read from the same memory, or from others."""
        v, n, other = self.value(1), self.rng.randint(-3, 3), self.value(1)
        lines = [f"{target}[{m}] = {n}", f"{target}[{m}] += {n}", f"{target}[{m}] = {reading}[{m}] + {n}", f"{target}[{m}] = {v}[{m}]", f"{target}[{m}] = {reading}[{m}] + {v}[{m}]"]
        lines += [f"{target}[{m}] {self.rng.choice(['+=', '-=', '*='])} {v}[{m}]", f"np.copyto({target}, {reading} + {n}, where={m}, casting='unsafe')", f"np.copyto({target}, {v}, where={m}, casting='unsafe')"]
        lines += [f"np.putmask({target}, {m}, {reading} * 2)", f"np.{self.rng.choice(['add', 'subtract', 'maximum'])}({reading}, {v}, out={target}, where={m})", f"np.add({v}, {other}, out={target}, where={m}, casting='unsafe')"]
        lines += [f"{target}[{m}] = {reading}[{m}] // ({v}[{m}] % 3 + 1)", f"np.floor_divide({reading}, 2, out={target}, where={m})", f"np.multiply({reading}, 2, {target}, where={m})"]
        lines += [f"{target}[{m}] = ({v} + {reading})[{m}]", f"{target}[{m}] = {v}.max()"]
        return self.rng.choice(lines)

    def masked(self) -> str:
        name = self.target()
        return self.assigned(name if self.rng.random() < 0.8 else self.same(name), self.same(name) if self.rng.random() < 0.7 else self.one("fiu"), self.mask())

    def chosen(self) -> str:
        name = self.target()
        m, v = self.mask(), self.value(1)
        lines = [f"{name}[...] = np.where({m}, {v}, {self.same(name)})", f"{name}[...] = np.where({m}, {self.same(name)} + 1, {v})", f"{name} = np.where({m}, {name}, {v})"]
        lines += [f"{name}[...] = np.select([{m}, {self.mask()}], [{v}, {name}], 0)", f"{name}[...] = np.clip({v}, -3, {self.same(name)})"]
        return self.rng.choice(lines)

    def in_place(self) -> str:
        name = self.target()
        v = self.value(1) if self.rng.random() < 0.7 else self.other(name)
        return self.rng.choice([f"{name} {self.rng.choice(['+=', '-=', '*=', '//='])} {v}", f"{name}[...] = {v}", f"{name} %= 7", f"np.{self.rng.choice(['add', 'subtract', 'minimum'])}({self.same(name)}, {v}, out={name}, casting='unsafe')"])

    def through(self) -> str:
        """Names for views, flat ones too, and what is written through them."""
        name, n = self.target(), int(numpy.prod(self.shape))
        flat = [k for k in self.arrays if self.names[k].shape == (n,) and len(self.shape) > 1 and self.names[k].flags.writeable and self.names[k].dtype.kind in "fiuc"]
        if flat and self.rng.random() < 0.6:
            one, m = self.rng.choice(flat), f"np.ravel({self.mask()})"
            lines = [f"{one}[{m}] = np.ravel({name})[{m}] + 1", f"{one}[{m}] = {one}[{m}] * 2", f"{one} += np.ravel({self.value(1)})", f"np.add({one}, 1, out={one}, where={m})"]
            lines += [f"{one}[1:][{m}[1:]] = {one}[:-1][{m}[1:]]", f"{one}[::-1][{m}] -= 1", f"{one}[:] = {one}[::-1]", f"{name}.reshape(-1)[{m}] = {one}[{m}] + 1"]
            return self.rng.choice(lines)
        return f"{{}} = {self.rng.choice([f'{name}.reshape(-1)', f'np.ravel({name})', f'{name}[::-1]', f'{name}.T', f'{name}[...]', f'{name}[1:]', f'{name}[..., 1:-1]', f'{name}.copy()', f'{name}[::-1][::-1]', self.same(name)])}"

    def shifted(self) -> str:
        """Neighbours, borders, and masks over a part."""
        name, other, m = self.target(), self.one("fiu"), self.mask()
        d = len(self.shape)
        keys = [("1:", ":-1"), (":-1", "1:"), ("1:-1", "2:"), ("1:-1", ":-2"), ("::2", "::2"), ("1:", "1:"), (":-1", "::-1"), ("..., 1:", "..., :-1"), ("..., :-1", "..., 1:"), ("1:-1", "1:-1")]
        here, there = self.rng.choice(keys)
        if there == "::-1":
            there = "::-1][1:"
        if d > 1 and self.rng.random() < 0.4:
            here, there = self.rng.choice([("1:-1, 1:-1", "1:-1, 2:"), ("1:-1, 1:-1", ":-2, 1:-1"), ("1:, :-1", ":-1, 1:"), ("0", "-1"), (":, 0", ":, -1"), (":, -1", ":, 1"), ("-1", "0")])
        n = self.rng.randint(-2, 3)
        lines = [f"{name}[{here}] = {name}[{there}]", f"{name}[{here}] += {other}[{there}]", f"{name}[{here}] = {other}[{there}] + {name}[{here}]", f"{name}[{here}] = {name}[{there}] + {other}[{here}]"]
        lines += [f"{name}[{here}][{m}[{here}]] = {n}", f"{name}[{here}][{m}[{here}]] = {name}[{there}][{m}[{here}]]", f"{name}[{here}][{m}[{here}]] += {other}[{there}][{m}[{here}]]"]
        lines += [f"np.add({name}[{there}], {n}, out={name}[{here}], where={m}[{here}])", f"np.copyto({name}[{here}], {other}[{there}], where={m}[{there}], casting='unsafe')", f"{name}[{here}] = np.where({m}[{there}], {name}[{there}], {name}[{here}])"]
        lines += [f"{name}[{here}] = {n}"]
        return self.rng.choice(lines)

    def lines(self) -> str:
        """Several statements that make a loop together: an update of an array, then masks over it."""
        name, other, m = self.target(), self.target(), self.mask()
        v, n = self.value(1), self.rng.randint(1, 3)
        first = self.rng.choice([f"{name} *= 2", f"{name} += {v}", f"{name}[...] = {v}", f"{name} = {name} + {v}", f"{name}[...] = {n}", f"{name} = {v} + 0", f"{name} -= {n}"])
        second = self.assigned(name, self.same(name), m)
        third = self.rng.choice([self.assigned(other, self.same(name), m), self.assigned(name, self.same(other), m), f"{other}[{m}] = {name}[{m}]", f"{other} += {name}", f"{name}[~{m}] = {n}", f"s = {name}.sum(); {name}[{m}] = s % 5", f"{other}[...] = {name}"])
        lines = [first, second, third]
        if self.rng.random() < 0.2:
            self.rng.shuffle(lines)
        return "; ".join(lines[: self.rng.randint(2, 3)])

    # fields

    def records(self) -> list[str]:
        return [n for n in self.arrays if self.names[n].dtype.kind == "V"]

    def record(self) -> str:
        good = self.records()
        if not good or self.rng.random() < 0.2:
            return f"{{}} = np.zeros({self.shape}, {RECORD})"
        one = self.rng.choice(good)
        return f"{{}} = {self.rng.choice([f'{one}.copy()', f'{one}[chr(120)]', f'{one}[chr(121)]', f'{one}[::-1]', f'{one}[chr(122)]', f'{one}[chr(107)]'])}"

    def field(self) -> str:
        good = self.records()
        if not good:
            return f"{{}} = np.ones({self.shape}, {RECORD})"
        one, m, v = self.rng.choice(good), self.mask(), self.value(1)
        if self.names[one].shape != self.shape:
            return f"v = {one}.shape"
        f, g = self.rng.choice("xyz"), self.rng.choice("xyz")
        lines = [f"{one}['{f}'][...] = {v}", f"{one}['{f}'] = {v}", f"{one}['{f}'][{m}] = {self.rng.randint(0, 4)}", f"{one}['{f}'][{m}] = {one}['{g}'][{m}]", f"{one}['{f}'] += 1", f"{one}['k'] = {m}", f"{one}['k'][...] = {m}"]
        lines += [f"{{}} = {one}['{f}'] + {one}['{g}']", f"{one}['{f}'][1:] = {one}['{f}'][:-1]", f"np.add({one}['{f}'], 1, out={one}['{f}'], where={one}['k'])", f"{one}[{m}] = {one}[::-1][{m}]", f"{self.target()}[{one}['k']] = {one}['{f}'][{one}['k']]"]
        lines += [f"{one}[['x', 'y']][...] = (1, 2)", f"{one}[...] = (1, 2, 3, True)", f"{one}['{f}'].fill(3)", f"{one}[::2]['{f}'] += {one}[::2]['{g}'].astype('f4')" if f != "y" else f"{one}[::2]['y'] = 4"]
        return self.rng.choice(lines)

    # others

    def frozen(self) -> str:
        """A read-only array, its copy, and what is written into that, as programs do that have no arrays to change."""
        name, m = self.target(), self.mask()
        lines = [f"{name}.flags.writeable = False; {name} = {name}.copy(); {name}[{m}] = 1; {name}.flags.writeable = False; {name} = {name}.copy()"]
        lines += [f"{{}} = {name}.copy()", f"c = {name}.copy(); c[{m}] = 0; {name} = c", f"c = {name}.copy(); c[1:] = {name}[:-1]; {name} = c"]
        return self.rng.choice(lines)

    def turns(self) -> str:
        """Turns of a loop, slices that move among them."""
        name, other, m = self.target(), self.one("fiu"), self.mask()
        n = self.shape[0]
        bodies = [f"{name}[k:] += 1", f"{name}[k:][{m}[k:]] = k", f"{name}[k] = {name}[k - 1] + 1", f"{name}[:k + 1][{m}[:k + 1]] -= 1", f"np.add({name}[k:], 1, out={name}[k:], where={m}[k:])", f"{name}[k:][{m}[k:]] = {name}[k:][{m}[k:]] + 1"]
        bodies += [f"{name}[..., k:] = {name}[..., :-k or None] if {name}[..., k:].shape == {name}[..., :-k or None].shape else k", f"{name}[{m}] = {self.same(name)}[{m}] + 1", f"{name}[k:] = np.where({m}[k:], {other}[k:], {name}[k:])", f"t = {name}[k:].copy(); t[{m}[k:]] = 0; {name}[k:] = t"]
        bodies += [f"{name}[1:-1] = ({name}[2:] + {name}[:-2]) // 2", f"{name}[{m}] = 1; {name}[~{m}] = {other}[~{m}]", f"v.append({name}[k:].sum())", f"{name} = {name} + 1"]
        some = self.rng.sample(bodies, self.rng.randint(1, 3))
        return "\n".join(["v = []", f"for k in range({self.rng.randint(0, 1)}, {min(n, self.rng.choice([3, 4, 6]))}):", *["    " + line for line in some]])

    def look(self) -> str:
        name, m = self.one(), self.mask()
        return f"v = {self.rng.choice([f'{name}.sum()', f'{self.value()}.max()', f'{name}[{m}]', f'{name}[{m}].sum()', f'{self.value(1)}[{m}]', f'np.count_nonzero({m})', f'{self.value()}.sum(axis=0)', f'{name} + 0'])}"

    def threads(self) -> str:
        """Looks of several threads at what is pending, before and after this thread writes."""
        name, m = self.target(), self.mask()
        looks = [f"lambda: {name} + 0", f"lambda: {name}[{m}].sum()", f"lambda: ({self.value(1)}).max()", f"lambda: {name}.sum()", f"lambda: {self.value(1)}[{m}]"]
        return f"{self.assigned(name, self.same(name), m)}; v = at_once({', '.join(self.rng.sample(looks, 3))})"

    def export(self) -> str:
        self.exports += 1
        return f"e{self.exports} = exported({self.one()})"
