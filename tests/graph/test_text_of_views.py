"""Views in words: NumPy reads them back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.graph.geometry import dense
from atoll.graph.words import slice_text, view_text


def base(shape, dtype="f8"):
    return dense(shape, np.dtype(dtype))


@pytest.mark.parametrize(
    ("take", "text"),
    [
        (lambda s: s[1:-1, ::2], "[1:-1, ::2]"),
        (lambda s: s[:-1, 1:4], "[:-1, 1:4]"),
        (lambda s: s[::-1], "[::-1]"),
        (lambda s: s[3], "[3]"),
        (lambda s: s[3:4], "[3:4]"),
        (lambda s: s[:, 2], "[:, 2]"),
        (lambda s: s.T, ".T"),
        (lambda s: s[1:, :3].T, "[1:, :3].T"),
        (lambda s: s.reshape(-1), ".reshape(42)"),
        (lambda s: s.diagonal(1), "[i, i+1] by [i]"),
        (lambda s: s[:, 0][:, None], "[:, :1]"),
        (lambda s: s[:, 0][:, None, None], "[i, 0] by [i, j, k]"),
        (lambda s: s.view("i8"), ".view(int64)"),
    ],
)
def test_views_are_written_as_a_user_would(take, text):
    geometry = base((6, 7))
    assert view_text(geometry.derived(text, take)) == text


def test_all_of_an_array_needs_no_words():
    assert view_text(base((6, 7))) == ""


def test_parts_of_complex_numbers():
    geometry = base((3, 4), "c16")
    assert view_text(geometry.derived("real", lambda s: s.real)) == ".real"
    assert view_text(geometry.derived("imag", lambda s: s.imag)) == ".imag"


def test_axes_in_another_order():
    geometry = base((2, 3, 4))
    assert view_text(geometry.derived("t", lambda s: s.transpose(1, 2, 0))) == ".transpose(1,2,0)"
    assert view_text(geometry.derived("b", lambda s: s[0].T)) == "[0].T"


@given(n=st.integers(1, 30), data=st.data())
def test_slices_are_read_back(n, data):
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2, -5]))
    first = data.draw(st.integers(0, n - 1))
    room = (n - 1 - first) // step if step > 0 else first // -step
    count = data.draw(st.integers(1, room + 1))
    taken = eval(f"np.arange({n})[{slice_text(first, count, step, n)}]")
    assert taken.tolist() == [first + k * step for k in range(count)]


_parts = st.one_of(
    st.integers(0, 3),
    st.builds(
        slice,
        st.sampled_from([None, 0, 1, 2]),
        st.sampled_from([None, 3, 4, -1]),
        st.sampled_from([None, 1, 2, -1]),
    ),
)


@given(key=st.tuples(_parts, _parts, _parts))
def test_indices_are_read_back(key):
    array = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    expected = array[(*key, ...)]
    text = view_text(base(array.shape).index(key))
    if " by " in text or "strided" in text:
        assert expected.size == 0
    else:
        assert eval(f"array{text}").tolist() == expected.tolist()


def test_a_view_with_symbolic_integers_has_no_words_of_its_own():
    from atoll.plan.shapes import Shape

    real = dense((4, 5), np.dtype(float))
    base = Shape(real, 0, (4, 5), (40, 8), 0, real.dtype, None)
    view = Shape(real, 1, (2, 5), (40, 8), 40, real.dtype, base)
    assert view_text(base) == ""
    assert view_text(view) == "[...]"
