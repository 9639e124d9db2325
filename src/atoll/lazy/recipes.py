"""Recipes: the operations of a function call, recorded again without calling the function.

A mean is a sum and a division; a padded array is assignments of parts. The operations that a function records follow from the
geometries of its arrays and from its other arguments. So the second call with the same ones makes a recipe, from which the native recorder
(``_native/recipes.c``) records the next ones. A function that makes data of its own, or takes a collective step, has no
recipe. Functions that read values must not have one: ``recorder`` lists the functions that do not. If a function returns a
number, :func:`tail` declares the last step on the evaluated number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..comm.world import current_world
from ..config import config
from ..context.caches import Memo
from ..graph.node import Node, next_born
from ..graph.op import Op
from .views import Cell, Handle

Step = tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...], bool, Any]
"""Form of a node; its operands (numbers of nodes from 0 up, of scalars from -1 down); scalars; True if it has
the call site of the call; its distribution, if its operands do not determine it."""

Recipe = tuple[tuple[Step, ...], Any, tuple[Callable[[Any], Any], ...]]
"""The steps; the geometry of the result, if it is a view of the last node; the functions applied to a number."""

recipes: Memo[Any, Recipe | None] = Memo()
"""By function, geometries and arguments; ``None`` for a call that was met once, or has no recipe."""


class Learner:
    """Recording of a call with arrays of given nodes."""

    __slots__ = ("alone", "born", "inputs", "logs", "number", "numbers", "steps_taken", "tails")
    now: Learner | None = None

    def __init__(self, inputs: Sequence[Node]) -> None:
        self.inputs = inputs
        world = current_world()
        self.logs = {world.communicator.log, *[node.place.log for node in inputs if node.place]}
        self.alone = world.size == 1
        self.steps_taken = self.step
        self.born = next_born()
        self.numbers: list[tuple[Step, ...] | None] = []
        """The steps of each number that was evaluated."""
        self.number: Any = None
        """The latest number, and the functions applied to it."""
        self.tails: list[Callable[[Any], Any]] = []

    def evaluated(self, root: Node) -> None:
        """Note the steps of a number that is evaluated now."""
        self.numbers.append(None if self.is_joint else self.steps(root))

    def gave(self, number: Any) -> None:
        """Note the number, which ranks may have computed together."""
        self.number = number
        self.steps_taken = self.step

    @property
    def step(self) -> int:
        """Number of steps that the ranks of all worlds of the call have taken."""
        return sum([log.number for log in self.logs])

    @property
    def is_joint(self) -> bool:
        """True if ranks have taken a step, beside computing a number: one that has a recipe would not take it."""
        return self.step != self.steps_taken

    def steps(self, root: Node) -> tuple[Step, ...] | None:
        """Steps that record a node; ``None`` if it does not follow from the arguments."""
        places: dict[Node, int] = {}
        for place, node in enumerate(self.inputs):
            places.setdefault(node, place)
        count = len(self.inputs)
        steps: list[Step] = []
        stack = [root]
        while stack:
            node = stack[-1]
            if node in places:
                stack.pop()
                continue
            if not self._repeats(node):
                return None
            waiting = [arg for arg in node.args if type(arg) is Node and arg not in places]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            numbers = [arg for arg in node.args if type(arg) is not Node]
            operands = []
            left = iter(range(-1, -1 - len(numbers), -1))
            for arg in node.args:
                operands.append(places[arg] if type(arg) is Node else next(left))
            form = (
                node.op,
                node.geometry,
                node.params,
                node.name,
                node.identify(),
                node.mark or node.marked(),
            )
            lies = None if any(type(arg) is Node for arg in node.args) else node.place
            steps.append((form, tuple(operands), tuple(numbers), node.site is not None, lies))
            places[node] = count
            count += 1
        return tuple(steps)

    def _repeats(self, node: Node) -> bool:
        """True if a node was recorded by the call, and follows from its operands and its form alone."""
        op: Op = node.op
        is_new = op.is_number or op.from_index
        # ranks remember different forms: the distribution of a new array depends on more than the call, except for a join, and for
        # an array of which every rank has all
        whole = node.place is None and node.geometry.size < config.everywhere
        follows = self.alone or bool(node.name) or whole
        known = op.elementwise or op.is_view or op.is_update or op.folds or (is_new and follows)
        return known and node.value is None and node.born >= self.born and node.weight >= 0

    def recipe(self, result: Any) -> Recipe | None:
        """The recipe of a call with this result."""
        if self.is_joint:
            return None
        if type(result) is not Handle.array_type:
            steps = self.numbers[0] if len(self.numbers) == 1 and result is self.number else None
            return (steps, None, tuple(self.tails)) if steps else None
        if self.numbers or result._np is not None:
            return None
        root, geometry = result._cell.node, result._geometry
        if not root.geometry.ndim:  # the native recorder would make a number of it
            return None
        steps = self.steps(root)
        return (steps, None if geometry is root.geometry else geometry, ()) if steps else None


def learn(
    key: Any, inputs: Sequence[Node], function: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a function, and note the operations that it records; ``inputs`` are the nodes of its arrays."""
    before, learner = Learner.now, Learner(inputs)
    Learner.now = learner
    try:
        result = function(*args, **options)
    finally:
        Learner.now = before
    recipe = learner.recipe(result)
    if recipe is not None and not _shows(result, (*args, *options.values())):
        recipes[key] = recipe
    return result


def _shows(result: Any, values: Iterable[Any]) -> bool:
    """True if a result is one of these arrays, or a view of one: perhaps it was written to."""
    cell = getattr(result, "_cell", None)
    return any(
        _shows(result, value)
        if isinstance(value, (list, tuple))
        else cell is not None and getattr(value, "_cell", None) is cell
        for value in values
    )


def is_read_now(cell: Cell) -> bool:
    """True if an operation that reads a cell is computed at once: the program may write to the memory afterwards.

    A function whose recipe is learnt records all of its operations first.
    """
    return bool(cell.pins) and Learner.now is None and cell.held() and not cell.is_held_alone()


def tail(number: Any, function: Callable[[Any], Any]) -> Any:
    """``function(number)``, which belongs to the recipe if the call has evaluated the number."""
    result = function(number)
    learner = Learner.now
    if learner is not None:
        if number is learner.number:
            learner.number = result
            learner.tails.append(function)
        else:
            learner.numbers.append(None)  # no recipe
    return result
