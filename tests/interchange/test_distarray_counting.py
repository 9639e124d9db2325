"""The protocol's own utilities, against counting by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.errors import ProtocolError
from atoll.interchange.distarray import num_owned_indices

from .distarray_descriptions import block, cyclic, eighteen_padded, padding_table, unstructured


@given(st.integers(0, 200), st.integers(1, 9), st.integers(1, 12))
def test_cyclic_counts_agree_with_dealing_out_blocks(size, grid_size, block_size):
    dealt = np.arange(size) // block_size % grid_size
    for k in range(grid_size):
        dim_dict = cyclic(k * block_size, size, grid_size, k, block_size=block_size)
        assert num_owned_indices(dim_dict) == np.count_nonzero(dealt == k)


def test_the_partial_last_block_goes_to_the_process_whose_turn_it_is():
    # 10 indices in blocks of 2 over 3 processes: 0 1 | 2 3 | 4 5 | 6 7 | 8 9; 11 adds a partial block to process 2.
    counts = [num_owned_indices(cyclic(2 * k, 11, 3, k, block_size=2)) for k in range(3)]
    assert counts == [4, 4, 3]


def test_empty_cyclic_sections_by_either_convention():
    assert num_owned_indices(cyclic(6, 5, 4, 3, block_size=2)) == 0
    assert num_owned_indices(cyclic(5, 5, 4, 3, block_size=2)) == 0


def test_blocks_count_boundary_padding_but_not_communication_padding():
    dims = [padding_table(rank)["dim_data"][0] for rank in range(4)]
    assert [num_owned_indices(d) for d in dims] == [10, 5, 6, 7]


def test_blocks_of_0_9_leave_communication_padding_out_already():
    dims = [eighteen_padded(rank)["dim_data"][0] for rank in range(2)]
    assert [num_owned_indices(d, version="0.9.0") for d in dims] == [9, 9]


@pytest.mark.parametrize(
    ("kind", "version", "needed"),
    [
        ("b", "1.0.0", "start stop proc_grid_size proc_grid_rank"),
        ("b", "0.9.0", "start stop"),
        ("c", "1.0.0", "start size proc_grid_size"),
        ("n", "1.0.0", "size"),
        ("u", "1.0.0", "indices"),
    ],
)
def test_a_missing_key_is_an_error(kind, version, needed):
    whole = {"size": 8, "proc_grid_size": 2, "proc_grid_rank": 0, "start": 0, "stop": 4}
    whole = {"dist_type": kind, **whole, "indices": np.arange(4)}
    needed = needed.split()
    few = {key: whole[key] for key in ("dist_type", *needed)}
    assert num_owned_indices(few, version=version) == num_owned_indices(whole, version=version)
    for key in needed:
        with pytest.raises(KeyError, match=key):
            num_owned_indices({k: v for k, v in whole.items() if k != key}, version=version)


def test_unstructured_and_undistributed():
    assert num_owned_indices(unstructured(np.array([4, -1, 7]), 3)) == 3
    assert num_owned_indices({"dist_type": "n", "size": 10}) == 10
    assert num_owned_indices(block(3, 9, 20, 4, 1)) == 6


def test_what_one_dictionary_cannot_tell_is_refused():
    with pytest.raises(ProtocolError, match=r"buffer\.shape"):
        num_owned_indices({})
    with pytest.raises(ProtocolError, match="'x'"):
        num_owned_indices({"dist_type": "x"})
