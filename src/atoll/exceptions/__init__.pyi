# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.exceptions import (
    AxisError as AxisError,
    ComplexWarning as ComplexWarning,
    DTypePromotionError as DTypePromotionError,
    ModuleDeprecationWarning as ModuleDeprecationWarning,
    RankWarning as RankWarning,
    TooHardError as TooHardError,
    VisibleDeprecationWarning as VisibleDeprecationWarning,
)
