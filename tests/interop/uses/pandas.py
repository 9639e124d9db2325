"""pandas: frames and series from arrays, and arrays from them."""

import io
import pickle

import pandas as pd
import pytest

from . import fails


def a_frame_of_columns(np, x, k, m, w, t):
    return pd.DataFrame({"x": x, "k": k, "m": m, "w": w, "t": t}), x


def a_frame_of_a_matrix(np, g):
    frame = pd.DataFrame(g, columns=[f"c{i}" for i in range(g.shape[1])])
    return frame, frame.describe(), frame.T, frame.c1.to_numpy(), np.asarray(frame) * 2


def series(np, x, k, t):
    a = pd.Series(x, name="x")
    b = pd.Series(x, index=k)
    c = pd.Series(x, index=pd.DatetimeIndex(t)).sort_index()
    return (
        a,
        b,
        c,
        a.rolling(3).mean(),
        a.cumsum(),
        c.resample("1D").mean(),
        b.groupby(level=0).sum(),
    )


def an_index_of_an_array(np, x, k, w):
    frame = pd.DataFrame({"x": x}, index=k)
    return (
        frame.loc[3],
        pd.Index(k),
        pd.Index(w).unique(),
        frame.reindex(np.arange(0, 4), method=None) if frame.index.is_unique else 0,
        pd.MultiIndex.from_arrays([k, w]),
    )


def new_columns(np, x, y, k):
    frame = pd.DataFrame({"x": x})
    frame["y"] = y * 2 + 1
    frame["k"] = k
    frame["z"] = np.sqrt(frame["x"]) + y
    frame.loc[3, "y"] = x[0]
    frame.insert(0, "first", np.where(x > 0.5, x, y))
    return frame.assign(s=x + frame.y, r=lambda f: f.x * k)


def grouped(np, x, k, w):
    frame = pd.DataFrame({"x": x, "k": k, "w": w})
    return (
        frame.groupby("k").x.mean(),
        frame.groupby(["k", "w"]).sum(),
        frame.groupby("k").x.transform(np.mean),
        frame.pivot_table(index="k", columns="w", values="x", aggfunc="mean"),
    )


@fails("not callable")
def groups_of_an_array(np, x, k):
    return pd.DataFrame({"x": x}).groupby(k).mean()


def arithmetic(np, x, y):
    s = pd.Series(x)
    return (
        s + y,
        y + s,
        s * np.float64(2),
        y - s,
        s > y,
        y < s,
        s @ y,
        s.add(y),
        s.dot(y),
        y / s,
        s**y,
    )


def numpy_functions(np, x, y, m):
    s = pd.Series(x)
    frame = pd.DataFrame({"x": x, "y": y})
    return (
        np.sqrt(s),
        np.where(s > 0.5, 1, 0),
        np.exp(frame),
        np.mean(s),
        np.sum(frame),
        np.maximum(s, y),
        np.abs(s),
        np.log1p(frame.x),
        np.clip(s, 0.2, 0.8),
        np.isnan(s),
        np.sort(s),
        np.concatenate([s, y]),
        np.dot(s, y),
        np.std(s),
        np.corrcoef(s, y),
        np.polyfit(s, y, 1),
        np.cumsum(s),
        np.unique(s),
        np.argsort(s),
    )


def arrays_of_columns(np, x, g):
    frame = pd.DataFrame({"x": x})
    a = np.array(frame["x"])
    b = np.asarray(frame.x.values)
    a[0] = 9
    return (
        a,
        b,
        np.array(frame.index),
        np.asarray(frame),
        frame.x.to_numpy() * x,
        np.stack([frame.x, frame.x]),
    )


def positions(np, x, k):
    frame = pd.DataFrame({"x": x})
    return (
        frame.iloc[k],
        frame.x.iloc[np.argsort(x)[:5]],
        frame.x.take(k),
        frame.loc[k],
        frame.iloc[k[0]],
        frame.x[int(k[1])],
    )


def masks_by_hand(np, x, y, m):
    s = pd.Series(x)
    return s.where(m), s.mask(m, y), s.where(s > 0.3, -1)


@fails("KeyError")
def a_mask_as_a_key(np, x, m):
    return pd.DataFrame({"x": x})[m]


@fails("None of")
def a_mask_as_a_location(np, x, m):
    return pd.DataFrame({"x": x}).loc[m]


def masks_of_positions(np, x, m):
    frame = pd.DataFrame({"x": x})
    return frame.iloc[np.flatnonzero(m)], frame.loc[frame.x > 0.5]


def cut_and_counted(np, x, k, w):
    return (
        pd.cut(x, 4),
        pd.cut(x, np.linspace(0, 1, 5), labels=False),
        pd.qcut(x, 3, labels=False),
        pd.Series(k).value_counts(),
        pd.unique(pd.Series(k)),
        pd.Categorical(w).codes,
        pd.get_dummies(k),
        pd.crosstab(k, w),
    )


@fails("factorize requires")
def codes(np, k):
    return pd.factorize(k)


def times(np, t, x):
    d = pd.to_datetime(t)
    s = pd.Series(x, index=d).sort_index()
    return (
        d,
        d.year,
        s.index.dayofyear,
        pd.Series(t).dt.hour,
        s.resample("6h").count(),
        pd.date_range("2020", periods=4).to_numpy() - t[:4],
        pd.to_timedelta(t - t[0]),
    )


def joined(np, x, y, k):
    a, b = (
        pd.DataFrame({"k": k, "x": x}),
        pd.DataFrame({"k": np.unique(k), "n": np.arange(np.unique(k).size)}),
    )
    return (
        a.merge(b, on="k"),
        pd.concat([a, a.assign(x=y)], ignore_index=True),
        a.set_index("k").join(b.set_index("k"), how="left"),
    )


def missing_values(np, x, m):
    a = np.where(m, np.nan, x)
    s = pd.Series(a)
    return (
        pd.isna(a),
        s.fillna(0),
        s.dropna(),
        s.interpolate(),
        s.mean(),
        pd.isnull(x[0]),
        pd.DataFrame({"a": a}).count(),
        s.isin(x[:5]),
    )


def sorted_and_ranked(np, x, k):
    frame = pd.DataFrame({"x": x, "k": k})
    return (
        frame.sort_values(["k", "x"]),
        frame.x.rank(),
        frame.nlargest(3, "x"),
        frame.x.quantile(np.array([0.1, 0.5])),
        frame.quantile(0.3),
        frame.duplicated("k"),
        frame.x.searchsorted(x[:2]),
    )


def applied(np, x, y):
    frame = pd.DataFrame({"x": x, "y": y})
    return (
        frame.apply(np.sum),
        frame.x.apply(lambda v: v * 2),
        frame.apply(lambda r: np.hypot(r.x, r.y), axis=1),
        frame.x.map(np.sqrt),
        frame.agg([np.min, np.max]),
        frame.x.rolling(4).apply(np.mean, raw=True),
        frame.eval("x + y"),
        frame.query("x > 0.5"),
    )


def queries_of_names(np, x, k):
    frame = pd.DataFrame({"x": x})
    limit = x.mean()
    return (
        frame.query("x > @limit"),
        frame.x.between(x.min(), limit),
        frame.clip(upper=limit),
        frame.x.shift(1, fill_value=x[0]),
        frame.x.diff(),
        frame.sample(3, random_state=1),
    )


def written_and_read(np, tmp, x, k, w, t):
    frame = pd.DataFrame({"x": x, "k": k, "w": w, "t": t})
    frame.to_csv(tmp / "a.csv", index=False)
    frame.to_pickle(tmp / "a.pkl")
    frame.to_json(tmp / "a.json")
    back = pd.read_csv(tmp / "a.csv")
    return (
        back,
        pd.read_pickle(tmp / "a.pkl"),
        pd.read_json(tmp / "a.json"),
        frame.to_string(max_rows=8),
        np.asarray(back.x) + x,
        frame.to_dict("list")["k"][:3],
    )


def columnar_files(np, tmp, x, k, w):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": x, "k": k, "w": w})
    frame.to_parquet(tmp / "a.parquet")
    frame.to_feather(tmp / "a.feather")
    return pd.read_parquet(tmp / "a.parquet"), pd.read_feather(tmp / "a.feather")


def in_a_database(np, x, k):
    import sqlite3

    base = sqlite3.connect(":memory:")
    pd.DataFrame({"x": x, "k": k}).to_sql("t", base, index=False)
    return pd.read_sql("select k, avg(x) m from t group by k order by k", base)


@fails("columns")
def records(np, p, x):
    return pd.DataFrame(p), pd.DataFrame(p[:3])


def fields_of_records(np, p, x):
    frame = pd.DataFrame({"a": p["a"], "b": p["b"]})
    return frame, frame.to_records(index=False).view(dtype=p.dtype)["a"] + x


def copies_and_memory(np, x):
    s = pd.Series(x, copy=True)
    s[0] = 5
    s.iloc[1:3] = 7
    frame = pd.DataFrame({"x": x})
    frame.loc[2, "x"] = 8
    frame["x"] += 1
    return s, frame, x


def windows_and_correlation(np, x, y):
    frame = pd.DataFrame({"x": x, "y": y})
    return (
        frame.corr(),
        frame.cov(),
        frame.x.ewm(span=3).mean(),
        frame.rolling(5).std(),
        frame.expanding().max(),
        frame.x.autocorr(),
        frame.x.corr(frame.y),
        frame.skew(),
    )


def extension_arrays(np, x, k, m):
    return (
        pd.array(k),
        pd.array(x, dtype="Float64"),
        pd.arrays.IntegerArray(k.astype("i8") + 0, np.zeros(len(k), bool)) if False else 0,
        pd.Series(x, dtype="float32"),
        pd.Series(k, dtype="category"),
        pd.Series(m, dtype="boolean"),
        pd.arrays.SparseArray(x),
    )


def pickled_frames(np, x, k):
    return pickle.loads(pickle.dumps(pd.DataFrame({"x": x, "k": k}))), pd.DataFrame({"x": x}).copy(
        deep=True
    )


def text_of_frames(np, x, k):
    frame = pd.DataFrame({"x": x[:6], "k": k[:6]})
    buffer = io.StringIO()
    frame.info(buf=buffer)
    return repr(frame), frame.to_html(), frame.to_markdown() if False else "", buffer.getvalue()


def elements_in_frames(np, x, k):
    frame = pd.DataFrame([{"a": x[i], "b": k[i]} for i in range(5)])
    return (
        frame,
        frame.dtypes.astype(str).tolist(),
        pd.Series({"a": x.sum(), "b": x.mean()}),
        pd.DataFrame({"m": [x.max(), x.min()]}, index=["max", "min"]),
        pd.Series([x.sum()]).dtype.name,
    )


def rows_of_arrays(np, g, x):
    return (
        pd.DataFrame(list(g)),
        pd.DataFrame(list(g[:3])),
        pd.Series(list(x)),
        pd.DataFrame(dict(enumerate(g.T))),
        pd.DataFrame(np.column_stack([x, x])),
        pd.DataFrame(zip(x, x)),
    )


def arrays_as_cells(np, x):
    s = pd.Series([x[:2], x[2:5], x[:0]])
    frame = pd.DataFrame({"a": [x[:2], x[2:4]]})
    return (
        s.map(len),
        s.explode().astype(float),
        frame.a.apply(lambda v: v.sum()),
        frame.map(np.size),
    )
