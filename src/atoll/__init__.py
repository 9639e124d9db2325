"""NumPy on every core of a machine and every machine of a cluster."""

from ._version import __version__ as __version__
