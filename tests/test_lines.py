"""The user's line: the innermost line of the program itself, neither atoll's nor an installed package's."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import atoll as np
from atoll.config import config
from atoll.context import call_sites, log, sources
from atoll.context.call_sites import site_number, site_text, user_line

LIBRARY = "/opt/env/lib/python3.12/site-packages/library/inner.py"
CELL = "/tmp/ipykernel_77/123456.py"


def compiled(source: str, file: str) -> dict[str, Any]:
    """The names of a module whose code has a file name."""
    names: dict[str, Any] = {"np": np, "user_line": user_line}
    exec(compile(source, file, "exec"), names)
    return names


library = compiled("def twice(a):\n    return a * 2\n\n\ndef call(f):\n    return f()\n", LIBRARY)


def here(below: int = 0) -> str:
    """The caller's line as text, or one that many lines below it."""
    frame = sys._getframe(1)
    return f"{os.path.basename(__file__)}:{frame.f_lineno + below}"


def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=compiled("def run(f, a, r): r.append(f(*a))", LIBRARY)["run"], args=(function, args, results))  # fmt: skip
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("/home/me/program.py", True),
        ("program.py", True),
        ("<string>", True),
        ("<stdin>", True),
        ("<ipython-input-3-0a1b2c>", True),
        (CELL, True),
        (LIBRARY, False),
        ("/usr/lib/python3/dist-packages/scipy/__init__.py", False),
        (r"C:\Python312\Lib\site-packages\scipy\__init__.py", False),
        (threading.__file__, False),
        (os.path.join(sys.prefix, "bin", "jupyter"), False),
        ("<frozen runpy>", False),
        ("<decorator-gen-12>", False),
        (np.__file__, False),
        (numpy.__file__, False),
    ],
)
def test_files_of_the_user(file: str, users: bool) -> None:
    assert sources.is_users(file) is users
    assert (call_sites.origin(file) is False) is users


def test_recorded_in_a_package() -> None:
    """The line of the program that called the package; the call site itself stays the package's."""
    with config(small=10):
        a = np.ones(1000)
        direct, through, site = a * 2, library["twice"](a), here()
        node = through._cell.node
        assert site_text(direct._cell.node.site) == site_text(node.site) == site
        assert node.site[0].co_filename == LIBRARY
        assert site_number(node.site) == site_number(node.site[:2])


def test_a_line_of_a_package_has_the_line_of_each_caller() -> None:
    """Also where the package's line was met from another one, and where packages call each other."""
    with config(small=10):
        a = np.ones(1000)
        for _ in range(3):
            first, there = library["twice"](a), here()
            second, below = library["call"](lambda: library["twice"](a)), here()
            assert [site_text(b._cell.node.site) for b in (first, second)] == [there, below]
            assert first._cell.node.site[:2] == second._cell.node.site[:2]


def test_callbacks_and_threads() -> None:
    assert library["call"](user_line) == here()
    assert library["call"](lambda: library["call"](user_line)) == here()
    assert in_thread(lambda: library["call"](user_line)) == here()
    assert (
        in_thread(library["call"], user_line) == "inner.py:6"
    )  # no line of the user's is on the stack


def test_code_without_a_file() -> None:
    assert compiled("\nline = user_line()", "<string>")["line"] == "<string>:2"


def test_cells_of_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(compile=SimpleNamespace(_filename_map={CELL: 3}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    assert compiled("\nline = user_line()", CELL)["line"] == "Cell In[3], line 2"
    assert sources.place_text("/tmp/ipykernel_78/123456.py", 4) == "Cell In[3], line 4"
    assert sources.place_text("/tmp/ipykernel_77/1.py", 4) == "1.py:4"
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))  # type: ignore[arg-type]
    assert sources.place_text(CELL, 2) == "123456.py:2"


def test_explain_names_the_line_of_the_program() -> None:
    with config(small=10):
        a = np.ones(1000)
        b, line = library["twice"](a) + 1, here()
        text = str(np.explain(b))
    assert line in text
    assert "inner.py" not in text


def test_records_of_the_log_have_the_line_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "atoll")
    with config(small=10):
        a = np.ones((37, 11)) * 3.5
        library["call"](lambda: float((a - 0.125).sum())); line = here()  # fmt: skip  # noqa: E702
    told = [record for record in caplog.records if record.name == "atoll.plans"]
    assert told
    assert f"{told[-1].filename}:{told[-1].lineno}" == line
    assert line in told[-1].getMessage()


def test_logs_print_nothing_unless_the_program_asks(capfd: pytest.CaptureFixture[str]) -> None:
    log.plans.warning("planning failed")
    assert capfd.readouterr() == ("", "")
