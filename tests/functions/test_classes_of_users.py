"""Which results of NumPy's functions are of a user's class: those that are in NumPy, and only those."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import atoll
from atoll.config import config

GROUPS = {
    "medians and averages": (
        "np.median(a); np.median(a, axis=0); np.median(a,axis=0,keepdims=True); "
        "np.average(a); np.average(a, axis=0); np.average(a, axis=0, weights=a[:,0])"
    ),
    "averages and pieces": (
        "np.average(a, weights=a); np.average(a, axis=1, returned=True); "
        "np.piecewise(a, [a<2, a>=2], [1, lambda x: x*2]); np.kron(a, a); np.kron(p, a); "
        "np.kron(a[0], p)"
    ),
    "insertions": (
        "np.insert(a, 1, 5); np.insert(a, 1, 5, axis=0); np.delete(a, 1); "
        "np.delete(a, 1, axis=0); np.append(a, a); np.append(a, 3); np.append(a,a,axis=0)"
    ),
    "functions along axes": (
        "np.apply_along_axis(lambda x: x.sum(), 0, a); "
        "np.apply_along_axis(lambda x: x*2, 0, a); np.apply_over_axes(np.sum, a, [0]); "
        "np.vectorize(lambda x: x+1)(a); np.vectorize(lambda x: x+1, otypes='d')(a)"
    ),
    "sorting and positions": (
        "np.sort(a); np.sort(a, axis=None); np.argsort(a); np.partition(a,1); "
        "np.argpartition(a,1); np.lexsort((a[0], a[1])); np.searchsorted(a[0], 1.5); "
        "np.searchsorted(a[0], a[0]); a[0].searchsorted([1.,2.])"
    ),
    "methods": (
        "a.argsort(); a.nonzero(); np.nonzero(a); a.take([0,1]); np.take(a,[0,1],axis=1); "
        "a.compress([True, False], axis=0); np.compress([True,False], a, axis=0); "
        "a.repeat(2); np.repeat(a,2,axis=0); np.tile(a,2); np.tile(a,(2,1,1))"
    ),
    "scans and diagonals": (
        "np.choose([[0,1,0],[1,0,1]], [a, a]); a.cumsum(); a.cumsum(0); np.cumsum(a); "
        "np.cumprod(a,axis=1); a.trace(); np.trace(a); a.diagonal(); np.diagonal(a); "
        "np.diag(a); np.diag(a[0])"
    ),
    "joining and splitting": (
        "np.concatenate([a,a]); np.concatenate([a,p]); np.stack([a,a]); np.vstack([a,a]); "
        "np.hstack([a,p]); np.dstack([a,a]); np.column_stack([a,a]); np.block([a,a]); "
        "np.split(a,2); np.array_split(a,2); np.hsplit(a,3); np.unstack(a)"
    ),
    "choices and roundings": (
        "np.where(a>1,a,0); np.where(a>1); np.select([a>1],[a]); np.clip(a,1,2); "
        "a.clip(1,2); np.round(a); a.round(1); np.around(a,1); np.fix(a); np.sinc(a); "
        "np.angle(a); np.real(a); np.imag(a); a.real; a.imag; np.isclose(a,a); "
        "np.allclose(a,a); np.nan_to_num(a); np.i0(a)"
    ),
    "differences": (
        "np.diff(a); np.diff(a,axis=0); np.gradient(a); np.ediff1d(a); np.trapezoid(a); "
        "np.trapezoid(a,axis=0); np.interp(a[0],[0.,1],[0.,1]); np.unwrap(a); "
        "np.convolve(a[0],a[1]); np.correlate(a[0],a[1]); np.cross(a,a); np.cov(a); "
        "np.corrcoef(a)"
    ),
    "products": (
        "np.dot(a,a.T); a.dot(a.T); a@a.T; np.matmul(a,a.T); np.inner(a,a); np.outer(a,a); "
        "np.tensordot(a,a); np.vdot(a,a); np.einsum('ij,ij->i',a,a); np.einsum('ij->ji',a); "
        "np.multiply.outer(a,a); np.add.reduce(a); np.add.accumulate(a); "
        "np.add.reduceat(a,[0,1]); np.vecdot(a,a)"
    ),
    "reductions": (
        "a.sum(); np.sum(a); np.sum(a,axis=0); a.mean(); np.mean(a,axis=0); np.var(a); "
        "np.std(a,axis=0); np.prod(a); np.min(a); np.max(a,axis=0); np.ptp(a); "
        "np.ptp(a,axis=0); np.argmax(a); np.argmax(a,axis=0); a.argmin(1); np.any(a); "
        "np.all(a,axis=0); np.count_nonzero(a); np.count_nonzero(a,axis=0)"
    ),
    "reductions without NaN": (
        "np.nansum(a); np.nansum(a,axis=0); np.nanmean(a,axis=0); np.nanmean(a); "
        "np.nanvar(a,axis=0); np.nanstd(a); np.nanmin(a); np.nanmax(a,axis=0); "
        "np.nanargmax(a,axis=0); np.nancumsum(a); np.nanmedian(a); np.nanmedian(a,axis=0); "
        "np.nanpercentile(a,50,axis=0); np.nanprod(a,axis=1)"
    ),
    "statistics and sets": (
        "np.percentile(a,50); np.percentile(a,[25,50],axis=0); np.quantile(a,0.5); "
        "np.quantile(a,0.5,axis=0); np.histogram(a)[0]; np.bincount(a.astype(int).ravel()); "
        "np.digitize(a,[1.,2.]); np.unique(a); np.unique(a,return_index=True); "
        "np.union1d(a,a); np.intersect1d(a,a); np.isin(a,[1]); np.setdiff1d(a,[1.])"
    ),
    "creation": (
        "np.zeros_like(a); np.ones_like(a,subok=False); np.full_like(a,3); np.copy(a); "
        "np.copy(a,subok=True); np.array(a); np.array(a,subok=True); np.asarray(a); "
        "np.asanyarray(a); np.ascontiguousarray(a); np.asfortranarray(a); np.require(a); "
        "np.astype(a,'f4'); a.astype('f4',subok=False)"
    ),
    "shapes": (
        "np.reshape(a,(3,2)); np.ravel(a); np.transpose(a); np.swapaxes(a,0,1); "
        "np.moveaxis(a,0,1); np.rollaxis(a,1); np.expand_dims(a,0); np.squeeze(a[None]); "
        "np.atleast_1d(a); np.atleast_2d(a); np.atleast_3d(a); np.broadcast_to(a,(2,2,3)); "
        "np.broadcast_to(a,(2,2,3),subok=True); np.broadcast_arrays(a,p); "
        "np.broadcast_arrays(a,p,subok=True); np.flip(a); np.fliplr(a); np.rot90(a); "
        "np.roll(a,1); np.roll(a,1,axis=0); np.resize(a,(3,3)); np.pad(a,1); "
        "np.pad(a,1,mode='edge'); np.trim_zeros(a[0])"
    ),
    "selections": (
        "np.tril(a); np.triu(a); np.vander(a[0]); np.extract(a>1,a); "
        "np.take_along_axis(a,a.astype(int)*0,axis=0); np.argwhere(a); np.flatnonzero(a); "
        "np.meshgrid(a[0],a[1]); np.ix_(a[0].astype(int)); "
        "np.fromfunction(lambda i,j:i,(2,2)); np.polyval(a[0],2); "
        "np.polyfit([0.,1,2],a[0],1); np.roots(a[0]); np.poly(a[0])"
    ),
    "ufuncs": (
        "np.add(a,p); np.add(p,a); p+a; a+p; a+1; 1+a; a==a; a<p; -a; abs(a); ~(a>1); a//2; "
        "divmod(a,2); np.modf(a); np.frexp(a); np.divmod(a,2); a**2; 2**a; np.sqrt(a); "
        "np.exp(a); np.maximum(a,p); np.hypot(a,a); np.isnan(a); np.add(a,1,dtype='f4'); "
        "np.add(a,1,where=a>1,out=p.copy()); np.add(p,1,out=a.copy()); np.logical_not(a)"
    ),
    "views": (
        "a[0]; a[0,0]; a[...,0]; a[[0]]; a[a>1]; a[:,None]; a.flat[0]; a.flat[:2]; "
        "a.ravel(); a.flatten(); a.T; a.mT; a.copy(); a.view(); a.view(np.ndarray); "
        "a.byteswap().byteswap(); a.squeeze(); a.swapaxes(0,1); a.transpose(); "
        "a.reshape(3,2); a[0].item(0); a.conj(); a.getfield('f8')"
    ),
    "linalg": (
        "np.linalg.inv(s); np.linalg.det(s); np.linalg.solve(s,s); np.linalg.norm(a); "
        "np.linalg.norm(a,axis=0); np.linalg.eigh(s); np.linalg.qr(s); np.linalg.svd(s); "
        "np.linalg.lstsq(s,s,rcond=None); np.linalg.pinv(s); np.linalg.matrix_power(s,2); "
        "np.linalg.cholesky(s); np.linalg.multi_dot([s,s,s]); np.linalg.matrix_rank(s); "
        "np.linalg.slogdet(s); np.linalg.eigvalsh(s); np.linalg.matrix_transpose(s); "
        "np.linalg.vector_norm(a); np.linalg.cond(s); np.linalg.trace(s)"
    ),
    "others": (
        "np.fft.fft(a); np.fft.ifft2(a); np.fft.rfft(a); np.fft.fftshift(a); "
        "np.lib.stride_tricks.sliding_window_view(a,2,axis=1); "
        "np.lib.stride_tricks.sliding_window_view(a,2,axis=1,subok=True); "
        "np.lib.stride_tricks.as_strided(a); np.isposinf(a); np.isreal(a); np.iscomplex(a); "
        "np.real_if_close(a); np.sort_complex(a); np.emath.sqrt(a); np.array_equal(a,a); "
        "np.fill_diagonal(a.copy(),1); "
        "np.put_along_axis(a.copy(),a.astype(int)*0,1.,axis=0); np.cumulative_sum(a,axis=0); "
        "np.matvec(s,s[0]); np.matrix_transpose(a); np.permute_dims(a,(1,0)); "
        "np.concat([a,a]); np.nanquantile(a,0.5)"
    ),
}
"""Expressions of ``a`` (2 x 3) and ``s`` (2 x 2), of a user's class, and ``p``, which is not."""


def tagged_class(np: Any) -> Any:
    """A class that inherits a tag, of NumPy's array or of ours."""

    class Tagged(np.ndarray):
        def __new__(cls, values, tag=None):
            made = np.asarray(values).view(cls)
            made.tag = tag
            return made

        def __array_finalize__(self, parent):
            if parent is not None:
                self.tag = getattr(parent, "tag", None)

    return Tagged


def kind_of(value: Any) -> Any:
    """The class of a result: of the user with its tag, an array, a number, or what it has inside."""
    if isinstance(value, (list, tuple)):
        return [kind_of(one) for one in value]
    if hasattr(value, "tag"):
        return type(value).__name__, value.tag, value.shape
    if type(value) in (numpy.ndarray, atoll.ndarray):
        return "array", value.shape
    if isinstance(value, numpy.generic):
        return "number"
    return type(value).__name__


def evaluated(np: Any, expression: str, *, spread: bool = False) -> Any:
    """What kind of value an expression has, with NumPy or atoll as ``np``; ``spread``: of rows on ranks."""
    tagged = tagged_class(np)

    def array(values, tag):
        made = np.asarray(values)
        if spread:
            made = made.redistribute(atoll.Layout(values.shape, "bn", size=atoll.world.size))
        if tag is None:
            return made
        made = made.view(tagged)
        made.tag = tag
        return made

    values = numpy.array([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
    names = {
        "np": np,
        "a": array(values.copy(), "t"),
        "p": array(values * 2, None),
        "s": array(numpy.array([[2.0, 1.0], [1.0, 3.0]]), "s"),
    }
    return kind_of(eval(expression, names))


def differing(group: str, *, spread: bool) -> dict[str, Any]:
    """The expressions of a group whose values are of another kind than NumPy's."""
    different = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in GROUPS[group].split("; "):
            wanted = evaluated(numpy, expression)
            found = evaluated(atoll, expression, spread=spread)
            if found != wanted:
                different[expression] = (found, wanted)
    return different


@pytest.mark.parametrize("small", [0, 30_000])
@pytest.mark.parametrize("group", GROUPS)
def test_results_are_of_the_class_that_numpy_gives_them(group, small):
    with config(small=small):
        assert not differing(group, spread=False)


@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("group", GROUPS)
def test_results_of_what_lies_on_ranks(group):
    assert not differing(group, spread=True)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_results_of_large_arrays_know_whom_they_come_from(size):
    tagged = tagged_class(atoll)
    a = atoll.arange(60.0).reshape(12, 5).redistribute(atoll.Layout((12, 5), "bn")).view(tagged)
    a.tag = "mine"
    for make in (lambda: atoll.median(a, axis=0), lambda: atoll.insert(a, 3, 1.0, axis=0),
                 lambda: atoll.sort(a, axis=0)[::-1], lambda: atoll.diff(a + 1, axis=0),
                 lambda: atoll.roll(a, 2, axis=0) * 2, lambda: atoll.gradient(a)[1]):  # fmt: skip
        made = make()
        assert (type(made), made.tag) == (tagged, "mine")
        made += 1
        assert type(made) is tagged


def test_the_class_is_told_whom_a_result_comes_from():
    seen = []

    class Watched(atoll.ndarray):
        def __array_finalize__(self, parent):
            seen.append(parent)

    a = atoll.arange(6.0).reshape(2, 3).view(Watched)
    seen.clear()
    result = atoll.median(a, axis=0)
    assert type(result) is Watched
    assert result.tolist() == [1.5, 2.5, 3.5]
    assert seen[-1] is a


def test_a_view_by_numpy_aliases_and_keeps_the_class():
    tagged = tagged_class(atoll)
    a = tagged(atoll.arange(6.0).reshape(2, 3), "t")
    flipped = atoll.flip(a)
    flipped[0, 0] = 9
    assert type(flipped) is tagged
    assert a.tolist() == [[0, 1, 2], [3, 4, 9]]
    a.sort(axis=1)
    assert a.tolist() == [[0, 1, 2], [3, 4, 9]]
