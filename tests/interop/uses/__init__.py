"""Typical uses of libraries, a file for each; ``tests/interop/bench.py`` says what their parameters are."""


def fails(with_words):
    """Mark a use that fails with atoll because the library demands an instance of ``numpy.ndarray``."""

    def mark(use):
        use.fails = with_words
        return use

    return mark
