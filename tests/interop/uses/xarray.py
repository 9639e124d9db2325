"""xarray: labelled arrays."""

import numpy
import xarray as xr

from . import fails


def arrays_with_names(np, g):
    a = xr.DataArray(
        g, dims=["y", "x"], coords={"y": np.arange(g.shape[0]), "x": np.linspace(0, 1, g.shape[1])}
    )
    return (
        a.values,
        a.mean("x").values,
        a.sel(y=2).values,
        a.isel(x=slice(1, 4)).values,
        a.T.shape,
        (a * 2 + 1).values,
        a.max().item(),
        a.interp(x=0.35).values,
        a.sel(x=0.4, method="nearest").values,
    )


def grouped(np, x, k):
    a = xr.DataArray(x, dims="i", coords={"k": ("i", k)})
    return (
        a.groupby("k").mean().values,
        a.groupby("k").sum().values,
        (a.groupby("k") - a.groupby("k").mean()).values,
        a.groupby_bins("k", 3).count().values,
    )


def data_sets(np, x, y, t):
    d = xr.Dataset({"x": ("time", x), "y": ("time", y)}, coords={"time": np.sort(t)})
    e = d.assign(z=d.x * d.y)
    return (
        e.z.values,
        d.mean().x.item(),
        e.to_dataframe(),
        d.x.rolling(time=3).mean().values,
        d.resample(time="1D").mean().x.values,
        d.where(d.x > 0.5).x.values,
        d["y"].cumsum().values,
        d.time.dt.hour.values,
    )


def numpy_functions(np, g):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        np.sqrt(a).values,
        np.mean(a).values,
        np.sum(a, axis=0).values,
        np.clip(a, 0.2, 0.8).values,
        type(np.std(a)).__name__,
        np.round(a, 1).values,
        np.maximum(a, 0.5).values,
        np.where(a > 0.5, a, 0),
        np.exp(a).dims,
        np.asarray(a) * 2,
    )


def functions_on_arrays(np, g, v):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        xr.apply_ufunc(np.sqrt, a).values,
        xr.apply_ufunc(lambda b: b.mean(-1), a, input_core_dims=[["x"]]).values,
        xr.dot(a, a, dim="x").values,
        xr.where(a > 0.5, 1, 0).values,
        xr.concat([a, a], "y").shape,
        a.reduce(np.max, dim="x").values,
        xr.full_like(a, 2).values,
        a.copy(data=g * 2).values,
    )


def arithmetic(np, g, v):
    a = xr.DataArray(g, dims=["y", "x"])
    b = xr.DataArray(v, dims="y")
    return (
        (a + b).values,
        (g + a).values,
        (a - g).values,
        (a * v[0]).values,
        (a > g.mean()).values,
        (a @ a.T.rename(y="z")).shape if False else 0,
        (2 - a).values,
        (a**2).sum("y").values,
    )


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


def filled(np, x, m):
    a = xr.DataArray(np.where(m, np.nan, x), dims="i")
    return (
        a.fillna(0).values,
        a.dropna("i").values,
        a.interpolate_na("i").values,
        a.mean().item(),
        a.isnull().values,
        a.count().item(),
        a.quantile([0.1, 0.5]).values,
        a.argmax().item(),
    )


def stacked(np, g, k):
    a = xr.DataArray(g, dims=["y", "x"])
    return (
        a.stack(z=("y", "x")).values,
        a.shift(x=1).values,
        a.roll(x=1).values,
        a.coarsen(y=2, boundary="trim").mean().values,
        a.pad(x=1).values,
        a.diff("x").values,
        a.isel(y=k[:5] % 3).values,
        a.rank("x").values if False else 0,
        a.sortby(a.isel(x=0)).values,
        a.expand_dims("t").shape,
        a.weighted(a).mean().item(),
        a.polyfit("x", 1).polyfit_coefficients.values.round(9),
        numpy.asarray(a.differentiate("x")),
    )


def text(np, x):
    a = xr.DataArray(x, dims="i", name="x")
    return repr(a)
