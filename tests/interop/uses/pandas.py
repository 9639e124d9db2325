"""pandas: frames and series from arrays, and arrays from them."""

import pandas as pd

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
    return (pd.DataFrame({"x": x}, index=k).loc[3], pd.Index(k), pd.MultiIndex.from_arrays([k, w]))


def new_columns(np, x, y, k):
    frame = pd.DataFrame({"x": x})
    frame["y"] = y * 2 + 1
    frame["k"] = k
    frame["z"] = np.sqrt(frame["x"]) + y
    frame.loc[3, "y"] = x[0]
    frame.insert(0, "first", np.where(x > 0.5, x, y))
    return frame.assign(s=x + frame.y, r=lambda f: f.x * k)


@fails("not callable")
def groups_of_an_array(np, x, k):
    return pd.DataFrame({"x": x}).groupby(k).mean()


def arithmetic(np, x, y):
    s = pd.Series(x)
    return (s + y, y + s, s > y, s @ y, y / s)


def numpy_functions(np, x, y, m):
    s = pd.Series(x)
    frame = pd.DataFrame({"x": x, "y": y})
    return (
        np.sqrt(s),
        np.where(s > 0.5, 1, 0),
        np.exp(frame),
        np.mean(s),
        np.maximum(s, y),
        np.sort(s),
        np.concatenate([s, y]),
        np.dot(s, y),
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


def cut_and_counted(np, x, k, w):
    return (
        pd.cut(x, np.linspace(0, 1, 5), labels=False),
        pd.Series(k).value_counts(),
        pd.Categorical(w).codes,
        pd.get_dummies(k),
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


def sorted_and_ranked(np, x, k):
    frame = pd.DataFrame({"x": x, "k": k})
    return (frame.x.quantile(np.array([0.1, 0.5])), frame.x.searchsorted(x[:2]))


def applied(np, x, y):
    frame = pd.DataFrame({"x": x, "y": y})
    return (frame.apply(np.sum), frame.x.map(np.sqrt), frame.x.rolling(4).apply(np.mean, raw=True))


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


def extension_arrays(np, x, k, m):
    return (
        pd.array(k),
        pd.array(x, dtype="Float64"),
        pd.Series(m, dtype="boolean"),
        pd.arrays.SparseArray(x),
    )


def rows_of_arrays(np, g, x):
    return (pd.DataFrame(list(g)), pd.DataFrame(dict(enumerate(g.T))), pd.DataFrame(zip(x, x)))


def arrays_as_cells(np, x):
    s = pd.Series([x[:2], x[2:5], x[:0]])
    frame = pd.DataFrame({"a": [x[:2], x[2:4]]})
    return (
        s.map(len),
        s.explode().astype(float),
        frame.a.apply(lambda v: v.sum()),
        frame.map(np.size),
    )
