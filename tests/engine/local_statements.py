"""Lines in which ranks do not all do the same, as far as they may: looks of some ranks, numbers and arrays that all have.

A sum is pending, some ranks look at it, others never do, and it is used later; arrays go out by the protocols and come in
again, over the same memory, while operations on them are pending.
"""

# fmt: off
from __future__ import annotations

from . import loop_statements


class LocalStatements(loop_statements.LoopStatements):
    """Draws lines of all files, and of this one."""

    def __init__(self, seed: int, *, exports: bool, ranks: bool) -> None:
        super().__init__(seed, exports=exports, ranks=ranks)
        self.kinds += [self.fold_to_number, self.fold_to_number, self.use, self.use, self.peek, self.peek, self.peek_array, self.everywhere, self.again, self.grouped] * 6
        self.numbers = ["s0", "s1", "s2"]

    def fold_to_number(self) -> str:
        name, _ = self.pick()
        text = self.chain(name) if self.rng.random() < 0.4 else name
        which = self.rng.choice(["sum", "max", "min", "any", "all", "prod", "argmax", "argmin"])
        some = self.rng.choice(self.numbers)
        other = self.rng.choice(self.numbers)
        lines = [f"{some} = {text}.{which}()"] * 4 + [f"{some} = np.count_nonzero({text})", f"{some} = {text}.sum() + {name}.max()", f"{some} = {other} * 2", f"{some} = {other} + {text}.sum()", f"{some} = np.maximum({other}, 2)"]
        lines += [f"{some}, {other} = {text}.sum(), {name}.min()", f"{some} = np.sqrt(abs({text}).sum() * 0 + 4)", f"{some} = np.where({other} > 1, {other}, 1)", f"{some} = ({text} == {text}).all()"]
        return self.rng.choice(lines)

    def use(self) -> str:
        name, a = self.pick()
        text = self.chain(name)
        some = self.rng.choice(self.numbers)
        lines = [f"{{}} = {name} + {some}", f"{text}[...] = {some}", f"{name} += {some}", f"{name} *= {some}", f"{{}} = np.where({name} > {some}, {name}, {some})", f"{name}[{name} > {some}] = 0", f"v = {some} + 0", f"v = float({some})"]
        lines += [f"{text}[...] -= {some}", f"np.add({text}, {some}, out={text})", f"v = [{some}, {name}.max()]", f"{{}} = np.full({a.shape}, {some})", f"{{}} = np.array([{some}, {some}])", f"v = ({name} - {some}).sum()", f"if {some} > 1: {name} -= 1", f"v = {name}[int({some}) % len({name})]", f"{{}} = {some} * np.ones({a.shape})"]
        return self.rng.choice(lines)

    def peek(self) -> str:
        some = self.rng.choice(self.numbers)
        return self.rng.choice([f"peeked({some}, {self.rng.randint(0, 255)})"] * 3 + [f"peeked({some} * 2 + 1, {self.rng.randint(0, 255)})", f"peeked({some}, 0); del {some}; {some} = 1"])

    def everywhere(self) -> str:
        return f"{{}} = everywhere({self.pick()[0]})"

    def peek_array(self) -> str:
        """A look at what every rank has, on some."""
        name, _ = self.pick()
        how = self.rng.choice(["", "[:1]", " * 2", ".sum()", ".T", ".ravel()[:2]", " + 1"])
        return f"t = everywhere({name})\nt = t{how}\npeeked(t, {self.rng.randint(0, 255)})\nv = t + 0"

    def again(self) -> str:
        """Out by a protocol, and in again: the same memory under another name, or a copy of what has none to give."""
        which = self.rng.choice(["distarray", "distarray", "partitioned", "pickled", "local"])
        name, _ = self.pick(ndim=1)
        temporary = self.rng.choice([f"moved({name}, {self.rng.randint(0, 99)})", f"(+{name})", f"{name}.copy()"])
        return f"{{}} = again({temporary}, {which!r})" if self.rng.random() < 0.7 else f"{{}} = again({name}, {which!r}).copy()"

    def grouped(self) -> str:
        """An operation on all ranks while some have garbage."""
        return f"littered({self.rng.randint(0, 255)})"
