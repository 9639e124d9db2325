"""Geometries are interned: equal ones are one object, different ones never are."""

import subprocess
import sys

PROGRAM = """
import numpy as np
from atoll.graph.geometry import dense

kind = np.dtype(float)
bases = [dense((7, 5), kind), dense((6, 5), kind), dense((5, 7), kind)]
lines = [dense((n,), kind) for n in (35, 30)]
views = [base.derived("ravel", lambda s: s.reshape(-1)) for base in bases]
assert all(view.base is base for view, base in zip(views, bases)), "a view was taken for a base"
assert all(line.is_base for line in lines)
"""


def test_views_of_the_first_bases_of_a_process_are_no_bases():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=50)
