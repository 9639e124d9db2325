"""h5py: files of HDF5 from arrays and into arrays."""

import h5py

from . import fails


def written_and_read(np, tmp, x, g, k):
    with h5py.File(tmp / "a.h5", "w") as file:
        file["x"] = x
        file.create_dataset("g", data=g, compression="gzip")
        file.create_dataset("k", data=k, dtype="i2")
    with h5py.File(tmp / "a.h5") as file:
        return (
            file["x"][:],
            file["g"][1:3],
            file["k"][()] + k,
            np.asarray(file["x"]) + x,
            np.array(file["g"]) * 2,
            file["g"].shape,
        )


def written_in_parts(np, tmp, g, x):
    with h5py.File(tmp / "a.h5", "w") as file:
        data = file.create_dataset("g", shape=g.shape, dtype=g.dtype)
        data[:] = g
        data[1:3, 2] = x[:2]
        data[0] = g[1] * 2
        data[..., -1] = 0
        return data[:]


def attributes(np, tmp, x, w):
    with h5py.File(tmp / "a.h5", "w") as file:
        file.attrs["x"] = x[:5]
        file.attrs["mean"] = x.mean()
        file.attrs["shape"] = np.array([1, 2])
        file.attrs["name"] = str(w[0])
        return {name: file.attrs[name] for name in file.attrs}


@fails("boolean selection")
def elements_under_a_mask(np, tmp, x, m):
    with h5py.File(tmp / "a.h5", "w") as file:
        file["x"] = x
        return file["x"][m]


def strings(np, tmp, w):
    with h5py.File(tmp / "a.h5", "w") as file:
        file.create_dataset("w", data=w.astype("S"))
        file.create_dataset("v", data=w.astype(object), dtype=h5py.string_dtype())
        return file["w"][:], file["v"].asstr()[:], file["v"][0]


@fails("no native HDF5 equivalent")
def strings_of_their_own_dtype(np, tmp, w):
    a = np.array(w.astype(object), dtype=h5py.string_dtype())
    with h5py.File(tmp / "a.h5", "w") as file:
        file.create_dataset("w", data=a)
        return file["w"].asstr()[:]


def records(np, tmp, p):
    with h5py.File(tmp / "a.h5", "w") as file:
        file["p"] = p
        return file["p"][:], file["p"]["a"], file["p"].dtype


def read_into(np, tmp, x):
    a = np.zeros(len(x))
    with h5py.File(tmp / "a.h5", "w") as file:
        file["x"] = x
        file["x"].read_direct(a if type(a).__module__ == "numpy" else a.local)
    return a


@fails("expected numpy.ndarray")
def read_into_an_array(np, tmp, x):
    a = np.zeros(len(x))
    with h5py.File(tmp / "a.h5", "w") as file:
        file["x"] = x
        file["x"].read_direct(a)
    return a
