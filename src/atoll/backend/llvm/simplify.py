"""Simplifies bodies without changing a bit of their results.

``absolute(z) < limit`` of complex numbers is decided by the square of the size, where that is
ordinary: see :func:`.transcendental.compare_size`. The root is not taken at all then.
Short integers are divided by a number of the whole nest by way of its inverse: see :mod:`.integers`.
"""

from __future__ import annotations

from ..spec import Instruction, KernelSpec, whole
from .integers import QUICK, SHORT, inverse_dtype

_EDGES = {"less": "from", "greater_equal": "from", "less_equal": "above", "greater": "above"}


def simplified(spec: KernelSpec) -> KernelSpec:
    """The kernel with comparisons of sizes, and divisions by numbers, in their quick forms."""
    old = spec.body
    fitting = {n for n in range(len(old)) if _compares_size(old, n)}
    divided = {n for n in range(len(old)) if _divides_by_number(old, n)}
    if not fitting and not divided:
        return spec
    body: list[Instruction] = []
    place: list[int] = []

    def moved(instruction: Instruction) -> tuple[int | float | complex, ...]:
        if instruction.op in ("load", "scalar", "const", "index"):
            return instruction.args
        first = 1 if instruction.op == "store" else 0
        return (*instruction.args[:first], *[place[whole(a)] for a in instruction.args[first:]])

    for number, instruction in enumerate(old):
        args = moved(instruction)
        if number in fitting:
            size, limit = (old[whole(a)] for a in instruction.args)
            edge = f"absolute.{_EDGES[instruction.name]}"
            body.append(Instruction("call", limit.dtype, args[1:], edge))
            quick = (place[whole(size.args[0])], int(args[1].real), len(body) - 1)
            body.append(Instruction("call", "b1", quick, f"absolute.{instruction.name}"))
        elif number in divided:
            wide = inverse_dtype(instruction.dtype)
            body.append(Instruction("call", wide, args[1:], "inverse"))
            by = (*args, len(body) - 1)
            body.append(Instruction("call", instruction.dtype, by, f"{instruction.name}.by"))
        else:
            body.append(instruction._replace(args=args))
        place.append(len(body) - 1)
    reductions = [
        reduction._replace(
            value=place[reduction.value],
            position=place[reduction.position] if reduction.position >= 0 else -1,
        )
        for reduction in spec.reductions
    ]
    return spec._replace(body=tuple(body), reductions=tuple(reductions))


def _compares_size(body: tuple[Instruction, ...], number: int) -> bool:
    """True if an instruction compares the size of a complex number with a number of the whole nest."""
    instruction = body[number]
    if instruction.op != "call" or instruction.name not in _EDGES:
        return False
    size, limit = (body[whole(a)] for a in instruction.args)
    return (
        size.op == "call"
        and size.name == "absolute"
        and body[whole(size.args[0])].dtype == "c16"
        and _is_number(body, limit)
    )


def _divides_by_number(body: tuple[Instruction, ...], number: int) -> bool:
    """True if an instruction divides short integers by a number of the whole nest."""
    instruction = body[number]
    return (
        instruction.op == "call"
        and instruction.name in QUICK
        and instruction.dtype in SHORT
        and _is_number(body, body[whole(instruction.args[1])])
        and not _is_number(body, body[whole(instruction.args[0])])
    )


def _is_number(body: tuple[Instruction, ...], value: Instruction) -> bool:
    while value.op == "cast":
        value = body[whole(value.args[0])]
    return value.op in ("scalar", "const")
