"""Rules broken on purpose, to see that their tests notice: ``python -m tests.mutations [word ...]``.

Each mutation names a rule, the edits that break it in a copy of the source, and the tests that must fail then. The
copy lies in a temporary folder; nothing is changed here. A mutation whose text is no longer in the source is
reported, too: whoever moved the rule moves the mutation with it.
"""
