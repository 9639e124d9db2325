"""What the documentation says can be run, and what it points to is there.

The pages on the engine and on layouts have tests of their own (``test_engine_page.py``, ``layout/test_examples.py``).
Commands of the README are run by ``.ci/run``.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import functools
import importlib.util
import io
import json
import re
import sys
import tokenize
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest

import atoll
from atoll.comm import simulated
from atoll.config import Settings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if GENERATED not in page.parents),
]
pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="the documentation is not beside the tests"
)


@functools.cache
def generated() -> dict[str, Callable[[], str]]:
    """What writes the pages that code writes, by their path in the folder of generated pages."""
    sys.path.insert(0, str(DOCS / "generate"))
    import pages as site  # type: ignore[import-not-found]

    writers: dict[str, Callable[[], str]] = site.GENERATED
    return writers


def blocks(page: Path, kind: str = "python") -> list[str]:
    """The blocks of code of a page, of one language."""
    return re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.S)


def run(programs: list[str], **names: object) -> tuple[str, dict[str, object]]:
    """What blocks of code print, one after the other in one module, and the names that they leave."""
    lines: list[str] = []

    def collect(*values: object) -> None:
        lines.append(" ".join(map(str, values)))

    space: dict[str, object] = {"print": collect, "atoll": atoll, "np": atoll, **names}
    for program in programs:
        exec(compile(program, "ring.py", "exec"), space)
    return "\n".join(lines), space


def test_the_readme_s_programs() -> None:
    first, second = blocks(ROOT / "README.md")
    with_numpy = first.replace("import atoll as np", "import numpy as np")
    expected, found = (
        re.findall(r"\d+\.\d*(?:e[-+]\d+)?", run([program])[0]) for program in (with_numpy, first)
    )
    numpy.testing.assert_allclose([float(n) for n in found], [float(n) for n in expected], 1e-12)
    told, silent = simulated.run(2, lambda: run([second])[0])
    assert told == "2 Layout((1000, 1000), 'bn', grid=(2, 1), size=2)"
    assert silent == ""


def test_the_figures_of_the_readme_were_measured() -> None:
    kept = json.loads((DOCS / "contributors" / "benchmarks.json").read_text())
    measured = {
        row["program"]: row["contestants"]["atoll"]["ratio"]
        for row in kept["rows"]
        if (row["size"], row["threads"]) == ("medium", 1)
    }
    text = (ROOT / "README.md").read_text()
    figures = re.findall(r"^\| .*`(\w+)` \| ([\d.]+) \|$", text, re.M)
    assert len(figures) == 7
    assert f"{len(measured) - len(figures)} other programs" in text
    for name, figure in figures:
        digits = len(figure.partition(".")[2])
        assert abs(measured[name] - float(figure)) <= 0.51 * 10**-digits, name
    gains = [float(figure) for _, figure in figures if float(figure) > 2]
    gain = f"run {min(gains):.0f} to {max(gains):.0f} times faster"
    assert gain in text
    assert gain in (DOCS / "index.md").read_text()
    assert f"{atoll.config.everywhere:,} elements" in text


def test_what_all_ranks_do_together() -> None:
    def program() -> tuple[numpy.ndarray, ...]:
        _, made = run(blocks(DOCS / "contributors" / "collective.md"))
        return tuple(numpy.asarray(made[name]) for name in ("a", "gram", "top", "big", "flat"))

    a, gram, top, big, flat = simulated.run(2, program)[1]
    numpy.testing.assert_array_equal(a, numpy.random.default_rng(1).random((600, 400)))
    numpy.testing.assert_allclose(gram, a.T @ a)
    numpy.testing.assert_array_equal(top, a[numpy.argsort(a[:, 0])[:100]])
    numpy.testing.assert_array_equal(big, a[a > 0.9])
    numpy.testing.assert_array_equal(flat, a.ravel()[::3] + 1)


def test_a_ring_of_messages_and_its_picture() -> None:
    def program() -> tuple[str, str]:
        printed, made = run(blocks(DOCS / "reference" / "dataflow.md"))
        return printed, atoll.dataflow.show(made["partition"])  # type: ignore[arg-type]

    (first, picture), (second, _) = simulated.run(2, program)
    one, two = numpy.full(3, 2.0), numpy.full(3, 3.0)
    assert first == f"0 {2 * (numpy.sqrt(two) + 1) + one}"
    assert second == f"1 {2 * (numpy.sqrt(one + 0) + 1) + two}"
    assert picture.strip() == blocks(DOCS / "reference" / "dataflow.md", "text")[0].strip()


def test_coverage() -> None:
    (program,) = blocks(DOCS / "reference" / "numpy.md")
    assert program.split("# ")[1].strip() == run([program])[0]


TESTED_APART = {  # in this file, or with the folder that they are about
    "reference/configuration.md",
    "reference/distarray.md",
    "reference/partitioned.md",
    "guide/memory.md",
}
USERS = [
    page
    for page in PAGES
    if page.parent.name in ("docs", "start", "guide", "reference")
    and page.relative_to(DOCS if DOCS in page.parents else ROOT).as_posix() not in TESTED_APART
    and blocks(page)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", USERS, ids=lambda page: page.name)
def test_the_programs_of_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = blocks(page)
    needs = {name for p in programs for name in re.findall(r"^import (\w+)", p, re.M)}
    needs |= {"h5py", "zarr"} if any("save_hdf5" in program for program in programs) else set()
    for name in sorted(needs):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    shown = [program for program in programs if program.startswith(">>>")]
    if shown:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        case = doctest.DocTestParser().get_doctest("\n".join(shown), {}, page.name, str(page), 0)
        assert runner.run(case).failed == 0
    run([program for program in programs if program not in shown])
    if not page.is_relative_to(DOCS / "start"):  # where simulated ranks would add time only
        simulated.run(2, lambda: run([p for p in programs if p not in shown]))


def test_the_programs_on_one_sided_access() -> None:
    for printed, _ in simulated.run(2, lambda: run(blocks(DOCS / "reference" / "onesided.md"))):
        assert printed == "8.0\n328350.0"


def test_settings_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = atoll.config.settings()
    run([*blocks(DOCS / "reference" / "configuration.md"), *blocks(DOCS / "guide" / "memory.md")])
    assert atoll.config.cache_bytes == 4 << 30
    atoll.config.cache_bytes = before.cache_bytes
    listed = re.findall(
        r"^\| `(\w+)` \|", (DOCS / "reference" / "configuration.md").read_text(), re.M
    )
    assert sorted(listed) == sorted(field.name for field in dataclasses.fields(Settings))


def test_partitions_and_sections() -> None:
    def program() -> None:
        with atoll.config(small=0):
            a = atoll.ones((10, 4))
            out, within = blocks(DOCS / "reference" / "partitioned.md")
            _, made = run([out], a=a, handles=[numpy.ones(2)])
            other = 1 - atoll.world.rank
            shown = made["shown"]
            assert shown["partitions"][other, 0]["data"] is None  # type: ignore[index]
            _, made = run([within], source=a)
            numpy.testing.assert_array_equal(numpy.asarray(made["a"]), numpy.ones((10, 4)))
            sections, checked = blocks(DOCS / "reference" / "distarray.md")
            layout = atoll.Layout((8,), [atoll.Block(padding=(1, 1))])
            padded = numpy.zeros(layout.padded_shape(atoll.world.rank))
            _, made = run(
                [sections], producer=a, my_block=numpy.ones(3), padded=padded, layout=layout
            )
            assert [made[name].shape for name in "abc"] == [(10, 4), (6,), (8,)]  # type: ignore[attr-defined]
            assert run([checked], producer=a)[0] == ""

    simulated.run(2, program)


def test_a_plan_of_one_rank_of_many() -> None:
    look, imagined = blocks(DOCS / "contributors" / "engine.md", "py")
    assert run([look], u=atoll.ones((300, 300)))[0].startswith("[300. 300. ")
    assert "rank 17 of 2048" in run([imagined])[0]


def anchor_of(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """What links may name on a page."""
    return {anchor_of(title) for title in re.findall(r"^#+ (.*)$", page.read_text(), re.M)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    prose = re.sub(r"```.*?```", "", text, flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if GENERATED in target.parents:
            assert target.relative_to(GENERATED).as_posix() in generated(), link
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
    for path in re.findall(r"\b((?:src|tests|examples|benchmarks|docs)/[\w/.]+\.(?:py|md))", text):
        assert (ROOT / path).exists(), path
    files = {
        file.name for room in ("src", "tests", "benchmarks") for file in (ROOT / room).rglob("*.py")
    }
    if (
        page.parent.name == "contributors" and page.name != "testing.md"
    ):  # which names NumPy's tests
        assert set(re.findall(r"`(\w+\.py)`", text)) <= files
    for name in re.findall(r"\batoll\.([a-z]\w*)\b(?!\.py)", text):
        assert hasattr(atoll, name) or (ROOT / "src" / "atoll" / name).is_dir(), name


def section(page: Path, anchor: str) -> str:
    """The text under a heading of a page, or the page."""
    text = page.read_text()
    for heading in re.finditer(r"^(#+) (.*)$", text, re.M):
        if anchor_of(heading[2]) == anchor:
            rest = text[heading.end() :]
            return re.split(rf"^#{{1,{len(heading[1])}}} ", rest, maxsplit=1, flags=re.M)[0]
    return text


def test_each_question_has_an_answer_with_code() -> None:
    questions = re.findall(r"^\| (.*\?) \| (.*) \|$", section(DOCS / "index.md", "how-do-i"), re.M)
    assert len(questions) > 10
    for question, answers in questions:
        for link in re.findall(r"\]\(([^)]+)\)", answers):
            path, _, anchor = link.partition("#")
            assert path.startswith("generated/") or "```" in section(DOCS / path, anchor), question


def test_every_page_is_in_the_navigation() -> None:
    named = set()
    for page in PAGES:
        for tree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.S):
            entries = re.findall(r"^(?:.*<)?([\w./]+)>?$", tree, re.M)
            named |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    ours = {page for page in PAGES if DOCS in page.parents}
    ours |= {GENERATED / path for path in generated()}
    assert named == ours - {DOCS / "index.md"}


@pytest.mark.slow
def test_every_file_of_the_package_has_its_line() -> None:
    package = ROOT / "src" / "atoll"
    text = generated()["files.md"]()
    lines = re.findall(r"^\| `(\w+\.py)` \| (.*) \|$", text, re.M)
    assert all(about for _, about in lines)
    listed = {file for file in package.rglob("*.py") if file.name != "__init__.py"}
    assert {name for name, _ in lines} >= {file.name for file in listed}
    folders = {file.parent.relative_to(package).as_posix() for file in package.rglob("*.py")}
    titles = set(re.findall(r"^## (.*)/$", text, re.M))
    assert folders == titles | {"."}


def test_each_error_has_a_cure() -> None:
    text = "".join(
        (DOCS / page).read_text() for page in ("guide/errors.md", "reference/dataflow.md")
    )
    classes = {
        name
        for name, value in vars(atoll.errors).items()
        if isinstance(value, type) and value.__module__ == atoll.errors.__name__
    }
    assert {name for name in classes if name not in text} == {
        "CommunicationError",  # of which the others are kinds
        "CellError",  # of a cell that shows what failed
        "FallbackWarning",  # which no public function issues
    }


def test_each_of_our_own_names_has_an_example_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated()
    api, usage = importlib.import_module("api"), importlib.import_module("usage")
    names = [name for section in api.SECTIONS.values() for name in section.split()]
    assert list(usage.EXAMPLES) == [*names, *(f"ndarray.{name}" for name in api.METHODS.split())]
    monkeypatch.chdir(tmp_path)
    space = {"np": atoll, "numpy": numpy}
    for name, code in usage.EXAMPLES.items():
        package = usage.NEED_MORE.get(name, "atoll")
        if package and importlib.util.find_spec(package.partition(".")[0]):
            exec(code, space)
        else:
            compile(code, name, "exec")


def test_every_name_of_ours_is_in_the_reference() -> None:
    text = generated()["api.md"]()
    ours = {name for name in set(dir(atoll)) - set(dir(numpy)) if not name.startswith("_")}
    for name in ours:
        value = getattr(atoll, name)
        assert isinstance(value, types.ModuleType) or f":: atoll.{name}\n" in text, name


WORDS = {
    r"somebody|nobody|anybody|everybody|whoever": "the rank, the caller, the program",
    r"parcels?": "persistent buffer; ghost region",
    r"stragglers?|whereabouts": "late ranks; remote stacks",
    r"imagined": "dry run",
    r"waists?|evening|evened|lopsided": "where the fewest values are live; rebalance; uneven",
    r"in hand": "live, known, in memory",
    r"ranks have parted|ranks part|who have parted": "ranks diverge",
    r"strangers?": "foreign object, another library",
    r"looked at|looking at": "read, evaluated",
    r"dealt out": "distributed",
    r"come to (its|their|his) end|came to its end": "finished",
    r"and (its|their) kin": "and similar functions",
}
"""Words that only this project would use, and what to write instead."""

FILLERS = {"found", "one", "made", "there"}
"""Names that say nothing of what they hold."""


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """The comments, docstrings and error texts of a file, with their lines."""
    source = file.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts = [node.value]
        elif isinstance(node, ast.Raise):
            parts = list(ast.walk(node))
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


@pytest.mark.slow
def test_no_word_is_private() -> None:
    pages = {page: [(0, re.sub(r"`[^`]*`", "", page.read_text()))] for page in PAGES}
    for file in (ROOT / "src" / "atoll").rglob("*.py"):
        pages[file] = list(texts(file))
    wrong = [
        f"{page.relative_to(ROOT)}:{line}: {match[0]!r}: write {instead!r}"
        for page, found in pages.items()
        for line, text in found
        for words, instead in WORDS.items()
        for match in re.finditer(rf"\b(?:{words})\b", text, re.I)
    ]
    assert not wrong, "\n".join(wrong)


def bound(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The names that a module binds anywhere, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.ClassDef) and node.name:
            yield node.lineno, node.name


@pytest.mark.slow
def test_every_name_says_what_it_holds() -> None:
    package = ROOT / "src" / "atoll"
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {name!r} says nothing of what it holds"
        for file in package.rglob("*.py")
        for line, name in bound(ast.parse(file.read_text()))
        if name in FILLERS
    ]
    assert not wrong, "\n".join(wrong)
    source = (
        "def one(made):\n    try:\n        found = made\n    except OSError as there:\n        pass"
    )
    assert {name for _, name in bound(ast.parse(source))} == FILLERS
