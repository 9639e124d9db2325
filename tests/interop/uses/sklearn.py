"""scikit-learn: models are fitted to arrays and predict arrays."""

from sklearn import (
    cluster,
    compose,
    covariance,
    decomposition,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    kernel_ridge,
    linear_model,
    manifold,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)


def _data(np, cloud):
    few = cloud[:120]
    return few[:, :3], few[:, 3] + few[:, 0], (few[:, 3] > 0.5).astype(int)


def regressions(np, cloud):
    x, y, _ = _data(np, cloud)
    for model in (
        linear_model.LinearRegression(),
        linear_model.Ridge(),
        linear_model.Lasso(0.01),
        linear_model.HuberRegressor(),
        linear_model.BayesianRidge(),
        linear_model.SGDRegressor(random_state=0),
        svm.SVR(),
        kernel_ridge.KernelRidge(),
    ):
        model.fit(x, y)
        yield model.predict(x[:5]), model.score(x, y)


def classifiers(np, cloud):
    x, _, c = _data(np, cloud)
    for model in (
        linear_model.LogisticRegression(),
        svm.SVC(),
        neighbors.KNeighborsClassifier(3),
        naive_bayes.GaussianNB(),
        tree.DecisionTreeClassifier(random_state=0),
        ensemble.RandomForestClassifier(5, random_state=0),
        neural_network.MLPClassifier((4,), max_iter=20, random_state=0),
    ):
        model.fit(x, c)
        yield (
            model.predict(x[:9]),
            model.predict_proba(x[:4]) if hasattr(model, "predict_proba") else 0,
            model.score(x, c),
        )


def trees_of_regression(np, cloud):
    x, y, _ = _data(np, cloud)
    for model in (
        tree.DecisionTreeRegressor(max_depth=3),
        ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3),
        ensemble.ExtraTreesRegressor(5, random_state=0),
    ):
        yield model.fit(x, y).predict(x[:5])


def pipelines(np, cloud):
    x, _y, c = _data(np, cloud)
    line = pipeline.make_pipeline(
        preprocessing.StandardScaler(), decomposition.PCA(2), linear_model.LogisticRegression()
    )
    line.fit(x, c)
    columns = compose.ColumnTransformer(
        [("a", preprocessing.MinMaxScaler(), [0, 1]), ("b", "passthrough", [2])]
    )
    return (
        line.predict(x),
        line.score(x, c),
        columns.fit_transform(x),
        pipeline.make_union(
            preprocessing.PolynomialFeatures(2), preprocessing.FunctionTransformer(np.log1p)
        ).fit_transform(x),
    )


def scalers(np, cloud, w, k):
    for scaler in (
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(),
        preprocessing.RobustScaler(),
        preprocessing.Normalizer(),
        preprocessing.QuantileTransformer(n_quantiles=5),
        preprocessing.PowerTransformer(),
        preprocessing.KBinsDiscretizer(
            3, encode="ordinal", quantile_method="averaged_inverted_cdf"
        ),
    ):
        t = scaler.fit_transform(cloud)
        yield t, scaler.inverse_transform(t) if hasattr(scaler, "inverse_transform") else 0
    yield (
        preprocessing.OneHotEncoder().fit_transform(w.reshape(-1, 1)),
        preprocessing.LabelEncoder().fit_transform(w),
        preprocessing.OrdinalEncoder().fit_transform(k[:, None]),
        preprocessing.scale(cloud),
        preprocessing.label_binarize(k, classes=np.arange(10)),
        preprocessing.add_dummy_feature(cloud),
    )


def decompositions(np, cloud):
    for model in (
        decomposition.PCA(2),
        decomposition.TruncatedSVD(2, random_state=0),
        decomposition.NMF(2, random_state=0, init="random", max_iter=50, tol=0.1),
        decomposition.FastICA(2, random_state=0, tol=0.1),
        manifold.MDS(2, random_state=0, n_init=1, max_iter=5, init="random")
        if False
        else decomposition.FactorAnalysis(2),
    ):
        t = model.fit_transform(cloud[:60])
        yield t, model.components_


def clusters(np, cloud):
    few = cloud[:80]
    for model in (
        cluster.KMeans(3, n_init=1, random_state=0),
        cluster.DBSCAN(0.3),
        cluster.AgglomerativeClustering(3),
        cluster.MiniBatchKMeans(3, n_init=1, random_state=0),
        cluster.MeanShift(bandwidth=0.6),
        cluster.SpectralClustering(2, random_state=0),
        mixture.GaussianMixture(2, random_state=0),
    ):
        yield model.fit_predict(few)
    yield (
        cluster.kmeans_plusplus(few, 3, random_state=0),
        cluster.KMeans(2, init=few[:2], n_init=1).fit(few).cluster_centers_,
    )


def validated(np, cloud):
    x, y, c = _data(np, cloud)
    a, b, p, q = model_selection.train_test_split(x, y, random_state=0)
    search = model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1.0]}, cv=3).fit(
        x, y
    )
    return (
        a,
        b,
        p,
        q,
        model_selection.cross_val_score(linear_model.LinearRegression(), x, y, cv=3),
        search.best_params_,
        [[*map(np.asarray, s)] for s in model_selection.KFold(3).split(x)],
        model_selection.cross_val_predict(linear_model.LogisticRegression(), x, c, cv=3),
        [i.shape for i, _ in model_selection.StratifiedKFold(2).split(x, c)],
        model_selection.learning_curve(
            linear_model.Ridge(), x, y, cv=3, train_sizes=np.array([0.5, 1.0])
        )[2],
    )


def measured(np, x, y, k, m):
    n = metrics
    return (
        n.mean_squared_error(x, y),
        n.r2_score(x, y),
        n.accuracy_score(k, k[::-1]),
        n.confusion_matrix(k, k[::-1]),
        n.roc_auc_score(m, x),
        n.roc_curve(m, x),
        n.f1_score(m, x > 0.5),
        n.classification_report(m, x > 0.5),
        n.log_loss(m, x),
        n.mean_absolute_error(x, y),
        n.precision_recall_curve(m, x),
        n.adjusted_rand_score(k, k),
        n.average_precision_score(m, x),
    )


def distances(np, cloud):
    p = metrics.pairwise
    few = cloud[:20]
    return (
        p.euclidean_distances(few),
        p.rbf_kernel(few),
        p.cosine_similarity(few),
        metrics.silhouette_score(few, np.arange(20) % 3),
        neighbors.NearestNeighbors(n_neighbors=2).fit(few).kneighbors(few),
        neighbors.KDTree(few).query(few[:3], 2),
        neighbors.BallTree(few).query(few[:3])[1],
        p.pairwise_distances(few, metric="manhattan"),
        neighbors.KernelDensity().fit(few).score_samples(few[:3]),
        p.pairwise_distances_argmin(few, few[:3]),
    )


def filled_and_selected(np, cloud):
    x, y, c = _data(np, cloud)
    holes = np.where(x > 0.9, np.nan, x)
    return (
        impute.SimpleImputer().fit_transform(holes),
        impute.KNNImputer().fit_transform(holes),
        feature_selection.SelectKBest(k=2).fit_transform(x, c),
        feature_selection.mutual_info_regression(x, y, random_state=0),
        feature_selection.VarianceThreshold(0.01).fit_transform(x),
        covariance.EmpiricalCovariance().fit(x).covariance_,
        gaussian_process.GaussianProcessRegressor().fit(x[:20], y[:20]).predict(x[:3]).round(4),
        ensemble.IsolationForest(5, random_state=0).fit_predict(x),
    )


def updated(np, cloud):
    x, _y, c = _data(np, cloud)
    model = linear_model.SGDClassifier(random_state=0)
    for part in np.array_split(np.arange(len(x)), 3):
        model.partial_fit(x[part], c[part], classes=np.array([0, 1]))
    scaler = preprocessing.StandardScaler(copy=False)
    return (
        model.predict(x[:9]),
        model.coef_,
        scaler.fit_transform(x + 0),
        decomposition.IncrementalPCA(2, batch_size=30).fit(x).components_,
        model.coef_ @ x[0] + x[0, 0],
    )


def weights(np, cloud, x):
    a, y, c = _data(np, cloud)
    w = np.abs(y) + 0.1
    return (
        linear_model.LinearRegression().fit(a, y, sample_weight=w).coef_,
        linear_model.LogisticRegression(class_weight={0: 1.0, 1: 2.0}).fit(a, c).coef_,
        tree.DecisionTreeRegressor(max_depth=2).fit(a, y, sample_weight=w).predict(a[:4]),
        metrics.mean_squared_error(y, y * 2, sample_weight=w),
        cluster.KMeans(2, n_init=1, random_state=0).fit(a, sample_weight=w).labels_,
    )
