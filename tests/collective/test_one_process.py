"""One process pays nothing for what only several ranks need."""

import subprocess
import sys

PROGRAM = """
import sys
import atoll as np
a = np.ones((400, 400))
assert float((a[1:] + a[:-1]).sum()) == 2 * 399 * 400
print("before", "atoll.lazy.fancy_indexing" in sys.modules, "atoll.lazy.products" in sys.modules)
assert (a @ a)[3, 4] == 400
assert a[[1, 2]].shape == (2, 400)
print("after", "atoll.lazy.fancy_indexing" in sys.modules, "atoll.lazy.products" in sys.modules)
"""


def test_the_modules_for_ranks_are_imported_at_their_first_use():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.split("\n")[:2] == ["before False False", "after True True"]
