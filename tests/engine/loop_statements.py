"""Lines that run again and again, and loops over rows and elements: what memory of earlier turns may get wrong.

Plans that move, patterns, tiles, drafts of kernels, lines that are left to NumPy: all of these begin at the second, third or
hundredth turn. So blocks of lines that were drawn before come again here, with a ``config.small`` of the program's own, since
pieces are what is smaller than that.
"""

# fmt: off
from __future__ import annotations

from . import nested_statements

SMALL = [0, 2, 3, 5, 9, 14, 30]
"""What ``config.small`` may be."""
STEPS = ["range(len({0}))", "range(1, len({0}))", "range(len({0}) - 1)", "range(len({0}) - 1, -1, -1)", "range(0, len({0}), 2)"]
STEPS += ["[0, -1, 0, -1, 0, -1]", "list(range(len({0}))) * 3", "range(-len({0}), 0)"]


class LoopStatements(nested_statements.NestedStatements):
    """Draws lines of all files, blocks of them again, and loops over pieces."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        super().__init__(seed, exports=exports, ranks=ranks)
        self.kinds += [self.pieces, self.pieces, self.pieces, self.kept_pieces, self.elements, self.picked_pieces, self.moving] * 3

    def step(self) -> None:
        if len(self.texts) < 2 or self.rng.random() > 0.3:
            return super().step()
        first = self.rng.randrange(len(self.texts))
        block = self.texts[first : first + self.rng.randint(1, 3)]
        kinds = self.kinds
        for _ in range(self.rng.choice([2, 3, 5, 8])):
            for text in block:
                self.kinds = [lambda text=text: text]
                super().step()
        self.kinds = kinds
        return None

    def bodies(self, name: str, other: str) -> list[str]:
        """What one turn does with row ``k``."""
        number = self.rng.choice(["1", "k", "0.5", "-2", "2.0", "np.float32(1.5)", "np.int64(2)", "True", "[1]", "np.arange(1)"])
        op = self.rng.choice(["+=", "-=", "*=", "=", "=", "//=", "|="])
        one, two = self.rng.choice(["k", "k - 1", "0", "-1", "-k", "k // 2"]), self.rng.choice(["k", "k - 1", "-1", "0", "-1 - k"])
        part = self.rng.choice(["", "", ", ..., 1:", ", ..., ::-1", ", ..., 0", ", ..., ::2", ", ..., :-1", ", ..., -1"])
        more = self.rng.choice(["", "", ", ..., 1:", ", ..., ::-1", ", ..., 0", ", ..., ::2", ", ..., :-1"])
        here, there = f"{name}[{one}{part}]", f"{self.rng.choice([name, name, other])}[{two}{more}]"
        bodies = [f"{here} {op} {number}", f"{here} {op} {there}", f"{here} {op} {there} {self.rng.choice('+-*')} {number}"]
        bodies += [f"v.append({here}.sum())", f"v.append(({here} * 2).max())", f"v.append({here}.tolist())", f"v.append({here} + {there})", f"v.append({here}.copy())"]
        bodies += [f"{here} {op} v[-1] if v else {number}", f"{here} = {here}[::-1]", f"{name}[{one}].fill(k)", f"np.add({here}, {number}, out={here})"]
        bodies += [f"r = {here}; {name}[{one}] {op} {number}; v.append(r.copy())", f"r = {here}; r {op} {number}; v.append({name}[{one}] + 0)", f"t = {name} * 2; {here} {op} {number}; v.append(t[0] + 0)"]
        bodies += [f"s = {name}.sum(); {here} {op} {number}; v.append(s + 0)", f"{name} += 1" if self.rng.random() < 0.3 else f"v.append({name}.sum())", f"c = {name}.copy(); {here} {op} {number}; v.append(c.sum())"]
        bodies += [f"{name}.T[..., {one}] {op} {number}", f"v.append({name}.T[..., {one}].sum())", f"{name}[{one}], {name}[{two}] = {name}[{two}].copy(), {name}[{one}].copy()"]
        bodies += [f"if {name}[{one}].sum() > 2: {here} {op} 0", f"np.copyto({here}, {there})", f"v.append(float({here}.sum()) + float({there}.max()))", f"{name}[{one}:] {op} {number}", f"v.append({name}[:k].sum())"]
        return bodies

    def loop(self, name: str, bodies: list[str], *, before: str = "v = []", after: str = "") -> str:
        steps = self.rng.choice(STEPS).format(name)
        lines = [before, f"for k in {steps}:"] + ["    " + line for line in bodies]
        return "\n".join(lines + ([after] if after else []))

    def pieces(self) -> str:
        name, _ = self.pick(ndim=1)
        bodies = self.bodies(name, self.pick(ndim=1)[0])
        return self.loop(name, self.rng.sample(bodies, self.rng.randint(1, 3)))

    def kept_pieces(self) -> str:
        """Rows that somebody keeps while the array changes, and the other way round."""
        name, a = self.pick(ndim=1)
        number = self.number(a.dtype)
        view = self.rng.choice([name, f"{name}[::-1]", f"{name}.T", f"{name}[1:]", f"{name}[...]"])
        texts = [f"r = list({view})\n{name} += 1\nv = [x + 0 for x in r]", f"r = list({view})\nfor x in r: x += 1\nv = {name} + 0", f"r = [{view}[k] for k in range(len({view}))]\n{name}[0] = {number}\nr[-1][...] = 3\nv = [x.tolist() for x in r]"]
        texts += [f"v = []\nfor k, x in enumerate({view}):\n    x[...] = {number} if k % 2 else x * 2\n    v.append({name}.sum())", f"r = [x for x in {view} for _ in range(2)]\n{view}[...] = {number}\nv = np.stack(r)"]
        texts += [f"v = []\nfor x, y in zip({view}, {name}):\n    v.append((x + y).sum())\n    y[...] = {number}", f"r = {view}[0]\nfor k in range(6): v = {name}[k % len({name})].sum()\nr += 1\nv = {name}[0] + 0\n"]
        texts += [f"v = sum({view})", f"v = max(x.sum() for x in {view})", f"v = np.array([x for x in {view}])", f"v = np.array(list({view}))[0] + {view}[-1]", f"{view}[...] = [x * 2 for x in {view}]", f"v = sorted(float(x.sum()) for x in {view})"]
        return self.rng.choice(texts)

    def elements(self) -> str:
        name, a = self.pick(ndim=1)
        if not a.size:
            return f"v = {name}.tolist()"
        place = ", ".join(["k"] + [str(self.rng.randrange(-n, n)) for n in a.shape[1:]])
        shifted = ", ".join(["k - 1"] + [str(self.rng.randrange(-n, n)) for n in a.shape[1:]])
        here, there = f"{name}[{place}]", f"{name}[{shifted}]"
        op = self.rng.choice(["=", "+=", "-=", "*="])
        number = self.rng.choice(["1", "k", "0.5", "np.float64(2)", "np.uint8(3)", "True"])
        bodies = [f"{here} {op} {there}", f"{here} {op} {number}", f"v.append({here})", f"v.append(float({here} + {there}))", f"{here} {op} {there} + {number}", f"if {here} > {there}: {here}, {there} = {there}, {here}"]
        bodies += [f"{here} = max({here}, {there})", f"v.append({name}.item({place}))", f"v.append(({here}).dtype)", f"{here} {op} v[-1] if v and np.ndim(v[-1]) == 0 and not isinstance(v[-1], np.dtype) else 1", f"{name}.flat[k] {op} 1", f"v.append({name}.flat[k])"]
        return self.loop(name, self.rng.sample(bodies, self.rng.randint(1, 3)))

    def picked_pieces(self) -> str:
        name, a = self.pick(ndim=1)
        n = a.shape[0]
        if not a.size:
            return f"v = {name}.tolist()"
        some = str([self.rng.randrange(-n, n) for _ in range(self.rng.randint(1, 4))])
        key = self.rng.choice([some, f"np.array({some})", f"np.array({some}) // 2", f"[k] + {some}", f"np.arange(k, k + 3) % {n}", f"np.arange({n}) == k"])
        if a.ndim > 1 and self.rng.random() < 0.5:
            key += self.rng.choice([", ::-1", ", 0", ", ...", ", None", ", [0, -1]" if "==" not in key and key.count(",") == 1 else ", -1", ", 1:"])
        op, number = self.rng.choice(["=", "=", "+=", "-="]), self.rng.choice(["1", "k", "0.5", "np.arange(1)", f"{name}[{key}]", f"{name}[{key}] * 2", f"{name}[0]"])
        bodies = [f"{name}[{key}] {op} {number}", f"v.append({name}[{key}])", f"v.append({name}[{key}].sum())", f"v.append({name}[k] + 0)", f"{name}[k] += 1", f"v.append({name}.sum())", f"np.add.at({name}, {some}, 1)", f"v.append(np.take({name}, {some}, axis=0))"]
        return self.loop(name, self.rng.sample(bodies, self.rng.randint(1, 3)))

    def moving(self) -> str:
        """Slices that move from turn to turn."""
        name, _ = self.pick(ndim=1)
        slices = ["[k:]", "[:k]", "[k + 1:]", "[:-k or None]", "[k:k + 2]", "[k::2]", "[::-1][k:]", "[..., k:]", "[..., :k + 1]", "[-k:]", "[..., ::k + 1]"]
        one, two = self.rng.choice(slices), self.rng.choice(slices)
        op = self.rng.choice(["+=", "-=", "*=", "="])
        bodies = [f"{name}{one} {op} {self.rng.choice(['1', 'k', f'{name}[0]', f'{name}[-1:]', f'{name}{two}.sum()', f'{name}{two}[:1]', f'{name}{one}[::-1]'])}"]
        bodies += [f"v.append({name}{two}.sum())", f"v.append({name}{two} * 2)", f"v.append({name}{two}.{self.rng.choice(['max', 'min', 'any', 'all'])}() if {name}{two}.size else 0)", f"v.append(np.cumsum({name}{two}, axis=0))", f"{name}{two}[...] = {name}{two}[::-1]", f"v.append(np.where({name}{two} > 0, {name}{two}, k))"]
        return self.loop(name, self.rng.sample(bodies, self.rng.randint(1, 3)))
