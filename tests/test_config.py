"""Settings: where a value comes from, and what is refused."""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import atoll
from atoll.config import Config, Settings, available_cores, from_environment, warn_of_unknown
from atoll.errors import AtollError, ConfigError


@pytest.fixture
def config() -> Config:
    return Config({})


def test_defaults(config: Config) -> None:
    assert config.settings() == Settings()
    assert config.threads == available_cores() >= 1
    assert config.small == 30_000


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("ATOLL_SMALL", "0", "small", 0),
        ("ATOLL_EVERYWHERE", "50000", "everywhere", 50_000),
        ("ATOLL_THREADS", "3", "threads", 3),
        ("ATOLL_NUM_THREADS", "5", "threads", 5),
        ("ATOLL_FUSION", "off", "fusion", False),
        ("ATOLL_DEBUG", "YES", "debug", True),
        ("ATOLL_CACHE_BYTES", "1.5GiB", "cache_bytes", 3 << 29),
        ("ATOLL_CACHE_BYTES", "17", "cache_bytes", 17),
        ("ATOLL_WAIT_ABORT", "2.5", "wait_abort", 2.5),
        ("ATOLL_KERNEL_CACHE", "/tmp/kernels", "kernel_cache", "/tmp/kernels"),
        ("ATOLL_MPI", "off", "mpi", "off"),
    ],
)
def test_environment(variable: str, text: str, name: str, value: Any) -> None:
    config = Config({variable: text, "HOME": "/", "ATOLL_RUN_ANYTHING": "is the launcher's own"})
    assert getattr(config, name) == value
    assert type(getattr(config, name)) is type(value)


BAD = [
    ("small", "x"),
    ("small", -1),
    ("everywhere", -1),
    ("small", "-1"),
    ("small", True),
    ("small", 1.5),
    ("threads", 0),
    ("threads", "0"),
    ("fusion", "maybe"),
    ("fusion", 2),
    ("fusion", numpy.arange(3)),
    ("cache_bytes", None),
    ("cache_bytes", "-1"),
    ("cache_bytes", "nan"),
    ("cache_bytes", "inf"),
    ("cache_bytes", "GB"),
    ("cache_bytes", 1e9),
    ("wait_report", 0),
    ("wait_report", "soon"),
    ("wait_abort", float("nan")),
    ("wait_abort", False),
    ("kernel_cache", ""),
    ("kernel_cache", b"folder"),
    ("mpi", "AUTO"),
    ("mpi", ["on"]),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_values_are_refused_by_name(config: Config, name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"atoll.config: {name} must be .*, not ") as caught:
        setattr(config, name, value)
    assert repr(value) in str(caught.value)
    with pytest.raises(ConfigError, match=f"{name} must be"), config(**{name: value}):
        raise AssertionError("the block must not run")
    assert config.settings() == Settings()


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, v in BAD if isinstance(v, str)])
def test_bad_variables_are_refused_by_name(name: str, value: str) -> None:
    variable = f"ATOLL_{name.upper()}"
    with pytest.raises(ConfigError, match=f"environment variable {variable}: {name} must be "):
        from_environment({variable: value})


def test_unknown_names_are_refused(config: Config) -> None:
    with pytest.raises(ConfigError, match="no setting 'smal'; the settings are threads, small"):
        config.smal = 1
    with pytest.raises(ConfigError, match="no setting 'smal'"), config(smal=1):
        raise AssertionError("the block must not run")
    with pytest.raises(AttributeError, match="no setting 'smal'"):
        config.smal  # noqa: B018 (reading it is the point)


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("ATOLL_SMAL", r"did you mean ATOLL_SMALL\?"),
        ("ATOLL_NUM_THREAD", r"did you mean ATOLL_NUM_THREADS\?"),
        ("ATOLL_", "there are ATOLL_NUM_THREADS, ATOLL_THREADS, ATOLL_SMALL"),
        ("ATOLL_\udcff", "there are"),
    ],
)
def test_unknown_variables_are_a_warning_that_names_what_is_near(variable: str, hint: str) -> None:
    environ = {variable: "1", "ATOLL_SMALL": "0", "ATOLL_RUN_X": "1", "ATOLL_BUILD_FRONT": "1"}
    assert from_environment(environ) == Settings(small=0)
    with pytest.warns(RuntimeWarning, match=f"{variable} is no setting of atoll's.*{hint}") as seen:
        warn_of_unknown(environ, 1)
    assert (len(seen), seen[0].filename) == (1, __file__)


def test_an_unknown_variable_does_not_keep_atoll_from_being_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import atoll\nprint(atoll.config.small)"],
        env={**os.environ, "ATOLL_SMAL": "1", "ATOLL_SMALL": "5"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "5\n"
    assert done.stderr.startswith("<string>:1: RuntimeWarning: the environment variable ATOLL_SMAL")


def test_the_same_variable_twice_by_its_two_names() -> None:
    assert from_environment({"ATOLL_NUM_THREADS": "2", "ATOLL_THREADS": "3"}).threads == 3


def test_contexts_nest_and_end(config: Config) -> None:
    with config(small=1, debug=True) as outer:
        assert outer == config.settings()
        with config(small=2):
            assert (config.small, config.debug) == (2, True)
        with pytest.raises(KeyError), config(small=2):
            raise KeyError
        assert (config.small, config.debug) == (1, True)
    assert config.settings() == Settings()


def test_assignment_holds_until_the_block_ends(config: Config) -> None:
    config.small = 5
    with config(debug=True):
        config.small = 6
        assert config.small == 6
    assert config.small == 5


def test_everywhere_follows_small_unless_it_is_said(config: Config) -> None:
    assert config.everywhere == 8 * config.small == 240_000
    with config(small=0):
        assert config.everywhere == 0
    with config(small=10, everywhere=5):
        assert config.everywhere == 10, "what is small is everywhere"
    config.everywhere = 0
    assert config.everywhere == config.small
    config.everywhere = None
    assert config.everywhere == 240_000


def test_threads_none_is_all_cores(config: Config) -> None:
    config.threads = 1
    assert config.threads == 1
    config.threads = None
    assert config.threads == available_cores()


def test_each_context_has_its_own(config: Config) -> None:
    seen: dict[str, int] = {}

    def rank(name: str, small: int) -> None:
        with config(small=small):
            together.wait()
            seen[name] = config.small

    together = threading.Barrier(2)
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(rank, str(small), small))
        for small in (1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"1": 1, "2": 2}
    assert config.small == 30_000


def test_instances_are_separate(config: Config) -> None:
    other = Config({})
    with other(small=1):
        assert config.small == 30_000


def test_settings_are_frozen_values(config: Config) -> None:
    settings = config.settings()
    with pytest.raises(AttributeError):
        settings.small = 1  # type: ignore[misc]
    assert hash(settings) == hash(Settings())


def test_it_says_what_it_holds(config: Config) -> None:
    lines = repr(config).splitlines()
    assert "small           30000" in lines
    assert "cpu_features    'native'" in lines
    assert len(lines) == len(fields(Settings))
    assert {"small", "threads", "settings"} <= set(dir(config))


@given(st.integers(0, 1 << 60), st.sampled_from(["", "K", "kb", "MiB", "G", "TB"]))
def test_bytes_are_read_as_written(number: int, unit: str) -> None:
    scale = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[unit[:1].upper()]
    found = from_environment({"ATOLL_CACHE_BYTES": f"{number}{unit}"}).cache_bytes
    assert found == number * scale


@pytest.mark.slow
@given(st.text(max_size=8))
def test_any_text_gives_a_value_or_a_named_error(text: str) -> None:
    for name in ("threads", "small", "fusion", "cache_bytes", "wait_abort", "mpi"):
        refused = f"{name} must be .*, not {re.escape(repr(text))}"
        with (
            contextlib.suppress(ConfigError)
            if text.strip()
            else pytest.raises(ConfigError, match=refused)
        ):
            assert getattr(from_environment({f"ATOLL_{name.upper()}": text}), name) is not None


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ATOLL_SMALL", "few"),
        ("ATOLL_THREADS", "zwei"),
        ("ATOLL_BACKEND", ""),
        ("ATOLL_MPI", "yes"),
    ],
)
def test_a_malformed_variable_is_one_line(variable: str, text: str) -> None:
    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            env=dict(os.environ, **{variable: text}),
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    done = run("print('before')\nimport atoll\nprint('after')")
    assert done.returncode == 1
    assert done.stdout == "before\n"
    assert done.stderr.startswith(f"atoll: environment variable {variable}: ")
    assert done.stderr.count("\n") == 1
    caught = run(
        "try: import atoll\nexcept ValueError as error: print(*error._render_traceback_())\n1 / 0"
    )
    assert caught.stdout.startswith(f"ConfigError: environment variable {variable}: ")
    assert caught.stdout.count("\n") == 1
    assert "ZeroDivisionError" in caught.stderr


def test_public_name() -> None:
    assert isinstance(atoll.config, Config)
    assert issubclass(ConfigError, AtollError)
    assert Path(atoll.__file__).name == "__init__.py"
