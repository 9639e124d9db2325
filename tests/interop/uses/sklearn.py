"""scikit-learn: models are fitted to arrays and predict arrays."""

from sklearn import (
    cluster,
    compose,
    decomposition,
    ensemble,
    linear_model,
    metrics,
    model_selection,
    neighbors,
    pipeline,
    preprocessing,
    svm,
    tree,
)

from . import fails


def _data(np, cloud):
    few = cloud[:120]
    return few[:, :3], few[:, 3] + few[:, 0], (few[:, 3] > 0.5).astype(int)


def regressions(np, cloud, x):
    a, y, _ = _data(np, cloud)
    for model in (linear_model.Ridge(), svm.SVR(), tree.DecisionTreeRegressor(max_depth=3)):
        model.fit(a, y, sample_weight=np.abs(y) + 0.1)
        yield model.predict(a[:5]), model.score(a, y)


def classifiers(np, cloud):
    x, _, c = _data(np, cloud)
    for model in (
        linear_model.LogisticRegression(class_weight={0: 1.0, 1: 2.0}),
        neighbors.KNeighborsClassifier(3),
        ensemble.RandomForestClassifier(5, random_state=0),
    ):
        model.fit(x, c)
        yield model.predict(x[:9]), model.predict_proba(x[:4]), model.score(x, c)


def pipelines(np, cloud):
    x, _y, c = _data(np, cloud)
    line = pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(2), linear_model.LogisticRegression()
    )
    columns = compose.ColumnTransformer(
        [("a", preprocessing.MinMaxScaler(), [0, 1]), ("b", "passthrough", [2])]
    )
    return line.fit(x, c).predict(x), columns.fit_transform(x)


def scalers(np, cloud, w, k):
    scaler = preprocessing.StandardScaler(copy=False)
    return (
        scaler.fit_transform(cloud + 0),
        preprocessing.FunctionTransformer(np.log1p).fit_transform(cloud),
        preprocessing.OneHotEncoder().fit_transform(w.reshape(-1, 1)),
        preprocessing.LabelEncoder().fit_transform(w),
        preprocessing.label_binarize(k, classes=np.arange(10)),
    )


def clusters(np, cloud):
    few = cloud[:80]
    yield cluster.KMeans(2, init=few[:2], n_init=1).fit(few).cluster_centers_
    yield cluster.DBSCAN(0.3).fit_predict(few)
    yield neighbors.KDTree(few).query(few[:3], 2)


def validated(np, cloud):
    x, y, c = _data(np, cloud)
    model = linear_model.SGDClassifier(random_state=0)
    for part in np.array_split(np.arange(len(x)), 3):
        model.partial_fit(x[part], c[part], classes=np.array([0, 1]))
    return (
        model_selection.train_test_split(x, y, random_state=0),
        model_selection.cross_val_score(linear_model.LinearRegression(), x, y, cv=3),
        model.coef_ @ x[0] + x[0, 0],
    )


@fails("Parameter")
def grids_of_arrays(np):
    return [*model_selection.ParameterGrid({"alpha": np.array([0.1, 1.0])})]


def measured(np, x, y, k, m):
    return (
        metrics.r2_score(x, y, sample_weight=np.abs(y) + 0.1),
        metrics.confusion_matrix(k, k[::-1]),
        metrics.roc_curve(m, x),
        metrics.classification_report(m, x > 0.5),
    )
