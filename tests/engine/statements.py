"""The kinds of lines that random programs have, and the program of a seed."""

# fmt: off
from __future__ import annotations

import warnings

import numpy

from .generator import DTYPES, Generator, outcome_shape
from .program import Program, replay

BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "less", "less_equal", "equal", "not_equal", "greater"]
BINARY += ["logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder", "copysign"]
UNARY = ["negative", "abs", "square", "sign", "isnan", "logical_not", "invert", "conj", "isfinite", "floor", "rint", "signbit", "positive"]


class Statements(Generator):
    """Draws lines of every kind that NumPy has."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        super().__init__(seed, exports=exports, ranks=ranks)
        self.kinds = [self.basic, self.shaped, self.fancy, self.joined, self.ordered, self.binary, self.binary]
        self.kinds += [self.unary, self.fold, self.fold, self.scan, self.product, self.assign, self.assign]
        self.kinds += [self.assign_fancy, self.assign_mask, self.in_place, self.in_place, self.into]
        self.kinds += [self.scattered, self.look, self.copied, self.selected, self.statistic, self.converted]
        self.kinds += [self.methods, self.created, self.of_flat, self.broken, self.overlap, self.nested]
        if exports:
            self.kinds += [self.export, self.bump]
        if ranks:
            self.kinds += [self.move, self.bump]

    # kinds of lines

    def basic(self) -> str:
        name, a = self.pick()
        return f"{{}} = {name}[{self.key(a.shape)}]"

    def shaped(self) -> str:
        name, a = self.pick()
        n = a.ndim
        choices = [f"{name}.T", f"{name}.reshape(-1)", f"np.ravel({name})", f"{name}.reshape({a.shape[::-1]})"]
        choices += [f"{name}.reshape({a.size}, 1)", f"np.ravel({name}, order='F')", f"{name}.real", f"{name}.imag"]
        choices += [f"{name}.reshape({a.shape[::-1]}, order='F')", f"np.flip({name})", f"np.squeeze({name})"]
        choices += [f"np.atleast_2d({name})", f"np.expand_dims({name}, 0)", f"{name}.flatten()"]
        choices += [f"np.broadcast_to({name}, {(2, *a.shape)})", f"np.flip({name}, {self.axis(n)})"]
        if a.size % 2 == 0 and a.size:
            choices += [f"{name}.reshape(2, -1)", f"{name}.reshape(-1, 2)", f"{name}.reshape(2, -1).T"]
        if n > 1:
            order = self.rng.sample(range(n), n)
            choices += [f"{name}.transpose({order})", f"np.swapaxes({name}, 0, -1)", f"np.moveaxis({name}, 0, -1)"]
            choices += [f"np.diagonal({name})", f"np.rot90({name})", f"np.fliplr({name})", f"np.flipud({name})"]
            choices += [f"np.tril({name})", f"np.triu({name}, 1)", f"np.diagonal({name}, 1)"]
        if n and self.rng.random() < 0.2:
            choices = [f"{name}.view('u{a.dtype.itemsize}')" if a.dtype.itemsize < 16 else f"{name}.view('f8')"]
        return f"{{}} = {self.rng.choice(choices)}"

    def fancy(self) -> str:
        name, a = self.pick()
        return f"{{}} = {name}[{self.fancy_key(a).replace('$', name)}]"

    def joined(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        axis = self.axis(a.ndim)
        one = self.one_axis(a.ndim)
        count = self.rng.randint(-4, 4)
        mode = self.rng.choice(["edge", "wrap", "reflect", "constant", "symmetric"])
        choices = [f"np.concatenate([{name}, {other}], axis={axis})", f"np.stack([{name}, {other}, {name}], {one})"]
        choices += [f"np.hstack([{name}, {other}])", f"np.vstack([{name}, {other}])", f"np.dstack([{name}, {name}])"]
        choices += [f"np.append({name}, {other})", f"np.tile({name}, {self.rng.choice(['2', '(2, 1)', '0', '(1, 2)'])})"]
        choices += [f"np.repeat({name}, {abs(count)}, axis={axis})", f"np.roll({name}, {count}, axis={axis})"]
        choices += [f"np.pad({name}, 1, mode='{mode}')", f"np.roll({name}, {count})"]
        choices += [f"np.pad({name}, 2, constant_values=3)", f"np.column_stack([{name}, {other}])"]
        choices += [f"np.insert({name}, 0, 3, axis={axis})", f"np.delete({name}, 0, axis={axis})"]
        choices += [f"np.array_split({name}, 3)[1]", f"np.array_split({name}, 2, axis={one})[-1]"]
        choices += [f"np.block([[{name}], [{other}]])", f"np.array([{name}, {name}])", f"np.resize({name}, (3, 3))"]
        choices += [f"np.concatenate([{name}, {other}], axis={axis}, dtype='f8')"]
        if a.ndim and a.shape[0]:
            counts = [self.rng.randint(0, 3) for _ in range(a.shape[0])]
            choices += [f"np.repeat({name}, {counts}, axis=0)"]
        return f"{{}} = {self.rng.choice(choices)}"

    def ordered(self) -> str:
        name, a = self.pick(ndim=1, kinds="fiub")
        axis = self.axis(a.ndim)
        other = self.pick(ndim=1, kinds="fiub")[0]
        side = self.rng.choice(["left", "right"])
        choices = [f"np.sort({name}, axis={axis})", f"np.argsort({name}, axis={axis}, kind='stable')"]
        choices += [f"np.unique({name})", f"np.unique({name}, return_inverse=True)[1]"]
        choices += [f"np.unique({name}, return_counts=True)[1]", f"np.unique({name}, return_index=True)[1]"]
        choices += [f"np.searchsorted(np.sort({name}, axis=None), {other}, side='{side}')"]
        choices += [f"np.isin({name}, {other})", f"np.intersect1d({name}, {other})", f"np.setdiff1d({name}, {other})"]
        choices += [f"np.union1d({name}, {other})", f"np.digitize({name}, [-1, 0, 2])", f"np.lexsort(({name}, {name}))"]
        choices += [f"np.partition({name}, 0)[..., :1]", f"np.sort({name})[::-1]"]
        choices += [f"np.unique({name}, axis=0)", f"np.sort_complex({name})", f"np.flatnonzero({name})"]
        if a.dtype.kind in "iu":
            choices += [f"np.bincount(np.ravel({name}) % 7)", f"np.bincount(np.ravel({name}) % 4, minlength=6)"]
        return f"{{}} = {self.rng.choice(choices)}"

    def binary(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        if self.rng.random() < 0.3:
            other = f"{other}[{self.key(self.names[other].shape)}]" if other in self.names else other
        if self.rng.random() < 0.1:
            name, other = other, name
        if self.rng.random() < 0.2:
            return f"{{}} = {name} {self.rng.choice(['+', '-', '*', '<', '>=', '&', '|', '//', '%', '/'])} {other}"
        if self.rng.random() < 0.15:
            return f"{{}} = np.{self.rng.choice(BINARY[:6])}({name}, {other}, dtype='f8')"
        return f"{{}} = np.{self.rng.choice(BINARY)}({name}, {other})"

    def unary(self) -> str:
        return f"{{}} = np.{self.rng.choice(UNARY)}({self.pick()[0]})"

    def nested(self) -> str:
        """A stencil or another expression over several reads of one array."""
        name, a = self.pick(ndim=1)
        if a.ndim > 1 and self.rng.random() < 0.5:
            reads = [f"{name}[{k}]" for k in ("1:, 1:", ":-1, 1:", "1:, :-1", ":-1, :-1")]
        else:
            reads = [f"{name}[1:]", f"{name}[:-1]", f"{name}[:0:-1]"]
        first, second, *rest = self.rng.sample(reads, 3)
        lines = [f"{first} * 2 + {second}", f"np.where({first} > {second}, {first}, {rest[0]})"]
        lines += [f"np.maximum({first}, {second}) + {rest[0]}", f"{first} + {second}.sum()"]
        lines += [f"{first} + np.max({name}, axis=0)", f"{first} * {second}[::-1]"]
        return f"{{}} = {self.rng.choice(lines)}"

    def fold(self) -> str:
        name, a = self.pick()
        which = self.rng.choice(["sum", "sum", "max", "min", "any", "all", "count_nonzero", "prod", "ptp"])
        options = f", axis={self.axis(a.ndim, several=True)}"
        if self.rng.random() < 0.3:
            options += ", keepdims=True"
        if which in ("sum", "max", "min", "prod") and self.rng.random() < 0.3:
            options += f", initial={self.rng.randint(0, 3)}"
        if which not in ("count_nonzero", "ptp") and self.rng.random() < 0.3:
            options += f", where={self.mask(a.shape)}"
        if which in ("sum", "prod") and self.rng.random() < 0.15:
            options += f", dtype='{self.rng.choice(['f8', 'i8', 'c16', 'f4'])}'"
        if self.rng.random() < 0.2:
            which = self.rng.choice(["argmax", "argmin", "nansum", "nanmax"])
            options = f", axis={self.axis(a.ndim)}"
        target = self.rng.choice(["v", "{}"])
        if self.rng.random() < 0.1:
            outs = [n for n in self.arrays if self.names[n].ndim == max(0, a.ndim - 1)]
            if outs:
                return f"np.{self.rng.choice(['sum', 'max', 'all'])}({name}, axis=0, out={self.rng.choice(outs)})"
        return f"{target} = np.{which}({name}{options})"

    def scan(self) -> str:
        name, a = self.pick(ndim=1)
        one = self.one_axis(a.ndim)
        ends = sorted(self.rng.sample(range(a.shape[0]), min(2, a.shape[0]))) if a.ndim else [0]
        choices = [f"np.cumsum({name}, axis={self.axis(a.ndim)})", f"np.maximum.accumulate({name}, axis={one})"]
        choices += [f"np.add.accumulate({name}, axis={one})", f"np.diff({name}, axis={one})"]
        choices += [f"np.add.reduceat({name}, {ends}, axis=0)", f"np.minimum.reduce({name}, axis={one})"]
        choices += [f"np.subtract.outer({name}, {self.pick()[0]})", f"np.ediff1d({name})"]
        choices += [f"np.cumprod({name}[:3], axis=0)", f"np.logical_or.accumulate({name}, axis={one})"]
        choices += [f"np.diff({name}, n=2)", f"np.add.reduce({name}, axis={self.axis(a.ndim, several=True)})"]
        return f"{{}} = {self.rng.choice(choices)}"

    def product(self) -> str:
        name, a = self.pick(ndim=1)
        other = self.pick(ndim=1)[0]
        if self.rng.random() < 0.6:
            other = name + ".T"
        choices = [f"{name} @ {other}", f"np.dot({name}, {other})", f"np.inner({name}, {name})"]
        choices += [f"np.outer({name}, {self.pick()[0]})", f"np.vdot({name}, {name})", f"np.trace({name})"]
        choices += [f"np.tensordot({name}, {name}, {a.ndim})", f"np.kron({name}, {other})"]
        if a.ndim == 2:
            choices += [f"np.einsum('ij,kj->ik', {name}, {name})", f"np.einsum('ij->j', {name})"]
            choices += [f"np.einsum('ij,ij->i', {name}, {name})", f"np.einsum('ii', {name})", f"np.einsum('ij->ji', {name})"]
        return f"{{}} = {self.rng.choice(choices)}"

    def assign(self) -> str:
        name, a = self.pick()
        key = self.key(a.shape)
        value = self.like(a)
        kind = self.rng.random()
        if kind < 0.3:
            value = f"{name}[{self.key(a.shape)}]"
        elif kind < 0.6:
            got = outcome_shape(lambda: self.evaluate(f"{name}[{key}]"))
            if got is not None:
                same = [n for n in self.arrays if self.names[n].shape == got]
                value = self.rng.choice(same) if same else self.number(a.dtype)
        if self.rng.random() < 0.3:
            return f"{name}[{key}] {self.rng.choice(['+=', '*=', '-='])} {value}"
        return f"{name}[{key}] = {value}"

    def overlap(self) -> str:
        name, a = self.pick(ndim=1)
        one, two = [], []
        for n in a.shape:
            if n > 1 and self.rng.random() < 0.7:
                k = self.rng.randint(1, n - 1)
                ends = [f"{k}:", f":{n - k}"]
                self.rng.shuffle(ends)
                one.append(ends[0])
                two.append(ends[1])
            else:
                one.append(":")
                two.append(self.rng.choice([":", "::-1"]))
        first, second = f"{name}[{', '.join(one)}]", f"{name}[{', '.join(two)}]"
        lines = [f"{first} = {second}", f"{first} += {second}", f"np.add({first}, {second}, out={first})"]
        lines += [f"{first} = {second} + {first}", f"np.multiply({second}, {second}, out={first})"]
        lines += [f"np.copyto({first}, {second})", f"np.add({second}, 1, out={first}, where={second} > 0)"]
        return self.rng.choice(lines)

    def assign_fancy(self) -> str:
        name, a = self.pick(ndim=1)
        key = self.fancy_key(a).replace("$", name)
        value = self.number(a.dtype)
        got = outcome_shape(lambda: self.evaluate(f"{name}[{key}]"))
        if got is not None and self.rng.random() < 0.4:
            same = [n for n in self.arrays if self.names[n].shape == got]
            value = self.rng.choice(same) if same else value
        if got is not None and self.rng.random() < 0.2:
            value = f"np.arange({int(numpy.prod(got))}).reshape({got})"
        return f"{name}[{key}] {self.rng.choice(['=', '=', '+='])} {value}"

    def assign_mask(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        mask = self.mask(a.shape) if self.rng.random() < 0.5 else f"{name} > {self.rng.randint(-2, 3)}"
        lines = [f"{name}[{mask}] = {self.number(a.dtype)}", f"{name}[{mask}] += 1", f"np.putmask({name}, {mask}, {other})"]
        lines += [f"np.copyto({name}, {other}, where={mask})", f"np.place({name}, {mask}, [1, 2, 3])"]
        lines += [f"{name}[{mask}] = {name}[{mask}] * 2", f"{name}[~({mask})] = {name}[{mask}].sum()"]
        return self.rng.choice(lines)

    def in_place(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        if self.rng.random() < 0.15:
            other = name + ".T"
        if self.rng.random() < 0.15:
            other = f"{name}[::-1]"
        return f"{name} {self.rng.choice(['+=', '+=', '-=', '*=', '//=', '&=', '|=', '/=', '%=', '**='])} {other}"

    def into(self) -> str:
        name, a = self.pick()
        other, out = self.like(a), self.like(a)
        where = f", where={self.mask(a.shape)}" if self.rng.random() < 0.4 else ""
        if self.rng.random() < 0.2:
            where += ", casting='unsafe'" if self.rng.random() < 0.5 else ", dtype='f8'"
        lines = [f"np.{self.rng.choice(BINARY)}({name}, {other}, out={out}{where})"] * 4
        lines += [f"np.{self.rng.choice(UNARY)}({name}, out={out}{where})", f"np.clip({name}, -1, 2, out={out})"]
        lines += [f"np.cumsum({name}, axis=0, out={out if self.names[out].shape == a.shape else name})" if out in self.names and a.ndim else "v = 0", f"np.take({name}, [0, 0, 1], axis=0, out={out}, mode='clip')" if a.size else "v = 0"]
        lines += [f"np.divmod({name}, 2, out=({name}, None))", f"np.concatenate([{name}[:1], {name}[1:]], out={out})"]
        return self.rng.choice(lines)

    def scattered(self) -> str:
        name, a = self.pick(ndim=1)
        n, count = a.size, self.rng.randint(1, 4)
        places = [self.rng.randrange(-n, n) for _ in range(count)] if n else []
        first = [self.rng.randrange(-a.shape[0], a.shape[0]) for _ in range(count)] if a.ndim and a.shape[0] else []
        lines = [f"np.put({name}, np.array({places}, int), {self.number(a.dtype)})"]
        lines += [f"np.put({name}, {places}, np.arange({count}), mode='wrap')"]
        lines += [f"np.add.at({name}, np.array({first}, int), 1)", f"np.maximum.at({name}, {first}, 2)"]
        lines += [f"np.put_along_axis({name}, np.argsort({name}, axis=0, kind='stable')[:1], 3, axis=0)"]
        lines += [f"{{}} = np.take({name}, np.array({places}, int))", f"{{}} = np.take({name}, {first}, axis=0)"]
        lines += [f"{{}} = np.take_along_axis({name}, np.argsort({name}, axis=-1, kind='stable'), axis=-1)"]
        lines += [f"np.fill_diagonal({name}, 7)", f"{{}} = np.compress({[True, False, True]}, {name}, axis=0)"]
        lines += [f"{{}} = np.extract({name} > 0, {name})", f"{{}} = np.nonzero({name})[0]", f"{{}} = np.argwhere({name})"]
        lines += [f"{{}} = np.choose({name} > 0, [{name}, 1])", f"{{}} = np.where({name} > 0)[-1]"]
        return self.rng.choice(lines)

    def look(self) -> str:
        name, a = self.pick()
        lines = [f"v = str({name})", f"v = {name}.tolist()", f"v = repr({name})", f"v = bool(({name} == {name}).all())"]
        lines += [f"v = float(abs({name}).max())", f"v = {name}.tobytes()", f"v = [x for x in {name}.flat]"]
        lines += [f"v = len({name})", f"v = [str(x) for x in {name}]", f"v = {name}.item(0)", f"v = 3 in {name}"]
        lines += [f"v = ({name}.shape, {name}.ndim, {name}.dtype, {name}.size, {name}.nbytes)"]
        lines += [f"v = np.array_equal({name}, {self.like(a)})", f"v = np.result_type({name}, 1.5)"]
        lines += [f"v = np.allclose({name}, {self.like(a)})", f"v = {name}.flags.writeable", f"v = hash({name})"]
        lines += [f"v = bool({name})", f"v = int({name})"]
        return self.rng.choice(lines)

    def copied(self) -> str:
        name = self.pick()[0]
        lines = [f"{name}.copy()", f"np.array({name})", f"np.copy({name}, order='F')", f"np.asarray({name})"]
        lines += [f"{name}[...]", f"np.ascontiguousarray({name})", f"{name}.copy(order='K')", f"np.array({name}, ndmin=2)"]
        lines += [f"np.asfortranarray({name})", f"+{name}", f"__import__('copy').copy({name})"]
        lines += [f"__import__('pickle').loads(__import__('pickle').dumps({name}))", f"np.asanyarray({name})"]
        return f"{{}} = {self.rng.choice(lines)}"

    def selected(self) -> str:
        name, a = self.pick()
        other = self.like(a)
        lines = [f"np.where({name} > 0, {name}, {other})", f"np.clip({name}, -1, 2)", f"np.where({self.mask(a.shape)}, {name}, 0)"]
        lines += [f"np.select([{name} > 2, {name} < 0], [{name}, {name} * 2], {name})", f"np.nan_to_num({name})"]
        lines += [f"np.isclose({name}, {other})", f"np.round({name}, 0)", f"np.clip({name}, {other}, 3)"]
        lines += [f"np.piecewise({name}, [{name} < 0], [0, 1])", f"np.heaviside({name}, 1)"]
        return f"{{}} = {self.rng.choice(lines)}"

    def statistic(self) -> str:
        name, a = self.pick(kinds="fiu")
        axis = self.axis(a.ndim)
        lines = [f"np.mean({name}, axis={self.axis(a.ndim, several=True)})", f"np.var({name}, axis={axis})"]
        lines += [f"np.std({name}, axis={axis}, ddof=1)", f"np.median({name}, axis={axis})", f"np.average({name}, axis={axis})"]
        lines += [f"np.percentile({name}, [25, 50], axis={axis})", f"np.histogram({name}, 4)[0]", f"np.linalg.norm({name})"]
        lines += [f"np.nanmean({name}, axis={axis})", f"np.mean({name}, axis={axis}, keepdims=True, where={self.mask(a.shape)})"]
        lines += [f"np.sqrt(abs({name}))", f"np.exp(-abs({name}))", f"np.cov({name})", f"np.interp({name}, [0, 1, 3], [1, 2, 5])"]
        lines += [f"np.gradient({name})", f"np.convolve(np.ravel({name}), [1, 2, 1])", f"np.histogram({name}, [-2, 0, 3])[0]"]
        lines += [f"np.quantile({name}, 0.3, axis={axis})", f"np.trapezoid({name})", f"np.fft.fft({name}, axis={axis}).real"]
        return f"w = {self.rng.choice(lines)}"

    def converted(self) -> str:
        name, a = self.pick()
        target = self.rng.choice(DTYPES)
        if target[0] == "u" or (a.dtype.kind in "fc" and target[0] in "iu"):
            return f"{{}} = abs({name}).astype('i8').astype('{target}')" if numpy.isfinite(a).all() else "v = 0"
        options = self.rng.choice(["", "", ", copy=False", ", order='F'", ", casting='safe'"])
        return f"{{}} = {name}.astype('{target}'{options})"

    def methods(self) -> str:
        name, a = self.pick()
        axis = self.axis(a.ndim)
        lines = [f"{name}.sort()", f"{name}.fill({self.number(a.dtype)})", f"{name}.sort(axis={axis})", f"{name}.flat = 3"]
        lines += [f"{name}.T[...] = {self.number(a.dtype)}", f"{name}.real = 2", f"{name}.imag = 1", f"{name}.real += 1"]
        lines += [f"{name}.itemset" if self.rng.random() < 0.1 else f"{name}.shape = {(a.size,)}", f"{name}.put([0], 4)"]
        lines += [f"{{}} = {name}.cumsum({axis})", f"v = {name}.max({axis})", f"{{}} = {name}.clip(0, 3)", f"{{}} = {name}.take([0, -1])"]
        lines += [f"{{}} = {name}.argsort({axis}, kind='stable')", f"{{}} = {name}.repeat(2)", f"{{}} = {name}.compress([1, 0])"]
        lines += [f"{{}} = {name}.byteswap().byteswap()", f"{{}} = {name}.nonzero()[-1]", f"{name}.reshape(-1)[::2] = 1"]
        lines += [f"{name}.ravel()[:2] += 1", f"{{}} = {name}.squeeze()"]
        return self.rng.choice(lines)

    def created(self) -> str:
        name, a = self.pick()
        n = self.rng.randint(0, 9)
        lines = [f"np.zeros_like({name})", f"np.full_like({name}, 3)", f"np.arange({n})", f"np.linspace(0, {n}, {n + 1})"]
        lines += [f"np.ones({a.shape}, '{self.rng.choice(DTYPES)}')", f"np.eye({n}, {n + 1}, k=1)", f"np.arange({n}, -2, -2)"]
        lines += [f"np.full({a.shape}, 2, order='F')", f"np.indices(({n}, 3))[1]", f"np.meshgrid(np.arange(3), np.arange({n}))[0]"]
        lines += [f"np.fromfunction(lambda i, j: i + 2 * j, (3, {n}))", f"np.tri({n}, 4)", f"np.diag(np.arange({n}))", f"np.ones({n}) * 2"]
        lines += [f"np.broadcast_to(np.arange(3), ({n}, 3))", f"np.identity({n})", f"np.vander(np.arange(3), {n})"]
        return f"{{}} = {self.rng.choice(lines)}"

    def of_flat(self) -> str:
        name, a = self.pick()
        n = a.size
        lines = [f"{{}} = {name}.flat[::2]", f"{name}.flat[::3] = 2", f"{name}.flat[[0, -1]] = [1, 2]", f"{{}} = {name}.flat[[0]]"]
        lines += [f"{name}.flat[{n // 2}] = 1", f"v = {name}.flat[{n // 2}]", f"{{}} = np.add({name}.flat, 1)", f"{{}} = np.array({name}.flat).copy()"]
        lines += [f"{name}.flat = {self.like(a)}", f"{name}.flat[:] = [1, 2]", f"{{}} = {name}.flat[np.ravel({name}) > 0]"]
        return self.rng.choice(lines)

    def broken(self) -> str:
        """Mostly mistakes."""
        name, a = self.pick()
        other = self.pick()[0]
        lines = [f"{{}} = {name}[{max(a.shape, default=0)}]", f"{name}[{max(a.shape, default=0)}] = 1", f"{{}} = {name}.reshape(7, 13)"]
        lines += [f"{name}[...] = np.ones(13)", f"{name} += np.ones(13)", f"{name} += 1j", f"{name} += 0.5", f"{{}} = {name}[..., ...]"]
        lines += [f"{{}} = {name}[1.5]", f"{{}} = {name}['x']", f"np.broadcast_to({name}, {(2, *a.shape)})[...] = 1", f"{name}[[99]] = 1"]
        lines += [f"{{}} = np.concatenate([{name}, np.ones((1, 1, 1, 1, 1))])", f"{{}} = np.add({name}, 1, out={other})"]
        lines += [f"{{}} = np.sum({name}, axis={a.ndim})", f"{{}} = np.transpose({name}, [0, 0])", f"{{}} = {name} @ {other}"]
        lines += [f"{name}[{name} > 0] = [1, 2, 3, 4, 5, 6, 7]", f"{{}} = {name}[np.ones(13, bool)]", f"{{}} = np.max({name}[:0])"]
        lines += [f"{{}} = np.add({name}, {other}, where=1.5)", f"{{}} = {name}.astype('f4', casting='no')", f"{name}.shape = (7, 13)"]
        lines += [f"{{}} = np.take({name}, 99)", f"np.put({name}, 99, 1)", f"{name}.foo = 1" if self.rng.random() < 0.05 else f"{name}.foo"]
        lines += [f"{{}} = np.sort({name}, axis=9)", f"{{}} = np.stack([{name}, {other}])", f"{{}} = np.split({name}, 5)[0]", f"{name}[0, 0, 0, 0, 0, 0]"]
        lines += [f"{name} ** -1", f"{{}} = {name} << {other}", f"{{}} = ~{name}", f"{{}} = -{name}", f"{{}} = {name} - {other}"]
        lines += [f"{{}} = np.cross({name}, {other})", f"{{}} = np.linalg.inv({name})", f"{{}} = np.moveaxis({name}, 0, 5)"]
        lines += [f"{name}[:2, ::-1] = 'a'", f"{name}[...] = None", f"{name}[...] = [[1, 2], [3]]", f"{{}} = np.array({name}, 'M8[s]')"]
        return self.rng.choice(lines)

    def export(self) -> str:
        name, _ = self.pick()
        self.exports += 1
        return f"e{self.exports} = exported({name})"

    def bump(self) -> str:
        good = [n for n in self.whole if self.names[n].dtype.kind in "fiuc" and self.names[n].flags.writeable]
        return f"bumped({self.rng.choice(good)})" if good else "v = 0"

    def move(self) -> str:
        return f"{{}} = moved({self.pick()[0]}, {self.rng.randint(0, 99)})"


def draw(
    seed: int, lines: int, *, exports: bool = False, ranks: bool = False, kind: type[Generator] = Statements
) -> Program:
    """The program of a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = kind(seed, exports=exports, ranks=ranks)
        for _ in range(program.rng.randint(2, lines)):
            program.step()
    return replay(seed, program.start, program.texts)
