"""Profiles of whole programs: ``atoll run --profile``, ``ATOLL_RUN_PROFILE``, ``atoll profile``, and programs that do not end well."""

from __future__ import annotations

import json
import re
import sys

import pytest

from atoll.errors import ConfigError
from atoll.profiling import read

from ..cli.commands import atoll, finished

PROGRAM = """\
import os, sys, time
import atoll as np
a = np.ones((1600, 800))
for step in range(5):
    b = np.sqrt(a[1:] + a[:-1])
    print(float(b.sum()))
if "end" not in sys.argv and np.world.rank == np.world.size - 1:
    time.sleep(0.3)
    os.kill(os.getpid(), 9)
print(float((b * 2).max()))
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def events_in(path):
    with open(path) as file:
        return [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]


def data_of(page):
    """What a page shows; it loads nothing."""
    text = page.read_text()
    assert not re.search(r"""(src|href)\s*=|https?:|@import|url\(""", text)
    return json.loads(
        re.search(r'<script id="data" type="application/json">(.*?)</script>', text)[1]
    )


@pytest.mark.slow
def test_a_program_that_ends(program, tmp_path):
    done = atoll("run", "-n", "1", "--profile", str(tmp_path / "out.json"), program, "end")
    assert done.code == 0, done
    assert "program.py in one process" in done.errors
    assert "program.py:5" in done.errors
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "out.html",
        "out.json",
        program[-10:],
    ]
    lines = {event["args"]["line"] for event in events_in(tmp_path / "out.json")}
    assert {"program.py:3", "program.py:5", "program.py:6"} <= lines
    data = data_of(tmp_path / "out.html")
    assert {"program.py:5", "program.py:6"} <= {line["place"] for line in data["lines"]}


@pytest.mark.slow
def test_ranks_that_are_killed(program, tmp_path):
    done = atoll("run", "-n", "2", "--profile", str(tmp_path / "out.json"), program)
    assert done.code == 137, done
    assert "did not end in order" in done.errors
    assert re.search(r"Rank 0 was waiting since .* s at program.py:10 for ", done.errors), done
    events = events_in(tmp_path / "out.json")
    assert {event["pid"] for event in events} == {0, 1}
    assert {event["cat"] for event in events} >= {"call", "kernels", "send", "wait", "plan"}
    data = data_of(tmp_path / "out.html")
    assert len(data["ranks"]) == 2
    assert any("did not end" in note for note in data["notes"])


@pytest.mark.slow
def test_processes_without_atoll_run(program, tmp_path):
    path = str(tmp_path / "out.json")
    for front in ({}, {"ATOLL_FRONT": "python"}):
        done = finished([sys.executable, program], ATOLL_RUN_PROFILE=path, **front)
        assert done.code == -9, done
        profile = read(path)
        assert "program.py:6" in {line.place for line in profile.lines if line.calls >= 5}, front
        assert not profile.ranks[0].record.complete
        done = atoll("profile", path)
        assert done.code == 0, done
        assert "program.py:5" in done.errors
        assert events_in(path)


def test_paths_without_records(tmp_path):
    with pytest.raises(ConfigError, match="no records of a profile"):
        read(str(tmp_path / "out.json"))
    (tmp_path / "out.json.ranks").mkdir()
    (tmp_path / "out.json.ranks" / "0").write_bytes(b"nothing")
    (tmp_path / "out.json.ranks" / "0.texts").write_bytes(b"")
    with pytest.raises(ConfigError, match="is not a record of a profile by this version"):
        read(str(tmp_path / "out.json"))
    done = atoll("profile", str(tmp_path / "none.json"))
    assert done.code == 2
    assert "no records" in done.errors
