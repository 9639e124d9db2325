"""Each mutation of ``python -m tests.mutations`` applies to the source, and the tests it names exist."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .mutations.edits import Stale, apply
from .mutations.rules import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_rule_can_be_broken(mutation: Mutation) -> None:
    for edit in mutation.edits:
        try:
            path, text = apply(ROOT / "src" / "atoll", edit)
        except Stale as stale:
            pytest.fail(f"tests/mutations/rules.py, {mutation.rule!r}: {stale}", pytrace=False)
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(path.read_text())), edit
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert f"def {name.split('[')[0]}" in (ROOT / file).read_text(), test


PROGRAM = """
class Table:
    def look(self, key):
        # a comment
        if (key in
                self.rows): return self.rows[key]
        self.close(); self.close(key)
        return None

def look(key):
    return key + 1
"""


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (("Table.look", "key in self.rows", "True"), "if True:"),
        (("Table.look", "ANY.close(key)", "None"), "self.close()\n        None\n"),
        (("Table.look", "return ANY.rows[ANY]", "print(key)\nMATCH"), "print(key)\n            return"),
        (("look", "ANY + 1", "MATCH * 2"), "return (key + 1) * 2"),
        (("look", "", "if key:\n    return 0\nMATCH"), "if key:\n        return 0\n    return key + 1"),
        (("look", "key - 1", "0"), "contains 0 times"),
        (("Table.look", "ANY.close(*ANY)", "0"), "contains 2 times"),
        (("Table.see", "ANY.close(*ANY)", "0"), "no function Table.see"),
    ],
)  # fmt: skip
def test_edits_do_not_depend_on_the_text(
    tmp_path: Path, edit: tuple[str, str, str], expected: str
) -> None:
    (tmp_path / "table.py").write_text(PROGRAM)
    try:
        _, text = apply(tmp_path, edit)
    except Stale as stale:
        text = str(stale)
    assert expected in text
