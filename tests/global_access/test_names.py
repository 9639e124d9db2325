"""The page that says what Global Arrays' names are here names what there is."""

import re
from pathlib import Path

import numpy as np
import pytest

import atoll
from atoll.comm.world import World
from atoll.config import Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "global_arrays.md"


def places():
    with atoll.onesided(atoll.zeros(4)) as g:
        transfer = g.iget(0)
    return {
        "np": atoll,
        "a": atoll.zeros((3, 3)),
        "b": atoll.zeros((3, 3)),
        "g": g,
        "transfer": transfer,
        "group": World(atoll.world.communicator),
    }


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_every_name_of_the_page_exists():
    known, count = places(), 0
    for line in PAGE.read_text().splitlines():
        cells = line.split("|")
        if len(cells) < 4 or "import" in line:
            continue
        for code in re.findall(r"`([^`]*)`", cells[2]):
            for name in re.findall(r"(?<![\w.])((?:np|a|b|g|group|transfer)(?:\.\w+)+)", code):
                first, *rest = name.split(".")
                value = known[first]
                for part in rest:
                    if (first, part) in (("np", "comm"), ("group", "comm")):
                        break  # mpi4py's
                    value = getattr(value, part)
                count += 1
            for setting in re.findall(r"np\.config\((\w+)=", code):
                assert setting in Settings.__dataclass_fields__, setting
    assert count > 100
    assert np.sum([cells.startswith("|") for cells in PAGE.read_text().splitlines()]) > 90
