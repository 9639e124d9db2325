"""Zarr: chunked stores from arrays and into arrays."""

import zarr


def written_and_read(np, tmp, g):
    z = zarr.create_array(store=tmp / "a.zarr", data=g, chunks=(3, 4))
    return z[:], z[1:3], z[2, 3], np.asarray(z) * 2


def written_in_parts(np, tmp, g, v):
    z = zarr.create_array(store=tmp / "a.zarr", shape=g.shape, chunks=(3, 4), dtype=g.dtype)
    z[:] = g
    z[0, :] = g[1] * 2
    z[:, 1] = v
    z[2:4] = 7
    return z[:], g


def saved_arrays(np, tmp, x, g):
    zarr.save(tmp / "a.zarr", x)
    zarr.save_group(tmp / "b.zarr", x=x, g=g)
    back = zarr.load(tmp / "b.zarr")
    return zarr.load(tmp / "a.zarr"), back["x"], back["g"]


def appended(np, tmp, x):
    z = zarr.create_array(store=tmp / "a.zarr", data=np.ascontiguousarray(x), chunks=(5,))
    z.append(x * 2)
    return z[:]


def chosen_elements(np, tmp, x, m):
    z = zarr.create_array(store=tmp / "a.zarr", data=x, chunks=(5,))
    return z.oindex[[1, 4, 6]], z.vindex[[2, 3]], z.get_orthogonal_selection(slice(0, 9, 2))


def masks(np, tmp, x, m):
    z = zarr.create_array(store=tmp / "a.zarr", data=x, chunks=(5,))
    return z.get_mask_selection(m), z.vindex[m], z.oindex[np.arange(0, 6, 2)]


def set_elements(np, tmp, x, k):
    z = zarr.zeros(shape=(len(x),), chunks=(5,))
    z.set_coordinate_selection(np.arange(4), x[:4])
    z.oindex[np.array([6, 8])] = x[:2]
    return z[:]
