"""seaborn: statistical pictures, compared pixel by pixel."""

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from .matplotlib import _pixels


def distributions(np, x, y):
    figure, ax = plt.subplots(2, 2)
    sns.histplot(x, ax=ax[0, 0])
    sns.kdeplot(x, ax=ax[0, 1])
    sns.ecdfplot(y, ax=ax[1, 0])
    sns.rugplot(x, ax=ax[1, 1])
    return _pixels(figure)


def two_variables(np, x, y, k):
    figure, ax = plt.subplots(2, 2)
    sns.scatterplot(x=x, y=y, hue=k, ax=ax[0, 0])
    sns.lineplot(x=k, y=y, ax=ax[0, 1], errorbar=None)
    sns.regplot(x=x, y=y, ax=ax[1, 0], ci=None)
    sns.histplot(x=x, y=y, ax=ax[1, 1])
    return _pixels(figure)


def categories(np, x, w):
    figure, ax = plt.subplots(2, 2)
    sns.boxplot(x=w, y=x, ax=ax[0, 0])
    sns.violinplot(x=w, y=x, ax=ax[0, 1])
    sns.barplot(x=w, y=x, ax=ax[1, 0], errorbar=None)
    sns.countplot(x=w, ax=ax[1, 1])
    return _pixels(figure)


def matrices(np, g):
    figure, ax = plt.subplots(1, 2)
    sns.heatmap(g, ax=ax[0], annot=False)
    sns.heatmap(np.corrcoef(g), ax=ax[1], vmin=-1, mask=np.triu(np.ones((len(g), len(g)), bool)))
    return _pixels(figure)


def frames(np, x, y, w):
    frame = pd.DataFrame({"x": x, "y": y, "w": w})
    figure, ax = plt.subplots(1, 2)
    sns.scatterplot(frame, x="x", y="y", hue="w", ax=ax[0])
    sns.pointplot(frame, x="w", y="y", ax=ax[1], errorbar=None)
    return _pixels(figure)
