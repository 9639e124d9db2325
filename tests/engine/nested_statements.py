"""More kinds of lines for random programs, drawn in between those of ``statements.py``.

Index arrays that lie on ranks, operations on views of views, outputs that overlap what they are computed from,
random streams, scans, products of every shape, sorting through views, and statements of several assignments.
"""

# fmt: off
from __future__ import annotations

from typing import Any

import numpy

from . import statements


class NestedStatements(statements.Statements):
    """Draws lines of both files."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        super().__init__(seed, exports=exports, ranks=ranks)
        self.kinds += [self.index_arrays, self.spread_get, self.spread_get, self.spread_put, self.spread_put]
        self.kinds += [self.put_and_take, self.many_pieces, self.widths, self.sorting, self.sorting_views]
        self.kinds += [self.products, self.products, self.contracted, self.scans, self.masked_calls, self.overlaps]
        self.kinds += [self.views_of_views, self.views_of_views, self.reshaped_views, self.streams, self.drawn]
        self.kinds += [self.folds, self.folds, self.statements, self.several_outputs, self.lanes, self.spread_mistakes]
        self.kinds += [self.aliases, self.windows, self.counting, self.by_elements]

    def there(self, text: str) -> str:
        """Perhaps the same array at another place."""
        return f"moved({text}, {self.rng.randint(0, 99)})" if self.ranks and self.rng.random() < 0.5 else text

    def chain(self, name: str, *, least: int = 0) -> str:
        """A view of a view of an array."""
        for _ in range(8):
            text, a = name, self.names[name]
            for _ in range(self.rng.randint(1, 3)):
                kind = self.rng.random()
                if kind < 0.2:
                    step = ".T"
                elif kind < 0.3 and a.ndim > 1:
                    step = f".transpose({self.rng.sample(range(a.ndim), a.ndim)})"
                elif kind < 0.4 and a.ndim > 1:
                    step = ".swapaxes(0, -1)"
                elif kind < 0.45 and a.dtype.kind == "c":
                    step = self.rng.choice([".real", ".imag"])
                elif kind < 0.5 and a.size:
                    step = ".reshape(-1)"
                else:
                    step = f"[{self.key(a.shape)}]"
                try:
                    got = eval("a" + step, {"a": a, "np": numpy})
                except Exception:
                    continue
                if isinstance(got, numpy.ndarray) and numpy.may_share_memory(got, a) and got.size:
                    text, a = text + step, got
            if a.ndim >= least:
                return text
        return name

    def value_of(self, text: str) -> Any:
        try:
            return self.evaluate(text)
        except Exception:
            return numpy.zeros(())

    def fit(self, array: Any) -> str:
        """Something that broadcasts to this array."""
        kind = self.rng.random()
        same = [n for n in self.arrays if self.names[n].shape == array.shape]
        if kind < 0.3 and same:
            return self.rng.choice(same)
        if kind < 0.6 and array.size:
            return self.there(f"np.arange({array.size}).reshape({array.shape})")
        if kind < 0.75 and array.ndim:
            return f"np.arange({array.shape[-1]})"
        return self.number(array.dtype)

    def places(self, n: int, count: int | None = None) -> str:
        """Indices of an axis, as an array that may lie on ranks."""
        if n == 0:
            return "np.array([], int)"
        count = self.rng.choice([1, 2, 4, n, 2 * n]) if count is None else count
        values = [self.rng.randrange(-n, n) for _ in range(count)]
        if self.rng.random() < 0.02 and values:
            values[-1] = n
        shape = ".reshape(2, -1)" if count % 2 == 0 and count and self.rng.random() < 0.3 else ""
        return self.there(f"np.array({values}){shape}")

    # index arrays

    def index_arrays(self) -> str:
        n = self.rng.choice([1, 3, 5, 7, 12])
        kind = self.rng.choice(["np.arange({0})[::-1]", "np.arange({0}) // 2", "np.array({1})", "np.random.default_rng({2}).permutation({0})"])
        values = [self.rng.randrange(-n, n) for _ in range(n)]
        return "{} = " + self.there(kind.format(n, values, self.rng.randint(0, 99)))

    def spread_key(self, a: Any, name: str) -> str:
        if not a.ndim:
            return self.rng.choice([f"{name} > 0", "..."])
        kind = self.rng.random()
        if kind < 0.2:
            return self.there(f"({name} > {self.rng.randint(-2, 2)})")
        if kind < 0.3:
            bits = [self.rng.random() < 0.5 for _ in range(a.shape[0])]
            return self.there(f"np.array({bits}, bool)")
        if kind < 0.4 and a.ndim > 1:
            bits = [self.rng.random() < 0.5 for _ in range(a.shape[-1])]
            return "..., " + self.there(f"np.array({bits}, bool)")
        if kind < 0.55 and a.ndim > 1:
            return f"np.ix_({', '.join(self.places(n, self.rng.randint(1, 3)).replace('.reshape(2, -1)', '') for n in a.shape)})"
        axis = self.rng.randrange(a.ndim)
        parts = [self.rng.choice([":", ":", "::-1", "1:", "::2"]) for _ in a.shape]
        parts[axis] = self.places(a.shape[axis])
        if kind > 0.8 and a.ndim > 1:
            count = self.rng.randint(1, 4)
            parts[axis] = self.places(a.shape[axis], count).replace(".reshape(2, -1)", "")
            other = self.rng.choice([k for k in range(a.ndim) if k != axis])
            parts[other] = self.places(a.shape[other], count).replace(".reshape(2, -1)", "")
        if self.rng.random() < 0.15:
            parts.insert(self.rng.randint(0, len(parts)), "None")
        return ", ".join(parts)

    def spread_get(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.4 else name
        return f"{{}} = {text}[{self.spread_key(self.value_of(text), text)}]"

    def spread_put(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.4 else name
        key = self.spread_key(self.value_of(text), text)
        got = self.value_of(f"{text}[{key}]")
        value = self.fit(got) if isinstance(got, numpy.ndarray) else "1"
        return f"{text}[{key}] {self.rng.choice(['=', '=', '+=', '*='])} {value}"

    def put_and_take(self) -> str:
        name, a = self.pick()
        n, mode = a.size, self.rng.choice(["", ", mode='wrap'", ", mode='clip'"])
        axis = self.one_axis(a.ndim)
        m = a.shape[int(axis)] if a.ndim else 1
        lines = [f"np.put({name}, {self.places(n)}, {self.fit(a)}{mode})", f"{{}} = np.take({name}, {self.places(n)}{mode})"]
        lines += [f"{{}} = np.take({name}, {self.places(m)}, axis={axis}{mode})", f"{{}} = {name}.take({self.places(m)}, axis={axis}{mode})"]
        text = self.chain(name)
        v = self.value_of(text)
        lines += [f"np.put({text}, {self.places(v.size)}, [1, 2, 3]{mode})", f"{{}} = np.take({text}, {self.places(v.size)}{mode})"]
        bits = self.there(f"np.array({[self.rng.random() < 0.5 for _ in range(max(0, m - self.rng.randint(0, 1)))]}, bool)")
        lines += [f"{{}} = np.compress({bits}, {name}, axis={axis})", f"{{}} = np.compress({bits}, {name})"]
        lines += [f"{{}} = np.extract({self.there(f'{name} > 0')}, {name})", f"np.place({text}, {text} > 0, [1, 2])"]
        lines += [f"{{}} = np.take_along_axis({name}, {self.there(f'np.argsort({name}, axis={axis}, kind=chr(115))')}, axis={axis})"]
        lines += [f"np.put_along_axis({name}, {self.there(f'np.argmax({name}, axis={axis}, keepdims=True)')}, 5, axis={axis})"]
        lines += [f"np.add.at({text}, {self.places(v.shape[0] if v.ndim else 0)}, {self.number(a.dtype)})", f"np.subtract.at({name}, {self.there(f'({name} > 0)')}, 1)"]
        return self.rng.choice(lines)

    # pieces

    def many_pieces(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        one = self.one_axis(a.ndim)
        pieces = ", ".join(self.chain(name) if self.rng.random() < 0.4 else n for n in [name, other, name, other][: self.rng.randint(1, 4)])
        outs = [n for n in self.arrays if self.names[n].size == 2 * a.size]
        counts = self.there(f"np.array({[self.rng.randint(0, 3) for _ in range(a.shape[int(one)] if a.ndim else 1)]})")
        lines = [f"np.concatenate([{pieces}], axis={one})", f"np.concatenate([{pieces}], axis=None)", f"np.stack([{pieces}], axis={one})"]
        lines += [f"np.repeat({name}, {counts}, axis={one})", f"np.repeat({name}, {self.rng.randint(0, 3)}, axis={one})"]
        lines += [f"np.tile({self.chain(name)}, {tuple(self.rng.randint(0, 3) for _ in range(self.rng.randint(1, 3)))})"]
        lines += [f"np.hstack([{pieces}])", f"np.vstack([{pieces}])", f"np.column_stack([{pieces}])", f"np.dstack([{pieces}])"]
        lines += [f"np.insert({name}, {self.places(a.size, 2)}, 7)", f"np.delete({name}, {self.places(a.size, 2)})", f"np.block([[{name}, {name}], [{name}, {name}]])"]
        lines += [f"np.insert({name}, {self.rng.randint(0, 2)}, {self.number(a.dtype)}, axis={one})", f"np.delete({name}, slice(None, None, 2), axis={one})"]
        lines += [f"np.array_split({name}, {self.rng.randint(1, 4)}, axis={one})[{self.rng.randint(-1, 0)}]", f"np.unstack({name}, axis={one})[0]"]
        lines += [f"np.split({name}, [1, 2], axis={one})[1]", f"np.resize({name}, ({self.rng.randint(0, 5)}, 3))", f"np.trim_zeros({name})"]
        if outs:
            lines += [f"np.concatenate([{name}, {name}], axis={one}, out={self.rng.choice(outs)})"]
        return f"{{}} = {self.rng.choice(lines)}"

    def widths(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.4 else name
        n = self.value_of(text).ndim
        pairs = tuple((self.rng.randint(0, 4), self.rng.randint(0, 4)) for _ in range(n))
        mode = self.rng.choice(["edge", "wrap", "reflect", "constant", "symmetric", "empty", "minimum", "maximum"])
        if mode == "empty":
            mode = "constant"
        n = max(n, 1)  # NumPy does not roll along no axes
        shifts, axes = tuple(self.rng.randint(-9, 9) for _ in range(n)), tuple(range(n))
        lines = [f"np.pad({text}, {pairs}, mode='{mode}')", f"np.pad({text}, {pairs}, constant_values=4)", f"np.roll({text}, {shifts}, {axes})"]
        lines += [f"np.roll({text}, {self.rng.randint(-20, 20)})", f"np.flip({text}, {axes[:1]})", f"np.rot90({text}, {self.rng.randint(-3, 3)})"]
        lines += [f"np.rollaxis({text}, -1)", f"np.fft.fftshift({text})", f"np.fft.ifftshift({text}, axes={axes[:1]})"]
        return f"{{}} = {self.rng.choice(lines)}"

    # sorting

    def sorting(self) -> str:
        name, a = self.pick()
        text = self.chain(name) if self.rng.random() < 0.4 else name
        axis = self.rng.choice([self.one_axis(self.value_of(text).ndim), "None", "-1"])
        kth = self.rng.randint(0, 2)
        lines = [f"{{}} = np.sort({text}, axis={axis})", f"{{}} = np.argsort({text}, axis={axis}, stable=True)"]
        lines += [f"{{}} = np.sort(np.partition({text}, {kth}, axis={axis}).take(range({kth}), axis=-1), axis=None)", f"{{}} = np.partition(np.ravel({text}), {kth})[{kth}:{kth + 1}]"]
        flags = ", ".join(f"return_{w}=True" for w in self.rng.sample(["index", "inverse", "counts"], self.rng.randint(1, 3)))
        lines += [f"v = np.unique({text}, {flags})", f"v = np.unique({text}, {flags}, axis={self.one_axis(a.ndim)})", f"v = np.unique_all({text})"]
        lines += [f"{{}} = np.searchsorted(np.sort(np.ravel({text})), {self.there(name)}, sorter=None)", f"{{}} = np.lexsort(({text}, {text}))"]
        lines += [f"v = np.searchsorted(np.ravel({name}), {self.fit(a)}, sorter=np.argsort(np.ravel({name}), stable=True))", f"{{}} = np.sort(np.unique_values({text}))"]
        lines += [f"{{}} = np.setxor1d({text}, {self.pick()[0]})", f"v = np.intersect1d({text}, {self.pick()[0]}, return_indices=True)", f"{{}} = np.union1d({text}, {self.pick()[0]})"]
        lines += [f"{{}} = np.isin({text}, {self.pick()[0]}, invert=True)", f"{{}} = np.digitize({name}, {self.there('np.array([-3, 0, 1])')}, right=True)", f"{{}} = np.ravel({text})[np.argsort(np.ravel({text}), stable=True)[::-1]]"]
        return self.rng.choice(lines)

    def sorting_views(self) -> str:
        name, _ = self.pick(ndim=1)
        text = self.chain(name, least=1)
        return f"{text}.sort(axis={self.one_axis(self.value_of(text).ndim)})"

    # products

    def factor(self, shape: tuple[int, ...], kinds: tuple[str, ...] = ("i8", "f8", "f4", "c8", "i4", "b1")) -> str:
        kind = self.rng.choice(kinds)
        size = int(numpy.prod(shape))
        made = f"np.array({[self.rng.randint(-2, 3) for _ in range(size)]}, '{kind}').reshape({shape})"
        made = self.there(made)
        if len(shape) > 1 and self.rng.random() < 0.3:
            back = f"np.array({[self.rng.randint(-2, 3) for _ in range(size)]}, '{kind}').reshape({(*shape[:-2], shape[-1], shape[-2])})"
            made = f"{self.there(back)}.swapaxes(-1, -2)"
        return made

    def products(self) -> str:
        m, k, n = (self.rng.choice([0, 1, 2, 3, 5, 7]) for _ in range(3))
        batch = self.rng.choice([(), (), (), (2,), (1,), (3, 1), (0,)])
        other = self.rng.choice([(), (), batch, (2,), (1, 2)])
        one = self.factor((*batch, m, k)) if self.rng.random() < 0.85 else self.factor((k,))
        two = self.factor((*other, k, n)) if self.rng.random() < 0.8 else self.factor((k,))
        if self.rng.random() < 0.03:
            two = self.factor((k + 1, n))
        call = self.rng.choice(["np.matmul({0}, {1})", "({0} @ {1})", "np.dot({0}, {1})", "np.matvec({0}, {2})", "np.vecdot({0}, {0})", "np.vecmat({3}, {0})"])
        return "{} = " + call.format(one, two, self.factor((k,)), self.factor((m,)))

    def contracted(self) -> str:
        name, _ = self.pick()
        other, _ = self.pick()
        i, j, k = (self.rng.choice([1, 2, 3, 4]) for _ in range(3))
        lines = [f"np.tensordot({self.factor((i, j, k))}, {self.factor((k, j))}, axes=([1, 2], [1, 0]))", f"np.tensordot({name}, {other}, axes=0)"]
        lines += [f"np.tensordot({self.factor((i, j))}, {self.factor((j, i, k))}, axes=([0], [1]))", f"np.einsum('ijk,kj->i', {self.factor((i, j, k))}, {self.factor((k, j))})"]
        lines += [f"np.einsum('ij,jk,kl->il', {self.factor((i, j))}, {self.factor((j, k))}, {self.factor((k, i))})", f"np.einsum('...i,i', {self.factor((2, i))}, {self.factor((i,))})"]
        lines += [f"np.inner({self.factor((i, j))}, {self.factor((k, j))})", f"np.outer({name}, {other})", f"np.vdot({name}, {name})", f"np.kron({self.factor((i, j))}, {self.factor((j,))})"]
        lines += [f"np.linalg.multi_dot([{self.factor((i, j), ('i8',))}, {self.factor((j, k), ('f8',))}, {self.factor((k, i), ('c8',))}])", f"np.linalg.matrix_power({self.factor((i, i))}, 3)"]
        lines += [f"np.cross({self.factor((i, 3))}, {self.factor((3,))})", f"np.trace({self.factor((i, j, k))}, 1, 0, 2)", f"np.einsum('iij->j', {self.factor((i, i, j))})", f"np.einsum({name}, [..., 0], [0, ...])"]
        return f"{{}} = {self.rng.choice(lines)}"

    # scans and folds

    def scans(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.5 else name
        v = self.value_of(text)
        axis, one = self.rng.choice([self.axis(v.ndim), "None"]), self.one_axis(v.ndim)
        which = self.rng.choice(["cumsum", "cumsum", "nancumsum", "cumprod"])
        if which == "cumprod":
            text = f"np.sign({text})" if v.dtype.kind in "if" else text
        # NumPy itself crashes where ``out`` of a sum has no axes, or overlaps and is of another shape
        out = self.rng.choice([n for n in self.arrays if self.names[n].shape == v.shape] or [text])
        ufunc = self.rng.choice(["add", "maximum", "minimum", "logical_or", "logical_and", "bitwise_xor", "subtract"])
        ends = [self.rng.randrange(v.shape[int(one)]) for _ in range(self.rng.randint(1, 4))] if v.ndim and v.shape[int(one)] else [0]
        lines = [f"{{}} = np.{which}({text}, axis={axis})", f"{{}} = np.{which}({text}, axis={axis}, dtype='{self.rng.choice(['f8', 'c16', 'i4'])}')"]
        lines += [f"np.cumsum({text}, axis={one}, out={out})" if v.ndim else "v = 0", f"{{}} = np.{ufunc}.accumulate({text}, axis={one})", f"np.{ufunc}.accumulate({text}, axis={one}, out={out})"]
        lines += [f"{{}} = np.{ufunc}.reduceat({text}, {ends}, axis={one})", f"{{}} = np.{ufunc}.reduceat({text}, {self.there(f'np.array({ends})')}, axis={one})"]
        lines += [f"{{}} = np.diff({text}, n={self.rng.randint(0, 3)}, axis={one})", f"{{}} = np.diff({text}, axis={one}, prepend=0, append=1)"]
        lines += [f"{{}} = np.cumulative_sum({text}, axis={one}, include_initial=True)", f"{{}} = np.{ufunc}.outer({text}, {self.pick()[0]})"]
        lines += [f"np.cumsum({text}, axis={one}, out={text})" if v.ndim else "v = 1"]
        return self.rng.choice(lines)

    def folds(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.6 else name
        v = self.value_of(text)
        axis = self.axis(v.ndim, several=True)
        keep = self.rng.choice(["", ", keepdims=True"])
        mask = self.there(self.mask(v.shape)) if self.rng.random() < 0.5 else self.there(f"({text} > 0)")
        which = self.rng.choice(["sum", "prod", "max", "min", "any", "all"])
        initial = self.rng.choice(["", f", initial={self.rng.randint(-1, 2)}"]) if which in ("sum", "prod") else ", initial=3" if which in ("max", "min") else ""
        lines = [f"np.{which}({text}, axis={axis}{keep}{initial}, where={mask})", f"{text}.{which}(axis={axis}{keep})"]
        lines += [f"np.{self.rng.choice(['argmax', 'argmin'])}({text}, axis={self.axis(v.ndim)}{keep})", f"np.count_nonzero({text}, axis={axis}{keep})"]
        lines += [f"np.{self.rng.choice(['add', 'maximum', 'multiply', 'logical_or', 'minimum', 'bitwise_or', 'hypot'])}.reduce({text}, axis={axis}{keep})"]
        lines += [f"np.{self.rng.choice(['nansum', 'nanmax', 'nanmin', 'nanargmax', 'nanprod', 'ptp'])}({text}, axis={self.axis(v.ndim)})"]
        lines += [f"np.{self.rng.choice(['max', 'min'])}(np.where({text} > 1, np.nan, {text}), axis={axis})", f"np.sum({text}, axis={axis}, dtype='f4'{keep})"]
        if self.rng.random() < 0.2:
            return f"w = np.{self.rng.choice(['mean', 'var', 'std'])}({text}, axis={axis}{keep}, where={mask})"
        got = self.value_of(lines[1])
        outs = [n for n in self.arrays if self.names[n].shape == numpy.shape(got)]
        if outs and self.rng.random() < 0.3:
            return f"np.{which}({text}, axis={axis}{keep}, out={self.rng.choice(outs)})"
        return f"{self.rng.choice(['v', '{}'])} = {self.rng.choice(lines)}"

    # outputs

    def masked_calls(self) -> str:
        name, _ = self.pick()
        text = self.chain(name)
        v = self.value_of(text)
        mask = self.there(self.mask(v.shape)) if self.rng.random() < 0.5 else f"{text} > {self.rng.randint(-2, 2)}"
        ufunc = self.rng.choice(statements.BINARY)
        lines = [f"np.{ufunc}({text}, {self.fit(v)}, out={text}, where={mask})", f"np.copyto({text}, {self.fit(v)}, where={mask})"]
        lines += [f"np.{self.rng.choice(statements.UNARY)}({text}, out={text}, where={mask})", f"np.{ufunc}({self.fit(v)}, {text}, out={text}, casting='unsafe')"]
        lines += [f"np.putmask({text}, {mask}, {self.fit(v)})", f"{text}[{mask}] = {self.number(v.dtype)}", f"np.clip({text}, {self.fit(v)}, 4, out={text})"]
        return self.rng.choice(lines)

    def overlaps(self) -> str:
        name, _ = self.pick(ndim=1)
        one, two = self.chain(name, least=1), self.chain(name, least=1)
        x, y = self.value_of(one), self.value_of(two)
        if x.ndim and y.ndim and x.shape != y.shape:
            n = min(x.shape[0], y.shape[0])
            one, two = f"{one}[:{n}]", f"{two}[-{n}:]"
        lines = [f"{one}[...] = {two}", f"{one} += {two}".replace(one, f"{one}[...]", 1), f"np.add({one}, {two}, out={one})", f"np.subtract({two}, {one}, out={one})"]
        lines += [f"np.multiply({two}, 1, out={one})", f"np.copyto({one}, {two})", f"np.maximum({two}, {name}[:1], out={one})", f"{one}[...] = {two} * 2 + {one}"]
        lines += [f"np.add({one}, {two}, out={two}, where={one} > {two})", f"{one}[...] = np.roll({two}, 1)", f"{one}[...] = np.sort({two}, axis=None).reshape({two}.shape)"]
        lines += [f"np.negative({two}, out={one})", f"np.cumsum({two}, axis=0, out={one if x.shape == y.shape else two})", f"{one}[...], {two}[...] = {two} + 0, {one} + 0", f"np.take({name}, [0] * len({name}), axis=0, out={name}, mode='clip')"]
        return self.rng.choice(lines)

    def views_of_views(self) -> str:
        name, _ = self.pick()
        text = self.chain(name)
        v = self.value_of(text)
        lines = [f"{{}} = {text}", f"{{}} = {text} + {self.fit(v)}", f"{{}} = {text} * 2 - {text}"]
        lines += [f"{text}[...] {self.rng.choice(['+=', '-=', '*=', '&=', '//='])} {self.fit(v)}", f"{text}[...] = {self.fit(v)}"] * 2
        lines += [f"{text}.fill({self.number(v.dtype)})", f"{text}.flat[{self.places(v.size, 2)}] = 1", f"{{}} = {text}.flat[::2]", f"{text}.flat[::-1] = 2"]
        return self.rng.choice(lines)

    def reshaped_views(self) -> str:
        name, _ = self.pick()
        text = self.chain(name)
        v = self.value_of(text)
        order = self.rng.choice(["", ", order='F'", ", order='A'", ", order='C'"])
        shapes = ["-1"]
        for k in (2, 3, 4):
            if v.size and v.size % k == 0:
                shapes += [f"({k}, -1)", f"(-1, {k})"]
        shape = self.rng.choice(shapes)
        lines = [f"{{}} = {text}.reshape({shape}{order})", f"{{}} = np.ravel({text}{order})", f"{text}.reshape({shape}{order})[...] = {self.number(v.dtype)}", f"{text}.reshape({shape}{order})[::2] += 1"]
        lines += [f"{{}} = np.reshape({text}, {shape}{order}).T", f"{{}} = {text}.flatten({order[8:]})", f"v = np.shares_memory({text}.reshape({shape}{order}), {name})"]
        return self.rng.choice(lines)

    def several_outputs(self) -> str:
        name, a = self.pick()
        outs = [n for n in self.arrays if self.names[n].shape == a.shape]
        one, two = self.rng.choice(outs), self.rng.choice(outs)
        two = "None" if one == two or numpy.may_share_memory(self.names[one], self.names[two]) else two
        lines = [f"np.divmod({name}, 3, out=({one}, {two}))", f"np.modf({name}, out=({one}, None))", f"v = np.frexp({name})", f"{{}} = np.divmod({name}, {self.fit(a)})[1]"]
        lines += [f"v = np.modf({name})", f"np.frexp({name}, out=({one}, {two}))", f"v = divmod({name}, 2)", f"{{}} = np.float_power({name}, 1)", f"{{}} = np.ldexp({name}, 1)"]
        return self.rng.choice(lines)

    # streams

    def streams(self) -> str:
        seed, shape = self.rng.randint(0, 9), self.rng.choice(["7", "(3, 4)", "(0,)", "()", "(2, 3, 2)", "None", "(5, 3)"])
        draws = [f"random({shape})", f"integers(0, 9, {shape})", f"integers(-3, 4, {shape}, dtype='i2')", f"normal(0, 1, {shape})", f"permutation({self.rng.randint(0, 12)})", f"choice(9, {shape})"]
        draws += ["choice(12, 5, replace=False)", f"uniform(-1, 2, {shape})", f"standard_normal({shape}, dtype='f4')", f"exponential(2, {shape})", f"poisson(3, {shape})", f"integers(0, 8, {shape}, endpoint=True)"]
        draws += ["permuted(np.arange(12).reshape(3, 4), axis=1)", "permutation(np.arange(12).reshape(4, 3))", f"random({shape}, dtype='f4')", "bytes(5)", "shuffle(np.arange(3))"]
        one, two = self.rng.choice(draws), self.rng.choice(draws)
        old = ["rand(3, 2)", f"randint(0, 5, {shape})", "randn(4)", f"random_sample({shape})", "permutation(7)", f"choice(5, {shape})"]
        lines = [f"g = np.random.default_rng({seed}); v = (g.{one}, g.{two})", f"np.random.seed({seed}); v = (np.random.{self.rng.choice(old)}, np.random.{self.rng.choice(old)})"]
        lines += [f"g = np.random.RandomState({seed}); v = (g.{self.rng.choice(old)}, g.{self.rng.choice(old)})", f"{{}} = np.random.default_rng({seed}).integers(-3, 4, {shape if shape not in ('None', '()') else '5'})"]
        return self.rng.choice(lines)

    def drawn(self) -> str:
        name, a = self.pick()
        seed = self.rng.randint(0, 9)
        lines = [f"np.random.default_rng({seed}).shuffle({name})", f"{{}} = np.random.default_rng({seed}).permutation({name})", f"{{}} = np.random.default_rng({seed}).choice(np.ravel({name}), 6)"]
        lines += [f"np.random.default_rng({seed}).shuffle({self.chain(name, least=1)})", f"{{}} = np.floor(np.random.default_rng({seed}).random({a.shape}) * 8)"]
        lines += [f"np.random.seed({seed}); np.random.shuffle({name})", f"{{}} = np.random.default_rng({seed}).permuted({name}, axis={self.one_axis(a.ndim)})", f"{{}} = np.random.default_rng({seed}).choice({name}, 3, axis={self.one_axis(a.ndim)})"]
        return self.rng.choice(lines)

    # statements

    def statements(self) -> str:
        name, a = self.pick(ndim=1)
        other = self.like(a)
        lines = [f"{name}[0], {name}[-1] = {name}[-1].copy(), {name}[0].copy()", f"for row in {name}: row += 1", f"for k, row in enumerate({name}): {name}[k] = row * 2"]
        lines += [f"t = {name}[1:]; t += {name}[:-1]; v = t.copy()", f"t = {name}.T; {name} += 1; v = t + 0", f"t = {name} + 0; {name}[...] = 0; {name} += t", f"t = {name}[::-1]; t[...] = {name}; v = t.copy()"]
        lines += [f"t = {name} > 0; {name}[t] = 0; v = t.sum()", f"t = {name}.copy(); t[1:] -= t[:-1]; v = t", f"x = {name} * 1; x[::2], x[1::2] = 1, 2; v = x", f"v = [r.sum() for r in {name}]", f"s = 0\nfor k in range(len({name})): s = s + {name}[k]\nv = s"]
        lines += [f"t = {other} + {name}; u = t * 2; t += 1; v = u - t", f"v = [float(x.max()) for x in {name} if x.size]", f"t = {name}.reshape(-1); t[::2] = t[1::2][:1].sum(); v = t + 0", f"t = np.zeros_like({name}); t[...] = {name}; t[0] += t[-1]; v = t"]
        lines += [f"t = {name} + 0\nfor k in range(3): t[1:] = t[:-1] + t[1:]\nv = t", f"t = {name} + 0\nfor k in range(3):\n    t[1:-1] = t[2:] - t[:-2]\n    if t.sum() > 3: t -= 1\nv = t", f"t = {name} * 1\ntry: t[99] = 1\nexcept IndexError: t += 2\nv = t"]
        lines += [f"t = {name} + 0\nwhile (abs(t) > 1).any(): t = np.trunc(t / 2)\nv = t" if a.dtype.kind in "if" else "v = 1"]
        return self.rng.choice(lines)

    def lanes(self) -> str:
        name, a = self.pick(ndim=1)
        axis = self.one_axis(a.ndim)
        lines = [f"{{}} = np.apply_along_axis(np.sort, {axis}, {name})", f"v = np.apply_along_axis(lambda x: x.sum(), {axis}, {name})", f"v = np.apply_over_axes(np.sum, {name}, [0])", f"{{}} = np.vectorize(lambda x: x * 2)({name})"]
        lines += [f"w = np.fft.fft(np.ravel({name})).real", f"w = np.linalg.norm({name}, axis={axis})", f"w = np.median({name}, axis={axis}, keepdims=True)", f"w = np.corrcoef({name}.reshape(-1), {name}.reshape(-1))", f"w = np.percentile({self.chain(name)}, [0, 30, 100])"]
        lines += [f"w = np.average({name}, axis={axis}, weights=abs({name}) + 1)", f"w = np.gradient({name} * 1.0, axis={axis})", f"{{}} = np.packbits({name} > 0, axis={axis})", f"w = np.nanmedian({name}, axis={axis})", f"w = np.linalg.solve(np.eye(len({name})) * 2, {name}.reshape(len({name}), -1))"]
        lines += [f"{{}} = np.unwrap({name} * 1.0, axis={axis}, period=4)", f"{{}} = np.correlate(np.ravel({name}), [1, 0, 2], 'full')", f"{{}} = np.convolve(np.ravel({name}), [1, 2], 'same')", f"w = np.polyval([1, 2], {name})", f"{{}} = np.apply_along_axis(lambda x: x[:1], {axis}, {name})"]
        return self.rng.choice(lines)

    def counting(self) -> str:
        name, a = self.pick()
        lines = [f"{{}} = np.bincount(abs(np.ravel({name})).astype(int) % 5, minlength=7)", f"v = np.bincount(abs(np.ravel({name})).astype(int) % 5, weights=np.arange({a.size}))", f"v = np.histogram({name}, bins=5, range=(-5, 5))", f"v = np.histogram2d(np.ravel({name}) * 1, np.ravel({name}) * 1, bins=3, range=[[-5, 5], [-5, 5]])[0]"]
        lines += [f"v = np.nonzero({name})", f"{{}} = np.argwhere({self.chain(name)})", f"v = np.where({self.chain(name)} > 0)", f"{{}} = np.flatnonzero({self.chain(name)})", f"v = np.unravel_index(np.argmax({name}), {a.shape})", f"{{}} = np.ravel_multi_index(np.nonzero({name}), {a.shape})"]
        lines += [f"v = np.count_nonzero({self.chain(name)})", f"v = np.histogram({name}, bins={self.there('np.array([-3, 0, 2, 9])')})[0]"]
        return self.rng.choice(lines)

    def by_elements(self) -> str:
        name, a = self.pick()
        if not a.size:
            return f"v = {name}.tolist()"
        place = ", ".join(str(self.rng.randrange(-n, n)) for n in a.shape) or "()"
        text = self.chain(name)
        lines = [f"{name}[{place}] = {self.number(a.dtype)}", f"{name}[{place}] += 1", f"v = {name}[{place}]", f"v = {name}.item({place})", f"v = {text}.tolist()", f"v = str({text})", f"v = list(np.ndenumerate({text}))", f"v = list({text}.flat)", f"v = next(iter({text}.flat))"]
        lines += [f"v = ({text}.copy('K').strides, {text}.flags.c_contiguous, {text}.flags.f_contiguous)", f"v = {text}.flags.owndata", f"v = {text}.tobytes('F')", f"v = {name}[{place}] in {name}", f"v = np.array2string({text}, threshold=5)", f"v = {text}.T.shape"]
        return self.rng.choice(lines)

    def aliases(self) -> str:
        name, _ = self.pick()
        other, _ = self.pick()
        lines = [f"v = np.shares_memory({self.chain(name)}, {self.chain(other)})", f"v = np.may_share_memory({name}, {other})", f"v = {name}[...] is {name}", f"v = np.asarray({name}) is {name}", f"v = np.shares_memory(np.ravel({self.chain(name)}), {name})"]
        return self.rng.choice(lines)

    def windows(self) -> str:
        name, a = self.pick(ndim=1)
        lines = [f"{{}} = np.lib.stride_tricks.sliding_window_view({name}, {min(2, a.shape[0]) if a.ndim else 1}, axis=0)", f"{{}} = np.lib.stride_tricks.sliding_window_view({name}, 1, axis=0).sum(-1)", f"{{}} = np.broadcast_arrays({name}, {self.pick()[0]})[0] + 0", f"{{}} = np.broadcast_to({self.chain(name)}, (2, *{self.chain(name)}.shape))"]
        lines += [f"{{}} = np.meshgrid({self.chain(name)}, [1, 2])[1]", f"{{}} = np.diag({name})", f"{{}} = np.diagonal({name}, -1)", f"{{}} = np.tril({self.chain(name)}, -1)", f"{{}} = {name}[np.triu_indices({min(a.shape[:2])})]" if a.ndim > 1 else f"{{}} = np.vander({name}, 2)", f"np.fill_diagonal({name}, {self.number(a.dtype)}, wrap=True)", f"{{}} = np.diagflat({name})"]
        return self.rng.choice(lines)

    def spread_mistakes(self) -> str:
        name, a = self.pick()
        far = 2 * max(a.shape, default=1) + 1
        text = self.chain(name)
        v = self.value_of(text)
        lines = [f"{text}[{self.there(f'np.array([0, {far}])')}] = 1", f"{{}} = {text}[{self.there(f'np.array([{far}, 0])')}]", f"np.put({text}, {self.there(f'np.array([{v.size}])')}, 1)", f"{{}} = np.take({text}, {self.there(f'np.array([{v.size}])')})"]
        lines += [f"{text}[{text} > 0] = np.arange({v.size + 1})", f"{{}} = {text}[np.ones({far}, bool)]", f"np.add.at({name}, {self.there(f'np.array([{far}])')}, 1)", f"{{}} = np.concatenate([{text}, np.ones((3, {far}))])", f"{{}} = {text} @ np.ones(({far}, 2))", f"{{}} = np.dot({text}, np.ones({far}))"]
        lines += [f"{{}} = np.sort({text}, axis={v.ndim})", "{} = np.linalg.inv(np.zeros((3, 3)))", "{} = np.linalg.cholesky(-np.eye(4))", "{} = np.bincount(np.array([-1, 2]))", f"{{}} = np.repeat({text}, [1, 2, 3, 4, 5, 6, 7, 8])", f"{{}} = np.unravel_index({far * 99}, {v.shape})"]
        lines += [f"{{}} = np.tensordot({text}, np.ones(({far}, {far})), 2)", f"{{}} = np.min({text}[:0], axis=0)", "{} = np.argmax(np.zeros((0, 3)), axis=0)", f"{{}} = np.pad({text}, -1)", f"{{}} = np.roll({text}, (1, 2), (0, 9))", f"{{}} = np.choose({name} + 9, [{name}, 1])", "np.random.default_rng(1).choice(3, 5, replace=False)", f"{{}} = np.take_along_axis({text}, np.zeros(({far},) * {v.ndim}, int), 0)"]
        lines += [f"{{}} = np.vectorize(lambda x: 1 // (x > 99))({name})", f"{{}} = np.apply_along_axis(lambda x: x.nothing, 0, {name})", f"{{}} = np.split({text}, {far})", f"{{}} = np.einsum('ij,jk', {text}, np.ones((9, {far})))", f"np.copyto({text}, np.ones({far}))", f"{{}} = np.digitize({name}, [1, 0, 1])", f"{{}} = np.interp({name}, [1, 2], [1])"]
        return self.rng.choice(lines)
