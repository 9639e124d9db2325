"""``atoll doctor``: facts of this machine, and what is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atoll.cli import doctor

from .commands import atoll


@pytest.mark.slow
def test_the_facts_are_there() -> None:
    outcome = atoll("doctor", "--json")
    answer = json.loads(outcome.output)
    findings = {finding["name"]: finding for finding in answer["findings"]}
    assert list(findings) == (
        [
            "python",
            "numpy",
            "extension",
            "compiler",
            "libmvec",
            "cores",
            "memory",
            "mpi",
            "ranks",
            "extras",
        ]
    )
    broken = [name for name, finding in findings.items() if finding["state"] == "broken"]
    assert answer["broken"] == broken
    assert outcome.code == (1 if broken else 0), outcome
    assert findings["compiler"]["facts"]["compiles"] is True
    assert findings["cores"]["facts"]["available"] >= 1
    if findings["mpi"]["state"] == "ok":
        facts = findings["ranks"]["facts"]
        assert facts["latency_us"] > 0
        assert facts["bandwidth_gb_s"] > 0


@pytest.mark.slow
def test_a_launcher_that_fails_is_broken(tmp_path: Path) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text("#!/bin/sh\necho 'HYDRA Version: 1.0'; echo 'no such host' >&2; exit 4\n")
    launcher.chmod(0o755)
    outcome = atoll("doctor", ATOLL_RUN_MPIEXEC=str(launcher))
    assert outcome.code == 1, outcome
    (line,) = [line for line in outcome.output.splitlines() if line.startswith("broken  ranks")]
    assert "no such host" in line
    assert "broken: ranks" in outcome.output


@pytest.mark.parametrize(
    ("name", "cure"), [("", "install a C compiler"), ("python", "unset ATOLL_FRONT")]
)
def test_a_missing_extension_is_slow(name: str, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.front, "native", None)
    monkeypatch.setenv("ATOLL_FRONT", name)
    finding = doctor.check_extension()
    assert finding.state == "slow"
    assert cure in finding.text


def test_a_missing_compiler_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "COMPILER", "raise ImportError('no llvmlite here')")
    finding = doctor.check_compiler()
    assert finding.state == "slow"
    assert "no llvmlite here" in finding.text
    assert "NumPy runs the loops" in finding.text


def test_options_are_checked() -> None:
    outcome = atoll("doctor", "--jsn")
    assert outcome.code == 2
    assert outcome.errors.startswith("atoll doctor: unrecognized arguments: --jsn; --help lists")
    assert outcome.errors.count("\n") == 1
