"""The output of the ranks in the notebook: that of rank 0 as it arrives, that of the others on demand."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ..errors import CellError
from ..graph.words import preformatted
from ..startup import rank_words, without_rank

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_CELLS = re.compile(r"(?<=ipykernel_)\d+")
_SHOWN = 3
"""The number of different failures shown with their tracebacks."""


class Outputs:
    """The output of all ranks in one cell."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.of_rank: list[list[Mapping[str, Any]]] = [[] for _ in range(size)]
        """The messages of each rank, in order."""

    def take(self, rank: int, message: Mapping[str, Any]) -> None:
        """Store a message of an engine; show it if it comes from rank 0 or reports a long wait."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind not in ("stream", "display_data", "execute_result", "clear_output"):
            return
        self.of_rank[rank].append({"kind": kind, **content})
        waits = kind == "stream" and content["text"].startswith("atoll: rank")
        if rank == 0 or waits:
            show(kind, content)

    def show_others(self) -> None:
        """Show the output of ranks other than 0, folded up, if it differs from that of rank 0."""
        groups = grouped({rank: _page(self.of_rank[rank]) for rank in range(1, self.size)})
        mine = _anyones(_page(self.of_rank[0]))
        groups = [group for group in groups if group[1] and _anyones(group[1]) != mine]
        if not groups:
            return
        everyone = rank_words([rank for ranks, _ in groups for rank in ranks], None)
        title = '<div style="opacity:0.65;margin-top:0.5em">{}</div>'
        parts = [
            (title.format(rank_words(ranks, None)) if len(groups) > 1 else "") + page
            for ranks, page in groups
        ]
        page = f"<details><summary>output of {everyone}</summary>{''.join(parts)}</details>"
        text = f"[output of {everyone}: `%ranks output` prints it]"
        publish({"text/html": page, "text/plain": text})

    def print_all(self) -> None:
        """Print the output of every rank as text."""
        texts = {rank: _text(self.of_rank[rank]) for rank in range(self.size)}
        for ranks, text in grouped(texts):
            print(f"[{rank_words(ranks, None)}]\n{text or '(nothing)'}")


def show(kind: str, content: Mapping[str, Any]) -> None:
    """Show a message of an engine as if this process had made it."""
    if kind == "stream":
        stream = sys.stderr if content["name"] == "stderr" else sys.stdout
        stream.write(content["text"])
        stream.flush()
    elif kind == "clear_output":
        from IPython.display import clear_output

        clear_output(content.get("wait", False))
    else:
        publish(content["data"], content.get("metadata"))


def publish(data: Mapping[str, Any], metadata: Any = None) -> None:
    """Display data in several MIME types."""
    from IPython.display import publish_display_data

    publish_display_data(dict(data), metadata or {})


def _page(messages: Iterable[Mapping[str, Any]]) -> str:
    """The messages of a rank as HTML."""
    page = text = ""
    for message in messages:
        if message["kind"] == "stream":
            text += message["text"]
        elif message["kind"] == "clear_output":
            page = text = ""
        else:
            page, text = page + _block(text) + _displayed(message["data"]), ""
    return page + _block(text)


def _block(text: str) -> str:
    return preformatted(_COLOURS.sub("", text)) if text else ""


def _displayed(data: Mapping[str, Any]) -> str:
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return str(data[kind])
    for kind in ("image/png", "image/jpeg"):
        if kind in data:
            return f'<img src="data:{kind};base64,{escape(data[kind].strip())}"/>'
    return _block(str(data.get("text/plain", "")))


def _text(messages: Iterable[Mapping[str, Any]]) -> str:
    """The messages of a rank as text."""
    return "".join(
        message["text"]
        if message["kind"] == "stream"
        else f"{message['data'].get('text/plain', '')}\n"
        for message in messages
        if message["kind"] != "clear_output"
    ).rstrip("\n")


def grouped(texts: Mapping[int, str], numbered: bool = False) -> list[tuple[list[int], str]]:
    """Groups of ranks with equal texts, in the order of their first ranks; ``numbered`` texts may contain the rank's number."""
    groups: list[tuple[list[int], str]] = []
    for rank, text in texts.items():
        for ranks, same in groups:
            if _anyones(text) == _anyones(same) or (
                numbered and without_rank(text, rank) == without_rank(same, ranks[0])
            ):
                ranks.append(rank)
                break
        else:
            groups.append(([rank], text))
    return groups


def _anyones(text: str) -> str:
    """The text of a rank without its process number, which is part of the names of cells."""
    return _CELLS.sub("", text)


CONSEQUENCES = ("DivergenceError", "KeyboardInterrupt", "WaitTimeoutError", "RankFailedError")
"""Errors of ranks that follow from the failure of another rank, or from an interrupt of the cell."""


OLD = "The array was made before the ranks diverged: make it again, or start new ranks by `%ranks restart`"
_LONGEST = 100
_DIVERGED = "ranks have diverged: "


def failure(
    outcomes: Sequence[Mapping[str, Any]], interrupted: bool, remark: str
) -> CellError | None:
    """The error to raise for the outcomes of a cell; ``None`` if it has succeeded on all ranks."""
    size = len(outcomes)
    failed = {outcome["rank"]: outcome for outcome in outcomes if outcome["failed"]}
    causes = {rank: o for rank, o in failed.items() if o["failed"] not in CONSEQUENCES}
    causes = causes or {r: o for r, o in failed.items() if o["failed"] != "KeyboardInterrupt"}
    verdicts = {o["rank"]: o["verdict"] for o in outcomes if o["verdict"]}
    if not failed and not verdicts and not interrupted:
        return None
    heads: list[str] = []
    lines: list[str] = []
    diverged = ""
    for ranks, text in grouped({r: "\n".join(o["lines"]) for r, o in causes.items()}, True):
        said, _, verdict = causes[ranks[0]]["text"].partition(_DIVERGED)
        if verdict:  # the same on all ranks
            said, diverged = said.partition(":")[0], diverged or verdict
        heads.append(f"{rank_words(ranks, size)} failed: {_first_line(said)}")
        if len(heads) <= _SHOWN:
            lines += [f"{rank_words(ranks, size)} failed:", text, ""]
    for ranks, words in grouped({r: _told(o) for r, o in failed.items() if r not in causes}, True):
        lines.append(f"{rank_words(ranks, size)} {words}")
    if not causes and not interrupted:
        for ranks, verdict in grouped(verdicts, True):
            heads.append(f"{rank_words(ranks, size)} failed: {_first_line(verdict)}")
            lines.append(verdict)
    if any("which have diverged" in o["text"] for o in failed.values()):
        lines.append(OLD)
    if diverged:
        before, verdict, after = "\n".join(lines).partition(diverged)
        lines = [before + verdict + after.replace(_DIVERGED + verdict, "see above")]
    error = CellError("; ".join(["interrupted"] * interrupted + heads))
    error.lines = (*lines, *([remark] if remark else []))
    return error


def _told(outcome: Mapping[str, Any]) -> str:
    if outcome["failed"] == "KeyboardInterrupt":
        return f"interrupted at {outcome['place']}"
    return f"failed: {outcome['text']}"


def _first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."
