"""The byte streams between ranks and user, cut at any place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from atoll.cli.streams import Extract, Lines, Stage

cuts = st.lists(st.integers(0, 200), max_size=8)


def through(stage: Stage, data: bytes, places: list[int], pause: bool = False) -> bytes:
    """``data`` in pieces through a stage, with a pause after each or none."""
    out, edges = b"", sorted({0, len(data), *(place for place in places if place < len(data))})
    for start, stop in pairwise(edges):
        out += stage.feed(data[start:stop])
        if pause:
            out += stage.flush()
    return out + stage.flush(ended=True)


@given(cuts)
def test_stretches_are_taken_out_wherever_the_stream_is_cut(places: list[int]) -> None:
    taken: list[bytes] = []

    def take(stretch: bytes) -> bytes:
        taken.append(stretch)
        return b"!"

    stage = Extract(b"<<a", b">>", take)
    data = b"one <<a first >> two << no <<a second>> <<a>> end <<"
    assert through(stage, data, places) == b"one ! two << no ! ! end <<"
    assert taken == [b"<<a first >>", b"<<a second>>", b"<<a>>"]


@given(st.binary(max_size=200), cuts, st.booleans())
def test_other_bytes_pass_unchanged(data: bytes, places: list[int], pause: bool) -> None:
    stage = Extract(b"\x1emark", b"\x1e\n", lambda stretch: stretch)
    assert through(stage, data, places, pause) == data


def test_only_a_possible_beginning_is_held_back() -> None:
    stage = Extract(b"====", b"\n", lambda stretch: b"")
    assert stage.feed(b"a line\n") == b"a line\n"
    assert stage.feed(b"a prompt: ") == b"a prompt: "
    assert stage.feed(b"x==") == b"x"
    assert stage.flush() == b"=="


@given(cuts, st.booleans())
def test_lines_of_a_rank_come_whole_behind_its_number(places: list[int], pause: bool) -> None:
    out = through(Lines(10), b"one\n\na line [1] \nopen", places, pause)
    assert out == b"[10] one\n[10] \n[10] a line [1] \n[10] open\n"
