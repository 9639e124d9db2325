# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from atoll.polynomial import (
    chebyshev as chebyshev,
    hermite as hermite,
    hermite_e as hermite_e,
    laguerre as laguerre,
    legendre as legendre,
    polynomial as polynomial,
)
from numpy.polynomial import (
    Chebyshev as Chebyshev,
    Hermite as Hermite,
    HermiteE as HermiteE,
    Laguerre as Laguerre,
    Legendre as Legendre,
    Polynomial as Polynomial,
    polyutils as polyutils,
    set_default_printstyle as set_default_printstyle,
    test as test,
)
