"""xarray: labelled arrays."""

import xarray as xr

from . import fails


def arrays_with_names(np, g):
    a = xr.DataArray(
        g, dims=["y", "x"], coords={"y": np.arange(g.shape[0]), "x": np.linspace(0, 1, g.shape[1])}
    )
    return (a.values, a.mean("x").values, a.sel(y=2).values, a.interp(x=0.35).values)


def data_sets(np, x, y, t):
    d = xr.Dataset({"x": ("time", x), "y": ("time", y)}, coords={"time": np.sort(t)})
    e = d.assign(z=d.x * d.y)
    return (
        e.z.values,
        e.to_dataframe(),
        d.x.rolling(time=3).mean().values,
        d.resample(time="1D").mean().x.values,
        d.where(d.x > 0.5).x.values,
    )


def numpy_functions(np, g):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        np.sqrt(a).values,
        np.sum(a, axis=0).values,
        type(np.std(a)).__name__,
        np.where(a > 0.5, a, 0),
        np.asarray(a) * 2,
    )


def functions_on_arrays(np, g, v):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        xr.apply_ufunc(np.sqrt, a).values,
        xr.dot(a, a, dim="x").values,
        xr.concat([a, a], "y").shape,
        xr.full_like(a, 2).values,
        a.copy(data=g * 2).values,
    )


def arithmetic(np, g, v):
    a = xr.DataArray(g, dims=["y", "x"])
    b = xr.DataArray(v, dims="y")
    return ((a + b).values, (g + a).values, (a * v[0]).values)


def changed(np, g):
    a = xr.DataArray(g, dims=["y", "x"])
    a[0, 0] = 5
    a.loc[{"x": 1}] = 7
    return a.values, a.copy(deep=True).values


@fails("read-only")
def written_values(np, g):
    a = xr.DataArray(g, dims=["y", "x"])
    a.values[1, 1] = 9
    return a.values


def written_and_read(np, tmp, x, g):
    d = xr.Dataset({"x": ("i", x), "g": (("a", "b"), g)})
    d.to_netcdf(tmp / "a.nc", engine="scipy")
    with xr.open_dataset(tmp / "a.nc", engine="scipy") as back:
        return back.x.values, back.g.values * 2, d.to_dict()["data_vars"]["x"]["dims"]


def stacked(np, g, k):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        a.stack(z=("y", "x")).values,
        a.coarsen(y=2, boundary="trim").mean().values,
        a.pad(x=1).values,
        a.isel(y=k[:5] % 3).values,
    )
