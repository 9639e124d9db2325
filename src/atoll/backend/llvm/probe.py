"""Probes how the installed NumPy computes, once."""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np

_FORMS = ("plain", "fused")


@functools.cache
def complex_product(dtype: str) -> str:
    """How NumPy rounds a complex product: ``plain``, ``fused``, or ``unknown``.

    ``plain`` rounds the four products and the two sums; ``fused`` rounds one product of each
    part and then a multiply-add. Complex multiplication is not supported where it is unknown.
    """
    kind = np.dtype(dtype)
    part = np.dtype(kind.type(0).real.dtype)
    generator = np.random.default_rng(20240229)
    samples = generator.standard_normal((4, 64)).astype(part)
    a, b = np.empty(64, kind), np.empty(64, kind)
    a.real, a.imag, b.real, b.imag = samples
    for form in _FORMS:
        expected = np.array([_product(form, part, *row) for row in samples.T], kind)
        if np.array_equal(expected, a * b):
            return form
    return "unknown"


def _product(form: str, part: np.dtype[np.generic], *numbers: float) -> complex:
    ar, ai, br, bi = (Fraction(float(number)) for number in numbers)

    def rounded(value: Fraction) -> Fraction:
        return Fraction(float(part.type(float(value))))

    if form == "plain":
        real = rounded(ar * br) - rounded(ai * bi)
        imag = rounded(ar * bi) + rounded(ai * br)
    else:
        real = ar * br - rounded(ai * bi)
        imag = ar * bi + rounded(ai * br)
    return complex(float(rounded(real)), float(rounded(imag)))
