"""Each rule that ``python -m tests.mutations`` breaks is still written as it says, and the tests it names are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from .mutations.rules import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_rule_can_be_broken(mutation: Mutation) -> None:
    for file, text, other in mutation.edits:
        assert (ROOT / "src" / "atoll" / file).read_text().count(text) == 1, (file, text)
        assert text != other
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert f"def {name.split('[')[0]}" in (ROOT / file).read_text(), test
