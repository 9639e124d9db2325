"""NumPy on every core of a machine and every machine of a cluster."""

from ._version import __version__ as __version__
from .config import config as config
from .run.statistics import reset_stats as reset_stats
from .run.statistics import stats as stats
