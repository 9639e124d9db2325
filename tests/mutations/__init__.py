"""Rules broken on purpose, to see that their tests notice: ``python -m tests.mutations [word ...]``.

Each mutation (``rules.py``) names a rule, the edits that break it in a temporary copy of the source, and the tests
that must fail then. Edits are anchored on the syntax tree (``edits.py``). The command reports a mutation whose
pattern the source no longer contains: a change that moves the rule moves the mutation with it.
"""
