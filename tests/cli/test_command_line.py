"""What ``atoll run`` makes of its words, and refuses, without starting a rank."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.cli import COMMANDS, Parser, completion, main, run
from atoll.config import config


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-n 0 there.py", "'0'"),
        ("-n x there.py", "'x'"),
        ("-n -1 there.py", "'-1'"),
        ("-n 2 absent.py", "absent.py"),
        ("-n 2 folder", "__main__.py"),
        ("--hosts a there.py", "-n N"),
        ("-n 2", "no program"),
        ("-n", "-n/-np: expected one argument"),
        ("-n 2 --threads 0 there.py", "--threads"),
        ("-n 2 --hostfile absent there.py", "hostfile 'absent'"),
        ("-n 2 --hostfile empty there.py", "names no host"),
        ("-n 2 --hosts= there.py", "--hosts: it needs a value"),
        ("-n 2 --bogus there.py", "--bogus"),
        ("-n 2 -c 1 --bogus", "`--`"),
        ("-n 2 -c", "-c: expected one argument"),
        ("-n 2 -m", "-m needs"),
        ("-n 2 --mpiexec ./absent there.py", "./absent"),
    ],
)
def test_what_cannot_be_is_one_line(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "there.py").write_text("")
    (tmp_path / "empty").write_text("# nobody\n")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["run", *words.split()]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("atoll run: ")
    assert errors.count("\n") == 1
    assert said in errors


def test_without_mpi_the_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "mpi4py" else find(name)
    )
    monkeypatch.delenv("ATOLL_RUN_MPIEXEC", raising=False)
    assert main(["run", "-n", "2", "-c", "1"]) == 2
    assert "pip install" in capsys.readouterr().err


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bogus"]) == 2
    assert "'bogus'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("d", "doctor"),
        ("run --th", "--threads"),
        ("run --host", "--hosts --hostfile"),
        ("doctor -", "-h --help --json"),
        ("run th", ""),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(words: str, found: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    script += f"COMP_WORDS=(atoll {words})\nCOMP_CWORD={len(words.split())}\n_atoll\necho ${{COMPREPLY[*]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == (f"{found}\n", "")


def test_each_shell_has_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in completion.SHELLS:
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert all(command in script for command in COMMANDS)
    assert main(["completion", "tcsh"]) == 2


def test_the_kernels_are_listed_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = pytest.importorskip("atoll.backend.llvm.cache")
    (tmp_path / "mine").write_text("")
    tmp_path.chmod(0o700)
    with config(kernel_cache=str(tmp_path)):
        cache.store(cache.key_of("one"), b"code")
        assert main(["cache"]) == 0
        assert capsys.readouterr().out == f"{tmp_path}: 1 kernels, 0.0 MiB of at most 64\n"
        assert main(["cache", "--clear"]) == 0
        assert capsys.readouterr().out == f"{tmp_path}: 0 kernels, 0.0 MiB of at most 64\n"
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with config(kernel_cache="off"):
        assert main(["cache", "--clear"]) == 0
        assert "switched off" in capsys.readouterr().out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("atoll ")
    assert main([]) == 0
    assert "run a program on several ranks" in capsys.readouterr().out
    assert main(["run", "-n", "3", "--help"]) == 0
    assert main(["run", "--help"]) == 0
    assert "--all-output" in capsys.readouterr().out


def request(words: str) -> run.Request:
    parser = Parser()
    run.options(parser)
    return run.request_of(parser.parse_args(shlex.split(words)))


def test_words_after_a_script_are_its_own() -> None:
    found = request("-n 2 --threads=4 script.py -n 3 --all-output")
    assert (found.ranks, found.threads, found.all_output) == (2, 4, False)
    assert found.program == ["script.py", "-n", "3", "--all-output"]


def test_options_go_on_after_code_until_two_dashes() -> None:
    found = request("-c 'print(1)' -n 2 --all-output -- --all-output -x")
    assert (found.ranks, found.all_output) == (2, True)
    assert found.program == ["-c", "print(1)", "--all-output", "-x"]
    assert request("-n 2 -c 1 word -x").program == ["-c", "1", "word", "-x"]


def test_without_a_number_there_is_a_rank_for_each_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = launcher(
        tmp_path, "HYDRA build details:\n    Version:                                 4.2.0"
    )
    for cores, words, ranks in ((8, "", 8), (8, "--threads 3", 2), (1, "--threads 4", 1)):
        monkeypatch.setattr(run, "available_cores", lambda cores=cores: cores)
        assert main(["run", *words.split(), "--mpiexec", path, "--print-command", "-c", "1"]) == 0
        assert f"-n {ranks} " in capsys.readouterr().out


def launcher(folder: Path, says: str) -> str:
    """A launcher that only knows its version."""
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("says", "hosts", "hostfile", "own"),
    [
        (
            "HYDRA build details:\n    Version: 4.2",
            "-hosts a,b",
            "-f hosts",
            "-n 2",
        ),
        ("mpiexec (OpenRTE) 4.1.4", "--host a,b", "--hostfile hosts", "--bind-to none"),
        ("prterun (PRRTE) 3.0.1", "--host a,b", "--hostfile hosts", "--bind-to none"),
        ("mpiexec (Open MPI) 5.0.5", "--host a,b", "--hostfile hosts", "--bind-to none"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.13", "-hosts a,b", "-f hosts", "-n 2"),
        ("slurm-wlm 22.05.8", "--nodelist a,b", "--nodefile hosts", "--kill-on-bad-exit=1"),
        ("slurm 23.02.7", "--nodelist a,b", "--nodefile hosts", "--kill-on-bad-exit=1"),
    ],
)
def test_each_launcher_is_spoken_to_in_its_dialect(
    says: str,
    hosts: str,
    hostfile: str,
    own: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "hosts").write_text("a\nb\n")
    monkeypatch.chdir(tmp_path)
    start = ["run", "-n", "2", "--mpiexec", launcher(tmp_path, says), "--print-command"]
    assert main([*start, "--hosts", "a,b", "--mpiexec-options=-x 1", "-c", "1"]) == 0
    command = capsys.readouterr().out
    for words in ("-n 2", hosts, own, "-x 1"):
        assert f" {words} " in command
    assert "--oversubscribe" not in command
    assert main([*start, "--hostfile", "hosts", "-c", "1"]) == 0
    assert f" {hostfile} " in capsys.readouterr().out


@pytest.mark.parametrize("says", ["jsrun version 1.2", ""])
def test_a_launcher_that_is_not_known_gets_no_options_of_any_dialect(
    says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = launcher(tmp_path, says)
    start = ["run", "-n", "2", "--mpiexec", path, "--all-output"]
    assert main([*start, "--mpiexec-options=-x 1", "--print-command", "-c", "1"]) == 0
    command = shlex.split(capsys.readouterr().out)
    program = command.index(sys.executable)
    assert command[:program] == [path, "-n", "2", "-x", "1"]
    assert main([*start, "--hosts", "a,b", "-c", "1"]) == 2
    words = capsys.readouterr().err
    assert f"calls itself {says!r}" in words
    assert "--mpiexec-options" in words
    assert words.count("\n") == 1


def test_a_command_line_tells_nobody_how_ranks_are_reached(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other users see the command lines of a job. What is asked of the launcher is the same in each."""
    seen = []
    for _ in range(2):
        assert main(["run", "-n", "2", "--print-command", "-c", "1"]) == 0
        seen.append(capsys.readouterr().out)
    assert seen[0] == seen[1]
