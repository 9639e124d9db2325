"""Pictures of partitions."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from atoll import dataflow as df

from .test_parts import exchange


def test_text_has_parts_and_messages() -> None:
    text = df.show(exchange(0, 3))
    assert text.splitlines()[0] == "rank 0, part 0"
    assert "rank 0, part 1, after part 0" in text
    assert "  reads u" in text
    assert "  sends _send_0: 'l' to rank 2" in text
    assert "  receives _recv_0: 'l' from rank 1" in text
    assert "_send_0 = add  (6,) float64  test_parts.py:" in text
    assert text.index("sends") < text.index("part 1, after")


def test_dot_has_a_cluster_for_each_part_and_dotted_messages() -> None:
    dot = df.get_dot_graph(exchange(0, 3))
    assert dot.count("subgraph") == 2
    assert dot.count("style=dotted") == 4  # two go, two come
    assert "p0_0 -> p0_1 [label=" in dot
    assert dot.count("{") == dot.count("}")


@pytest.mark.simulated(3, distributes=False)
def test_all_ranks_in_one_picture(rank: int, size: int) -> None:
    partition = exchange(rank, size)
    dot = df.get_dot_graph(partition, df_world())
    assert dot.count("subgraph") == 6
    assert dot.count("style=dotted") == 6  # each message once, from part to part
    assert "diamond" not in dot
    drawing = ElementTree.fromstring(str(df.show(partition, df_world(), form="svg")))
    boxes = [e for e in drawing.iter() if e.tag.endswith("rect")]
    dotted = [e for e in drawing.iter() if "stroke-dasharray" in e.attrib]
    assert (len(boxes), len(dotted)) == (6, 6)


def df_world():
    import atoll

    return atoll.world


def test_the_drawing_of_one_rank() -> None:
    drawing = ElementTree.fromstring(str(df.show(exchange(0, 3), form="svg")))
    titles = [e.text for e in drawing.iter() if e.tag.endswith("title")]
    assert "from rank 1, _recv_0: 'l'" in titles
    with pytest.raises(ValueError, match=r"form must be .* not 'png'"):
        df.show(exchange(0, 3), form="png")


def test_show_dot_graph_prints(capsys: pytest.CaptureFixture[str]) -> None:
    dot = df.show_dot_graph(exchange(0, 2))
    assert capsys.readouterr().out.strip() == dot
