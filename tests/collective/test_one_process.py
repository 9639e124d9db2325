"""One process pays nothing for what only several ranks, or notebooks, need."""

import subprocess
import sys

PROGRAM = """
import sys
import atoll as np
LATER = [f"atoll.{name}" for name in ("lazy.display", "comm.mpi")]
a = np.ones((400, 400))
assert float((a[1:] + a[:-1]).sum()) == 2 * 399 * 400
assert (a @ a)[3, 4] == 400
assert np.einsum("ij,jk->ik", a + 1, a)[3, 4] == 800
print([name for name in LATER if name in sys.modules])
a._repr_html_()
print([name for name in LATER if name in sys.modules])
"""


def test_modules_are_imported_at_their_first_use():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "['atoll.lazy.display']"]
