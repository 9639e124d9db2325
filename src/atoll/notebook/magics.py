"""The magics ``%%ranks``, which runs a cell on ranks, and ``%ranks``, which reports on them and ends them."""

from __future__ import annotations

import argparse
import atexit
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from .outputs import Outputs
from .ranks import Ranks

HELP = """\
%%ranks [N] [--push a,b] [--pull c,d] [--threads T]
    run this cell on N ranks, which are started at the first such cell and keep their variables; without N on the
    ranks that there are. The output of rank 0 is shown, that of the others folded up.
    --push     variables of the notebook that all ranks get before the cell
    --pull     variables of rank 0 that the notebook gets after the cell; arrays are brought together from all ranks
    --threads  threads of each rank, when they are started; by default the cores divided by the ranks
%ranks              how many ranks there are
%ranks output       print what all ranks printed in the last cell
%ranks restart [N]  end the ranks, and start new ones
%ranks stop         end the ranks; they end with the kernel, too
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%ranks: {message}\n{HELP}")


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not name.isidentifier():
            raise argparse.ArgumentTypeError(
                f"{name!r} must be the name of a variable; write names as a,b,c"
            )
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of at least 1")
    return int(text)


def _cell_options() -> _Parser:
    parser = _Parser(prog="%%ranks", add_help=False)
    parser.add_argument("size", metavar="N", nargs="?", type=_count)
    parser.add_argument("--push", type=_names, default=[])
    parser.add_argument("--pull", type=_names, default=[])
    parser.add_argument("--threads", type=_count)
    return parser


@magics_class
class RanksMagics(Magics):  # type: ignore[misc]
    """The ranks of this kernel, and the magics that use them."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._ranks: Ranks | None = None
        self._outputs: Outputs | None = None
        self._threads: int | None = None
        atexit.register(self.end)

    @line_cell_magic  # type: ignore[untyped-decorator]
    def ranks(self, line: str, cell: str | None = None) -> None:
        """Run a cell on ranks; ``%ranks --help`` lists the options."""
        words = shlex.split(line)
        if "--help" in words or "-h" in words:
            print(HELP)
        elif cell is None:
            self._command(words)
        else:
            self._run(words, cell, line)

    def _run(self, words: list[str], cell: str, line: str) -> None:
        request = _cell_options().parse_args(words)
        namespace = self.shell.user_ns
        for name in request.push:
            if name not in namespace:
                raise UsageError(f"%%ranks --push: there is no variable {name!r} in the notebook")
        if self.shell.should_run_async(cell, transformed_cell=self.shell.transform_cell(cell)):
            raise UsageError("%%ranks: a cell on ranks cannot use `await` outside of a function")
        ranks = self._started(request.size, request.threads)
        if request.push:
            ranks.push({name: namespace[name] for name in request.push})
        self._outputs = Outputs(ranks.size)
        # A comment replaces the magic, so that line numbers in errors match the notebook's cell.
        code = cell if cell.lstrip().startswith("%%") else f"# %%ranks {line}\n{cell}"
        number = len(self.shell.history_manager.input_hist_parsed) - 1
        ranks.run(code, number, self._outputs)
        if request.pull:
            namespace.update(ranks.pull(request.pull))

    def _started(self, size: int | None, threads: int | None) -> Ranks:
        """The ranks, started if they are not running."""
        ranks = self._ranks
        if ranks is not None and ranks.alive:
            if size not in (None, ranks.size):
                raise UsageError(
                    f"%%ranks {size}: {ranks.size} ranks are running, and they would lose their variables. "
                    f"`%%ranks` runs a cell on the {ranks.size}, `%ranks restart {size}` ends them and starts {size}"
                )
            if threads not in (None, self._threads):
                raise UsageError(
                    f"%%ranks --threads {threads}: the ranks are running with other threads; `%ranks stop` ends them"
                )
            return ranks
        if size is None:
            raise UsageError(
                "%%ranks: no ranks are running; say how many to start, such as %%ranks 4"
            )
        return self._start(size, threads)

    def _start(self, size: int, threads: int | None) -> Ranks:
        self.end()
        options = [] if threads is None else ["--threads", str(threads)]
        self._ranks, self._threads = Ranks(size, options), threads
        print(f"{size} {'rank' if size == 1 else 'ranks'} started")
        return self._ranks

    def _command(self, words: list[str]) -> None:
        command, *rest = words or ["status"]
        ranks = self._ranks
        running = ranks is not None and ranks.alive
        if command == "restart" and len(rest) <= 1:
            size = _Parser(prog="%ranks restart", add_help=False)
            size.add_argument("size", metavar="N", nargs="?", type=_count)
            wanted = size.parse_args(rest).size or (ranks.size if ranks is not None else None)
            if wanted is None:
                raise UsageError(
                    "%ranks restart: say how many ranks to start, such as %ranks restart 4"
                )
            self._start(wanted, self._threads)
        elif rest or command not in ("status", "output", "stop"):
            raise UsageError(f"%ranks: there is no command {' '.join(words)!r}\n{HELP}")
        elif command == "status":
            print(
                f"{ranks.size} ranks are running" if running and ranks else "no ranks are running"
            )
        elif command == "output":
            if self._outputs is None:
                raise UsageError("%ranks output: no cell has run on ranks")
            self._outputs.print_all()
        else:
            self.end()
            print("the ranks have ended" if running else "no ranks are running")

    def end(self) -> None:
        """End the ranks, if any are running."""
        if self._ranks is not None:
            self._ranks.end()
            self._ranks = None
