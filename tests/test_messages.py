"""Messages of errors: each names a rule, the value that breaks it, and what to do, in plain English.

``python -m tests.test_messages`` lists the messages of the package, to be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from atoll import errors

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "atoll"

OWN = {name for name, value in vars(errors).items() if isinstance(value, type)}
"""The classes of atoll's own errors: their words are atoll's, not NumPy's."""

RULE = re.compile(
    r"\b(must|needs?|cannot|could not|can|only|at least|there (is|are) no|has no|have no|no (rank|part)|takes|is not|are not"
    r"|do not|does not|did not|not done|waits? for|waited|lost|damaged|no valid|failed|lies on|has died|disagree|whole"
    r"|out of memory|nothing moved|have ended)\b"
)
"""How rules are said, and what has happened to a message, a file or a cluster."""
SHORT = 30
"""So many letters beside the values are no message of their own: they pass on another one."""

BAD = {
    r"\ba <type>": "write a_type(value): an int, a list",
    r"\bis no [a-z]+ (of|that|file)\b|\bis none of\b|\bis to have\b|\bis said to be\b": "say what it must be",
    r"\bis wanted\b|\bare wanted\b": "say what it must be",
    r"\b(one|ones) that\b": "name the thing",
}
"""What a reader has to read twice, and what to write instead."""


class Message(NamedTuple):
    place: str
    kind: str
    text: str
    values: int

    def __str__(self) -> str:
        return f"{self.place} {self.kind}: {self.text}"


def messages() -> Iterator[Message]:
    """The messages that ``raise`` statements have, with ``<name>`` for each value in them."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            kind = ast.unparse(node.exc.func)
            for argument in node.exc.args[:1]:
                parts = [
                    part
                    for part in ast.walk(argument)
                    if isinstance(part, ast.Constant | ast.FormattedValue)
                ]
                if isinstance(argument, ast.JoinedStr | ast.Constant):
                    text = "".join(map(_shown, argument.values if isinstance(argument, ast.JoinedStr) else [argument]))  # fmt: skip
                    count = sum(isinstance(part, ast.FormattedValue) for part in parts)
                    where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                    yield Message(where, kind, text, count)


def _shown(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    text = ast.unparse(part)
    return "<type>" if "__name__" in text and "type(" in text else "<value>"


@pytest.mark.slow
def test_messages_name_rule_and_value() -> None:
    told = [message for message in messages() if message.kind in OWN]
    assert len(told) > 150
    without = [str(message) for message in told if not RULE.search(message.text) and len(message.text.replace("<value>", "")) > SHORT]  # fmt: skip
    assert not without, "these name no rule:\n" + "\n".join(without)
    bare = [
        str(m) for m in told if not m.values and not re.search(r"[;:]|\b(needs|must)\b", m.text)
    ]
    assert not bare, "these name neither a value nor a cure:\n" + "\n".join(bare)


@pytest.mark.slow
def test_messages_are_plain_english() -> None:
    wrong = [
        f"{message}\n  {cure}"
        for message in messages()
        for pattern, cure in BAD.items()
        if re.search(pattern, message.text)
    ]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    for shown in messages():
        print(shown)
