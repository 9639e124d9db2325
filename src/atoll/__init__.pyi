# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.typing
import atoll.random
from atoll._stubs.ufunc import _GUFunc_Nin2_Nout1
from atoll._stubs.ufunc import _UFunc_Nin1_Nout1
from atoll._stubs.ufunc import _UFunc_Nin1_Nout2
from atoll._stubs.ufunc import _UFunc_Nin2_Nout1
from atoll._stubs.ufunc import _UFunc_Nin2_Nout2
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from numpy._globals import _CopyMode
from numpy._typing import ArrayLike
from numpy._typing import DTypeLike
from numpy._typing import NBitBase
from numpy._typing import NDArray
from numpy._typing import _32Bit
from numpy._typing import _64Bit
from numpy._typing import _AnyShape
from numpy._typing import _ArrayLike
from numpy._typing import _ArrayLikeBool_co
from numpy._typing import _ArrayLikeBytes_co
from numpy._typing import _ArrayLikeComplex128_co
from numpy._typing import _ArrayLikeComplex_co
from numpy._typing import _ArrayLikeDT64_co
from numpy._typing import _ArrayLikeFloat64_co
from numpy._typing import _ArrayLikeFloat_co
from numpy._typing import _ArrayLikeInt
from numpy._typing import _ArrayLikeInt_co
from numpy._typing import _ArrayLikeNumber_co
from numpy._typing import _ArrayLikeObject_co
from numpy._typing import _ArrayLikeStr_co
from numpy._typing import _ArrayLikeString_co
from numpy._typing import _ArrayLikeTD64_co
from numpy._typing import _ArrayLikeUInt_co
from numpy._typing import _DTypeLike
from numpy._typing import _IntLike_co
from numpy._typing import _ScalarLike_co
from numpy._typing import _Shape
from types import EllipsisType
from typing import Any
from typing import Literal
from typing import Literal as L
from typing import Never
from typing import NoReturn
from typing import Protocol
from typing import Self
from typing import SupportsIndex
from typing import TypeAlias
from typing import overload
from typing import type_check_only
from typing_extensions import CapsuleType
from typing_extensions import TypeVar
import builtins
import numpy as np
from atoll import (
    char as char,
    ctypeslib as ctypeslib,
    dtypes as dtypes,
    emath as emath,
    exceptions as exceptions,
    fft as fft,
    lib as lib,
    linalg as linalg,
    ma as ma,
    polynomial as polynomial,
    random as random,
    rec as rec,
    strings as strings,
    testing as testing,
    typing as typing,
    version as version,
)
from atoll._stubs.arraypad_impl import (
    pad as pad,
)
from atoll._stubs.arraysetops_impl import (
    ediff1d as ediff1d,
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from atoll._stubs.asarray import (
    require as require,
)
from atoll._stubs.fromnumeric import (
    argpartition as argpartition,
    argsort as argsort,
    around as around,
    choose as choose,
    clip as clip,
    compress as compress,
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diagonal as diagonal,
    matrix_transpose as matrix_transpose,
    mean as mean,
    nonzero as nonzero,
    partition as partition,
    ravel as ravel,
    repeat as repeat,
    reshape as reshape,
    resize as resize,
    searchsorted as searchsorted,
    sort as sort,
    squeeze as squeeze,
    sum as sum,
    swapaxes as swapaxes,
    take as take,
    transpose as transpose,
)
from atoll._stubs.function_base import (
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)
from atoll._stubs.function_base_impl import (
    angle as angle,
    append as append,
    asarray_chkfinite as asarray_chkfinite,
    average as average,
    bartlett as bartlett,
    blackman as blackman,
    copy as copy,
    corrcoef as corrcoef,
    cov as cov,
    delete as delete,
    diff as diff,
    digitize as digitize,
    extract as extract,
    flip as flip,
    gradient as gradient,
    hamming as hamming,
    hanning as hanning,
    i0 as i0,
    insert as insert,
    interp as interp,
    kaiser as kaiser,
    median as median,
    meshgrid as meshgrid,
    percentile as percentile,
    piecewise as piecewise,
    quantile as quantile,
    rot90 as rot90,
    select as select,
    sinc as sinc,
    sort_complex as sort_complex,
    trapezoid as trapezoid,
    unwrap as unwrap,
)
from atoll._stubs.histograms_impl import (
    histogram as histogram,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from atoll._stubs.index_tricks_impl import (
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    ix_ as ix_,
    mgrid as mgrid,
    ogrid as ogrid,
)
from atoll._stubs.multiarray import (
    arange as arange,
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    bincount as bincount,
    busday_count as busday_count,
    busday_offset as busday_offset,
    concatenate as concatenate,
    datetime_as_string as datetime_as_string,
    empty as empty,
    empty_like as empty_like,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    frompyfunc as frompyfunc,
    fromstring as fromstring,
    is_busday as is_busday,
    lexsort as lexsort,
    packbits as packbits,
    ravel_multi_index as ravel_multi_index,
    unpackbits as unpackbits,
    unravel_index as unravel_index,
    where as where,
    zeros as zeros,
)
from atoll._stubs.npyio_impl import (
    fromregex as fromregex,
    genfromtxt as genfromtxt,
    load as load,
    loadtxt as loadtxt,
)
from atoll._stubs.numeric import (
    argwhere as argwhere,
    astype as astype,
    convolve as convolve,
    correlate as correlate,
    count_nonzero as count_nonzero,
    cross as cross,
    flatnonzero as flatnonzero,
    full as full,
    full_like as full_like,
    identity as identity,
    indices as indices,
    isclose as isclose,
    ones as ones,
    ones_like as ones_like,
    outer as outer,
    roll as roll,
    tensordot as tensordot,
    zeros_like as zeros_like,
)
from atoll._stubs.polynomial_impl import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
)
from atoll._stubs.shape_base import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block as block,
    hstack as hstack,
    stack as stack,
    unstack as unstack,
    vstack as vstack,
)
from atoll._stubs.shape_base_impl import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    array_split as array_split,
    column_stack as column_stack,
    dsplit as dsplit,
    dstack as dstack,
    expand_dims as expand_dims,
    hsplit as hsplit,
    kron as kron,
    row_stack as row_stack,
    split as split,
    take_along_axis as take_along_axis,
    tile as tile,
    vsplit as vsplit,
)
from atoll._stubs.stride_tricks_impl import (
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
)
from atoll._stubs.twodim_base_impl import (
    diag as diag,
    diagflat as diagflat,
    eye as eye,
    fliplr as fliplr,
    flipud as flipud,
    histogram2d as histogram2d,
    mask_indices as mask_indices,
    tri as tri,
    tril as tril,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu as triu,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
    vander as vander,
)
from atoll._stubs.type_check_impl import (
    imag as imag,
    iscomplex as iscomplex,
    isreal as isreal,
    nan_to_num as nan_to_num,
    real as real,
    real_if_close as real_if_close,
)
from atoll._stubs.ufunclike_impl import (
    fix as fix,
    isneginf as isneginf,
    isposinf as isposinf,
)
from numpy import (
    False_ as False_,
    ScalarType as ScalarType,
    True_ as True_,
    __array_namespace_info__ as __array_namespace_info__,
    __version__ as __version__,
    abs as abs,
    acos as acos,
    acosh as acosh,
    all as all,
    allclose as allclose,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    array2string as array2string,
    array_equal as array_equal,
    array_equiv as array_equiv,
    array_repr as array_repr,
    array_str as array_str,
    asin as asin,
    asinh as asinh,
    asmatrix as asmatrix,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    base_repr as base_repr,
    binary_repr as binary_repr,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_right_shift as bitwise_right_shift,
    bmat as bmat,
    bool as bool,
    bool_ as bool_,
    broadcast as broadcast,
    broadcast_shapes as broadcast_shapes,
    busdaycalendar as busdaycalendar,
    byte as byte,
    bytes_ as bytes_,
    c_ as c_,
    can_cast as can_cast,
    cdouble as cdouble,
    character as character,
    clongdouble as clongdouble,
    common_type as common_type,
    complex128 as complex128,
    complex192 as complex192,
    complex256 as complex256,
    complex64 as complex64,
    complexfloating as complexfloating,
    concat as concat,
    conj as conj,
    copyto as copyto,
    core as core,
    csingle as csingle,
    datetime64 as datetime64,
    datetime_data as datetime_data,
    dot as dot,
    double as double,
    dtype as dtype,
    e as e,
    einsum as einsum,
    einsum_path as einsum_path,
    errstate as errstate,
    euler_gamma as euler_gamma,
    f2py as f2py,
    fill_diagonal as fill_diagonal,
    finfo as finfo,
    flatiter as flatiter,
    flexible as flexible,
    float128 as float128,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float96 as float96,
    floating as floating,
    format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific,
    fromfunction as fromfunction,
    generic as generic,
    get_include as get_include,
    get_printoptions as get_printoptions,
    getbufsize as getbufsize,
    geterr as geterr,
    geterrcall as geterrcall,
    half as half,
    iinfo as iinfo,
    index_exp as index_exp,
    inexact as inexact,
    inf as inf,
    info as info,
    inner as inner,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    int_ as int_,
    intc as intc,
    integer as integer,
    intp as intp,
    iscomplexobj as iscomplexobj,
    isdtype as isdtype,
    isfortran as isfortran,
    isrealobj as isrealobj,
    isscalar as isscalar,
    issubdtype as issubdtype,
    iterable as iterable,
    little_endian as little_endian,
    long as long,
    longdouble as longdouble,
    longlong as longlong,
    matrix as matrix,
    max as max,
    may_share_memory as may_share_memory,
    memmap as memmap,
    min as min,
    min_scalar_type as min_scalar_type,
    mintypecode as mintypecode,
    mod as mod,
    moveaxis as moveaxis,
    nan as nan,
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmedian as nanmedian,
    nanmin as nanmin,
    nanpercentile as nanpercentile,
    nanprod as nanprod,
    nanquantile as nanquantile,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
    ndenumerate as ndenumerate,
    ndim as ndim,
    ndindex as ndindex,
    nditer as nditer,
    nested_iters as nested_iters,
    newaxis as newaxis,
    number as number,
    object_ as object_,
    permute_dims as permute_dims,
    pi as pi,
    place as place,
    poly1d as poly1d,
    polymul as polymul,
    pow as pow,
    printoptions as printoptions,
    prod as prod,
    promote_types as promote_types,
    ptp as ptp,
    put as put,
    put_along_axis as put_along_axis,
    putmask as putmask,
    r_ as r_,
    recarray as recarray,
    record as record,
    result_type as result_type,
    rollaxis as rollaxis,
    round as round,
    s_ as s_,
    save as save,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
    sctypeDict as sctypeDict,
    set_printoptions as set_printoptions,
    setbufsize as setbufsize,
    seterr as seterr,
    seterrcall as seterrcall,
    shape as shape,
    shares_memory as shares_memory,
    short as short,
    show_config as show_config,
    show_runtime as show_runtime,
    signedinteger as signedinteger,
    single as single,
    size as size,
    std as std,
    str_ as str_,
    test as test,
    timedelta64 as timedelta64,
    trace as trace,
    trim_zeros as trim_zeros,
    true_divide as true_divide,
    typecodes as typecodes,
    typename as typename,
    ubyte as ubyte,
    ufunc as ufunc,
    uint as uint,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    uintc as uintc,
    uintp as uintp,
    ulong as ulong,
    ulonglong as ulonglong,
    unsignedinteger as unsignedinteger,
    ushort as ushort,
    var as var,
    vdot as vdot,
    vectorize as vectorize,
    void as void,
)
from atoll._stubs.own import Block as Block
from atoll._stubs.own import Cyclic as Cyclic
from atoll._stubs.own import DaskPartitions as DaskPartitions
from atoll._stubs.own import Layout as Layout
from atoll._stubs.own import RayPartitions as RayPartitions
from atoll._stubs.own import Undistributed as Undistributed
from atoll._stubs.own import Unstructured as Unstructured
from atoll._stubs.own import World as World
from atoll._stubs.own import check_distarray as check_distarray
from atoll._stubs.own import check_partitioned as check_partitioned
from atoll._stubs.own import checkpoint as checkpoint
from atoll._stubs.own import config as config
from atoll._stubs.own import copy_between as copy_between
from atoll._stubs.own import coverage as coverage
from atoll._stubs.own import dataflow as dataflow
from atoll._stubs.own import distribution as distribution
from atoll._stubs.own import errors as errors
from atoll._stubs.own import explain as explain
from atoll._stubs.own import from_dask as from_dask
from atoll._stubs.own import from_distarray as from_distarray
from atoll._stubs.own import from_local as from_local
from atoll._stubs.own import from_partitioned as from_partitioned
from atoll._stubs.own import from_ray as from_ray
from atoll._stubs.own import graph as graph
from atoll._stubs.own import load_hdf5 as load_hdf5
from atoll._stubs.own import load_zarr as load_zarr
from atoll._stubs.own import onesided as onesided
from atoll._stubs.own import profile as profile
from atoll._stubs.own import reset_stats as reset_stats
from atoll._stubs.own import restore as restore
from atoll._stubs.own import save_hdf5 as save_hdf5
from atoll._stubs.own import save_zarr as save_zarr
from atoll._stubs.own import stats as stats
from atoll._stubs.own import sync as sync
from atoll._stubs.own import tasks as tasks
from atoll._stubs.own import to_dask as to_dask
from atoll._stubs.own import to_distarray as to_distarray
from atoll._stubs.own import to_partitioned as to_partitioned
from atoll._stubs.own import to_ray as to_ray
from atoll._stubs.own import use as use
from atoll._stubs.own import world as world
_AnyShapeT = TypeVar('_AnyShapeT', tuple[()], tuple[int], tuple[int, int], tuple[int, int, int], tuple[int, int, int, int], tuple[int, int, int, int, int], tuple[int, int, int, int, int, int], tuple[int, int, int, int, int, int, int], tuple[int, int, int, int, int, int, int, int], tuple[int, ...])
_T = TypeVar('_T')
_T_co = TypeVar('_T_co', covariant=True)
_T_contra = TypeVar('_T_contra', contravariant=True)
_RealT_co = TypeVar('_RealT_co', covariant=True)
_ImagT_co = TypeVar('_ImagT_co', covariant=True)
_DTypeT = TypeVar('_DTypeT', bound=dtype)
_DTypeT_co = TypeVar('_DTypeT_co', bound=dtype, default=dtype, covariant=True)
_ArrayT = TypeVar('_ArrayT', bound=np.ndarray)
_RealArrayT = TypeVar('_RealArrayT', bound=NDArray[floating | integer | timedelta64 | np.bool | object_])
_ShapeT = TypeVar('_ShapeT', bound=_Shape)
_ShapeT_co = TypeVar('_ShapeT_co', bound=_Shape, default=_AnyShape, covariant=True)
_ScalarT = TypeVar('_ScalarT', bound=generic)
_NumberT = TypeVar('_NumberT', bound=number)
_RealNumberT = TypeVar('_RealNumberT', bound=floating | integer)
_NonObjectScalarT = TypeVar('_NonObjectScalarT', bound=np.bool | number | flexible | datetime64 | timedelta64)
_NBit = TypeVar('_NBit', bound=NBitBase, default=Any)
_2Tuple: TypeAlias = tuple[_T, _T]
_ArrayUInt_co: TypeAlias = NDArray[unsignedinteger | np.bool]
_Our_ArrayUInt_co: TypeAlias = atoll.typing.NDArray[unsignedinteger | np.bool]
_ArrayInt_co: TypeAlias = NDArray[integer | np.bool]
_Our_ArrayInt_co: TypeAlias = atoll.typing.NDArray[integer | np.bool]
_ArrayFloat64_co: TypeAlias = NDArray[floating[_64Bit] | float32 | float16 | integer | np.bool]
_Our_ArrayFloat64_co: TypeAlias = atoll.typing.NDArray[floating[_64Bit] | float32 | float16 | integer | np.bool]
_ArrayFloat_co: TypeAlias = NDArray[floating | integer | np.bool]
_Our_ArrayFloat_co: TypeAlias = atoll.typing.NDArray[floating | integer | np.bool]
_ArrayComplex128_co: TypeAlias = NDArray[number[_64Bit] | number[_32Bit] | float16 | integer | np.bool]
_Our_ArrayComplex128_co: TypeAlias = atoll.typing.NDArray[number[_64Bit] | number[_32Bit] | float16 | integer | np.bool]
_ArrayComplex_co: TypeAlias = NDArray[inexact | integer | np.bool]
_Our_ArrayComplex_co: TypeAlias = atoll.typing.NDArray[inexact | integer | np.bool]
_ArrayNumber_co: TypeAlias = NDArray[number | np.bool]
_Our_ArrayNumber_co: TypeAlias = atoll.typing.NDArray[number | np.bool]
_ArrayTD64_co: TypeAlias = NDArray[timedelta64 | integer | np.bool]
_Our_ArrayTD64_co: TypeAlias = atoll.typing.NDArray[timedelta64 | integer | np.bool]
_ToIndex: TypeAlias = SupportsIndex | slice | EllipsisType | _ArrayLikeInt_co | None
_ToIndices: TypeAlias = _ToIndex | tuple[_ToIndex, ...]
_CastingKind: TypeAlias = L['no', 'equiv', 'safe', 'same_kind', 'same_value', 'unsafe']
_OrderKACF: TypeAlias = L['K', 'A', 'C', 'F'] | None
_OrderACF: TypeAlias = L['A', 'C', 'F'] | None
_ModeKind: TypeAlias = L['raise', 'wrap', 'clip']
_PartitionKind: TypeAlias = L['introselect']
_SortKind: TypeAlias = L['Q', 'quick', 'quicksort', 'M', 'merge', 'mergesort', 'H', 'heap', 'heapsort', 'S', 'stable', 'stablesort']
_SortSide: TypeAlias = L['left', 'right']
@type_check_only
class _SupportsDLPack(Protocol[_T_contra]):
    def __dlpack__(self, /, *, stream: _T_contra | None=None) -> CapsuleType: ...
@type_check_only
class _HasDType(Protocol[_T_co]):
    @property
    def dtype(self, /) -> _T_co: ...
@type_check_only
class _HasRealAndImag(Protocol[_RealT_co, _ImagT_co]):
    @property
    def real(self, /) -> _RealT_co: ...
    @property
    def imag(self, /) -> _ImagT_co: ...
@type_check_only
class _HasTypeWithRealAndImag(Protocol[_RealT_co, _ImagT_co]):
    @property
    def type(self, /) -> type[_HasRealAndImag[_RealT_co, _ImagT_co]]: ...
@type_check_only
class _HasDTypeWithRealAndImag(Protocol[_RealT_co, _ImagT_co]):
    @property
    def dtype(self, /) -> _HasTypeWithRealAndImag[_RealT_co, _ImagT_co]: ...
class ndarray(np.ndarray[_ShapeT_co, _DTypeT_co]):
    @property
    def layout(self) -> Layout: ...
    @property
    def world(self) -> World: ...
    @property
    def local(self) -> np.ndarray[_ShapeT_co, _DTypeT_co]: ...
    @property
    def local_padded(self) -> np.ndarray[_ShapeT_co, _DTypeT_co]: ...
    def access(self) -> AbstractContextManager[np.ndarray[_ShapeT_co, _DTypeT_co]]: ...
    def owns(self, region: Any) -> builtins.bool: ...
    def exchange_halos(self, axis: int | None=None, side: Literal['left', 'right'] | None=None) -> Self: ...
    def redistribute(self, layout: Layout) -> Self: ...
    def tagged(self, tags: Any) -> Self: ...
    @property
    def __partitioned__(self) -> dict[str, Any]: ...
    def __distarray__(self) -> dict[str, Any]: ...
    @property
    def base(self) -> atoll.typing.NDArray[Any] | None: ...
    @property
    def real(self: _HasDTypeWithRealAndImag[_ScalarT, object], /) -> atoll.ndarray[_ShapeT_co, dtype[_ScalarT]]: ...
    @real.setter
    def real(self, value: ArrayLike, /) -> None: ...
    @property
    def imag(self: _HasDTypeWithRealAndImag[object, _ScalarT], /) -> atoll.ndarray[_ShapeT_co, dtype[_ScalarT]]: ...
    @imag.setter
    def imag(self, value: ArrayLike, /) -> None: ...
    @overload
    def __array__(self, dtype: None=None, /, *, copy: builtins.bool | None=None) -> atoll.ndarray[_ShapeT_co, _DTypeT_co]: ...
    @overload
    def __array__(self, dtype: _DTypeT, /, *, copy: builtins.bool | None=None) -> atoll.ndarray[_ShapeT_co, _DTypeT]: ...
    def __array_wrap__(self, array: np.ndarray[_ShapeT, _DTypeT], context: tuple[ufunc, tuple[Any, ...], int] | None=..., return_scalar: builtins.bool=..., /) -> atoll.ndarray[_ShapeT, _DTypeT]: ...
    @overload
    def __getitem__(self, key: _ArrayInt_co | tuple[_ArrayInt_co, ...], /) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def __getitem__(self, key: SupportsIndex | tuple[SupportsIndex, ...], /) -> Any: ...
    @overload
    def __getitem__(self, key: _ToIndices, /) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def __getitem__(self: NDArray[void], key: str, /) -> atoll.ndarray[_ShapeT_co | _AnyShape]: ...
    @overload
    def __getitem__(self: NDArray[void], key: list[str], /) -> atoll.ndarray[_ShapeT_co | _AnyShape, dtype[void]]: ...
    def squeeze(self, /, axis: SupportsIndex | tuple[SupportsIndex, ...] | None=...) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def all(self, axis: None=None, out: None=None, keepdims: L[False, 0]=False, *, where: _ArrayLikeBool_co=True) -> np.bool: ...
    @overload
    def all(self, axis: int | tuple[int, ...] | None=None, out: None=None, keepdims: SupportsIndex=False, *, where: _ArrayLikeBool_co=True) -> np.bool | atoll.typing.NDArray[np.bool]: ...
    @overload
    def all(self, axis: int | tuple[int, ...] | None, out: _ArrayT, keepdims: SupportsIndex=False, *, where: _ArrayLikeBool_co=True) -> _ArrayT: ...
    @overload
    def all(self, axis: int | tuple[int, ...] | None=None, *, out: _ArrayT, keepdims: SupportsIndex=False, where: _ArrayLikeBool_co=True) -> _ArrayT: ...
    @overload
    def any(self, axis: None=None, out: None=None, keepdims: L[False, 0]=False, *, where: _ArrayLikeBool_co=True) -> np.bool: ...
    @overload
    def any(self, axis: int | tuple[int, ...] | None=None, out: None=None, keepdims: SupportsIndex=False, *, where: _ArrayLikeBool_co=True) -> np.bool | atoll.typing.NDArray[np.bool]: ...
    @overload
    def any(self, axis: int | tuple[int, ...] | None, out: _ArrayT, keepdims: SupportsIndex=False, *, where: _ArrayLikeBool_co=True) -> _ArrayT: ...
    @overload
    def any(self, axis: int | tuple[int, ...] | None=None, *, out: _ArrayT, keepdims: SupportsIndex=False, where: _ArrayLikeBool_co=True) -> _ArrayT: ...
    @overload
    def argpartition(self, kth: _ArrayLikeInt, /, axis: SupportsIndex | None=-1, kind: _PartitionKind='introselect', order: None=None) -> atoll.typing.NDArray[intp]: ...
    @overload
    def argpartition(self: NDArray[void], kth: _ArrayLikeInt, /, axis: SupportsIndex | None=-1, kind: _PartitionKind='introselect', order: str | Sequence[str] | None=None) -> atoll.typing.NDArray[intp]: ...
    def diagonal(self, offset: SupportsIndex=0, axis1: SupportsIndex=0, axis2: SupportsIndex=1) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def dot(self, b: _ScalarLike_co, /, out: None=None) -> atoll.typing.NDArray[Any]: ...
    @overload
    def dot(self, b: ArrayLike, /, out: None=None) -> Any: ...
    @overload
    def dot(self, b: ArrayLike, /, out: _ArrayT) -> _ArrayT: ...
    def nonzero(self) -> tuple[atoll.ndarray[tuple[int], np.dtype[intp]], ...]: ...
    @overload
    def searchsorted(self, v: _ScalarLike_co, /, side: _SortSide='left', sorter: _ArrayLikeInt_co | None=None) -> intp: ...
    @overload
    def searchsorted(self, v: ArrayLike, /, side: _SortSide='left', sorter: _ArrayLikeInt_co | None=None) -> atoll.typing.NDArray[intp]: ...
    @overload
    def take(self: NDArray[_ScalarT], indices: _IntLike_co, /, axis: SupportsIndex | None=..., out: None=None, mode: _ModeKind=...) -> _ScalarT: ...
    @overload
    def take(self, indices: _ArrayLikeInt_co, /, axis: SupportsIndex | None=..., out: None=None, mode: _ModeKind=...) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def take(self, indices: _ArrayLikeInt_co, /, axis: SupportsIndex | None=..., *, out: _ArrayT, mode: _ModeKind=...) -> _ArrayT: ...
    @overload
    def take(self, indices: _ArrayLikeInt_co, /, axis: SupportsIndex | None, out: _ArrayT, mode: _ModeKind=...) -> _ArrayT: ...
    @overload
    def repeat(self, repeats: _ArrayLikeInt_co, /, axis: None=None) -> atoll.ndarray[tuple[int], _DTypeT_co]: ...
    @overload
    def repeat(self, repeats: _ArrayLikeInt_co, /, axis: SupportsIndex) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    def flatten(self, /, order: _OrderKACF='C') -> atoll.ndarray[tuple[int], _DTypeT_co]: ...
    def ravel(self, /, order: _OrderKACF='C') -> atoll.ndarray[tuple[int], _DTypeT_co]: ...
    @overload
    def reshape(self, shape: None, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> Self: ...
    @overload
    def reshape(self, shape: Sequence[Never], /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[tuple[()], _DTypeT_co]: ...
    @overload
    def reshape(self, shape: _AnyShapeT, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[_AnyShapeT, _DTypeT_co]: ...
    @overload
    def reshape(self, size1: SupportsIndex, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[tuple[int], _DTypeT_co]: ...
    @overload
    def reshape(self, size1: SupportsIndex, size2: SupportsIndex, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[tuple[int, int], _DTypeT_co]: ...
    @overload
    def reshape(self, size1: SupportsIndex, size2: SupportsIndex, size3: SupportsIndex, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[tuple[int, int, int], _DTypeT_co]: ...
    @overload
    def reshape(self, size1: SupportsIndex, size2: SupportsIndex, size3: SupportsIndex, size4: SupportsIndex, /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[tuple[int, int, int, int], _DTypeT_co]: ...
    @overload
    def reshape(self, size0: SupportsIndex, /, *shape: SupportsIndex, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def reshape(self, shape: Sequence[SupportsIndex], /, *, order: _OrderACF='C', copy: builtins.bool | None=None) -> atoll.ndarray[_AnyShape, _DTypeT_co]: ...
    @overload
    def astype(self, dtype: _DTypeLike[_ScalarT], order: _OrderKACF=..., casting: _CastingKind=..., subok: builtins.bool=..., copy: builtins.bool | _CopyMode=...) -> atoll.ndarray[_ShapeT_co, dtype[_ScalarT]]: ...
    @overload
    def astype(self, dtype: DTypeLike | None, order: _OrderKACF=..., casting: _CastingKind=..., subok: builtins.bool=..., copy: builtins.bool | _CopyMode=...) -> atoll.ndarray[_ShapeT_co, dtype]: ...
    @overload
    def view(self, /) -> Self: ...
    @overload
    def view(self, /, dtype: _DTypeT | _HasDType[_DTypeT]) -> atoll.ndarray[_ShapeT_co, _DTypeT]: ...
    @overload
    def view(self, /, dtype: _DTypeLike[_ScalarT]) -> atoll.ndarray[_ShapeT_co, dtype[_ScalarT]]: ...
    @overload
    def view(self, /, *, type: type[_ArrayT]) -> _ArrayT: ...
    @overload
    def view(self, /, dtype: type[_ArrayT]) -> _ArrayT: ...
    @overload
    def view(self, /, dtype: DTypeLike) -> atoll.ndarray[_ShapeT_co, dtype]: ...
    @overload
    def view(self, /, dtype: DTypeLike, type: type[_ArrayT]) -> _ArrayT: ...
    @overload
    def getfield(self, /, dtype: _DTypeLike[_ScalarT], offset: SupportsIndex=0) -> atoll.typing.NDArray[_ScalarT]: ...
    @overload
    def getfield(self, /, dtype: DTypeLike, offset: SupportsIndex=0) -> atoll.typing.NDArray[Any]: ...
    @overload
    def __iter__(self: np.ndarray[tuple[Never, Never, Never, Never, Never, Never, Never, Never, Never], Any], /) -> Iterator[Any]: ...
    @overload
    def __iter__(self: np.ndarray[tuple[int], dtype[_NonObjectScalarT]], /) -> Iterator[_NonObjectScalarT]: ...
    @overload
    def __iter__(self: np.ndarray[tuple[int], dtypes.StringDType], /) -> Iterator[str]: ...
    @overload
    def __iter__(self: np.ndarray[tuple[int, int, *tuple[int, ...]], _DTypeT], /) -> Iterator[atoll.ndarray[_AnyShape, _DTypeT]]: ...
    @overload
    def __iter__(self, /) -> Iterator[Any]: ...
    @overload
    def __lt__(self: _ArrayNumber_co, other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self: np.ndarray[Any, dtype[str_] | dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self: NDArray[object_], other: object, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __lt__(self, other: _ArrayLikeObject_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: _ArrayNumber_co, other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: np.ndarray[Any, dtype[str_] | dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self: NDArray[object_], other: object, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __le__(self, other: _ArrayLikeObject_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: _ArrayNumber_co, other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: np.ndarray[Any, dtype[str_] | dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self: NDArray[object_], other: object, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __gt__(self, other: _ArrayLikeObject_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: _ArrayNumber_co, other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: np.ndarray[Any, dtype[str_] | dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self: NDArray[object_], other: object, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ge__(self, other: _ArrayLikeObject_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __abs__(self: np.ndarray[_ShapeT, dtype[complexfloating[_NBit]]], /) -> atoll.ndarray[_ShapeT, dtype[floating[_NBit]]]: ...
    @overload
    def __abs__(self: _RealArrayT, /) -> _RealArrayT: ...
    @overload
    def __matmul__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __matmul__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __matmul__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __matmul__(self: NDArray[floating[_64Bit]], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __matmul__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __matmul__(self: NDArray[complexfloating[_64Bit]], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __matmul__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __matmul__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __matmul__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __matmul__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __matmul__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __matmul__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __matmul__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __matmul__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rmatmul__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rmatmul__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __rmatmul__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rmatmul__(self: NDArray[floating[_64Bit]], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmatmul__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmatmul__(self: NDArray[complexfloating[_64Bit]], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rmatmul__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rmatmul__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rmatmul__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rmatmul__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rmatmul__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rmatmul__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __rmatmul__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rmatmul__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __mod__(self: NDArray[_RealNumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]: ...
    @overload
    def __mod__(self: NDArray[_RealNumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __mod__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __mod__(self: NDArray[np.bool], other: _ArrayLike[_RealNumberT], /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __mod__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __mod__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __mod__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __mod__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __mod__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __mod__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __mod__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __mod__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rmod__(self: NDArray[_RealNumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]: ...
    @overload
    def __rmod__(self: NDArray[_RealNumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __rmod__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rmod__(self: NDArray[np.bool], other: _ArrayLike[_RealNumberT], /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __rmod__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmod__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmod__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rmod__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rmod__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rmod__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rmod__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rmod__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __divmod__(self: NDArray[_RealNumberT], rhs: int | np.bool, /) -> _2Tuple[atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]]: ...
    @overload
    def __divmod__(self: NDArray[_RealNumberT], rhs: _ArrayLikeBool_co, /) -> _2Tuple[atoll.typing.NDArray[_RealNumberT]]: ...
    @overload
    def __divmod__(self: NDArray[np.bool], rhs: _ArrayLikeBool_co, /) -> _2Tuple[atoll.typing.NDArray[int8]]: ...
    @overload
    def __divmod__(self: NDArray[np.bool], rhs: _ArrayLike[_RealNumberT], /) -> _2Tuple[atoll.typing.NDArray[_RealNumberT]]: ...
    @overload
    def __divmod__(self: NDArray[float64], rhs: _ArrayLikeFloat64_co, /) -> _2Tuple[atoll.typing.NDArray[float64]]: ...
    @overload
    def __divmod__(self: _ArrayFloat64_co, rhs: _ArrayLike[floating[_64Bit]], /) -> _2Tuple[atoll.typing.NDArray[float64]]: ...
    @overload
    def __divmod__(self: _ArrayUInt_co, rhs: _ArrayLikeUInt_co, /) -> _2Tuple[atoll.typing.NDArray[unsignedinteger]]: ...
    @overload
    def __divmod__(self: _ArrayInt_co, rhs: _ArrayLikeInt_co, /) -> _2Tuple[atoll.typing.NDArray[signedinteger]]: ...
    @overload
    def __divmod__(self: _ArrayFloat_co, rhs: _ArrayLikeFloat_co, /) -> _2Tuple[atoll.typing.NDArray[floating]]: ...
    @overload
    def __divmod__(self: NDArray[timedelta64], rhs: _ArrayLike[timedelta64], /) -> tuple[atoll.typing.NDArray[int64], atoll.typing.NDArray[timedelta64]]: ...
    @overload
    def __rdivmod__(self: NDArray[_RealNumberT], lhs: int | np.bool, /) -> _2Tuple[atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]]: ...
    @overload
    def __rdivmod__(self: NDArray[_RealNumberT], lhs: _ArrayLikeBool_co, /) -> _2Tuple[atoll.typing.NDArray[_RealNumberT]]: ...
    @overload
    def __rdivmod__(self: NDArray[np.bool], lhs: _ArrayLikeBool_co, /) -> _2Tuple[atoll.typing.NDArray[int8]]: ...
    @overload
    def __rdivmod__(self: NDArray[np.bool], lhs: _ArrayLike[_RealNumberT], /) -> _2Tuple[atoll.typing.NDArray[_RealNumberT]]: ...
    @overload
    def __rdivmod__(self: NDArray[float64], lhs: _ArrayLikeFloat64_co, /) -> _2Tuple[atoll.typing.NDArray[float64]]: ...
    @overload
    def __rdivmod__(self: _ArrayFloat64_co, lhs: _ArrayLike[floating[_64Bit]], /) -> _2Tuple[atoll.typing.NDArray[float64]]: ...
    @overload
    def __rdivmod__(self: _ArrayUInt_co, lhs: _ArrayLikeUInt_co, /) -> _2Tuple[atoll.typing.NDArray[unsignedinteger]]: ...
    @overload
    def __rdivmod__(self: _ArrayInt_co, lhs: _ArrayLikeInt_co, /) -> _2Tuple[atoll.typing.NDArray[signedinteger]]: ...
    @overload
    def __rdivmod__(self: _ArrayFloat_co, lhs: _ArrayLikeFloat_co, /) -> _2Tuple[atoll.typing.NDArray[floating]]: ...
    @overload
    def __rdivmod__(self: NDArray[timedelta64], lhs: _ArrayLike[timedelta64], /) -> tuple[atoll.typing.NDArray[int64], atoll.typing.NDArray[timedelta64]]: ...
    @overload
    def __add__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __add__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __add__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __add__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __add__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __add__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __add__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __add__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __add__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __add__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __add__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __add__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __add__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __add__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __add__(self: _ArrayTD64_co, other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __add__(self: NDArray[datetime64], other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __add__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[bytes_]: ...
    @overload
    def __add__(self: NDArray[str_], other: _ArrayLikeStr_co, /) -> atoll.typing.NDArray[str_]: ...
    @overload
    def __add__(self: np.ndarray[Any, dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.ndarray[tuple[Any, ...], dtypes.StringDType]: ...
    @overload
    def __add__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __add__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __radd__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __radd__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __radd__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __radd__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __radd__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __radd__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __radd__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __radd__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __radd__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __radd__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __radd__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __radd__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __radd__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __radd__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __radd__(self: _ArrayTD64_co, other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __radd__(self: NDArray[datetime64], other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __radd__(self: NDArray[bytes_], other: _ArrayLikeBytes_co, /) -> atoll.typing.NDArray[bytes_]: ...
    @overload
    def __radd__(self: NDArray[str_], other: _ArrayLikeStr_co, /) -> atoll.typing.NDArray[str_]: ...
    @overload
    def __radd__(self: np.ndarray[Any, dtypes.StringDType], other: _ArrayLikeStr_co | _ArrayLikeString_co, /) -> atoll.ndarray[tuple[Any, ...], dtypes.StringDType]: ...
    @overload
    def __radd__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __radd__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __sub__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __sub__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __sub__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> NoReturn: ...
    @overload
    def __sub__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __sub__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __sub__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __sub__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __sub__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __sub__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __sub__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __sub__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __sub__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __sub__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __sub__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __sub__(self: NDArray[datetime64], other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __sub__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __sub__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __sub__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rsub__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __rsub__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rsub__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> NoReturn: ...
    @overload
    def __rsub__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rsub__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rsub__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rsub__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rsub__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rsub__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rsub__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rsub__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rsub__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rsub__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __rsub__(self: _ArrayTD64_co, other: _ArrayLikeTD64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rsub__(self: _ArrayTD64_co, other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[datetime64]: ...
    @overload
    def __rsub__(self: NDArray[datetime64], other: _ArrayLikeDT64_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rsub__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rsub__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __mul__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __mul__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __mul__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __mul__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __mul__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __mul__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __mul__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __mul__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __mul__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __mul__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __mul__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __mul__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __mul__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __mul__(self: NDArray[timedelta64], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __mul__(self: _ArrayFloat_co, other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __mul__(self: np.ndarray[Any, dtype[character] | dtypes.StringDType], other: _ArrayLikeInt, /) -> atoll.ndarray[tuple[Any, ...], _DTypeT_co]: ...
    @overload
    def __mul__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __mul__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rmul__(self: NDArray[_NumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __rmul__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rmul__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __rmul__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rmul__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmul__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rmul__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rmul__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rmul__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rmul__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rmul__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rmul__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rmul__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __rmul__(self: NDArray[timedelta64], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rmul__(self: _ArrayFloat_co, other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rmul__(self: np.ndarray[Any, dtype[character] | dtypes.StringDType], other: _ArrayLikeInt, /) -> atoll.ndarray[tuple[Any, ...], _DTypeT_co]: ...
    @overload
    def __rmul__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rmul__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __truediv__(self: _ArrayInt_co | NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __truediv__(self: _ArrayFloat64_co, other: _ArrayLikeInt_co | _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __truediv__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __truediv__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __truediv__(self: NDArray[floating], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __truediv__(self: _ArrayFloat_co, other: _ArrayLike[floating], /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __truediv__(self: NDArray[complexfloating], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __truediv__(self: _ArrayNumber_co, other: _ArrayLike[complexfloating], /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __truediv__(self: NDArray[inexact], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[inexact]: ...
    @overload
    def __truediv__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __truediv__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __truediv__(self: NDArray[timedelta64], other: _ArrayLikeBool_co, /) -> NoReturn: ...
    @overload
    def __truediv__(self: NDArray[timedelta64], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __truediv__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __truediv__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rtruediv__(self: _ArrayInt_co | NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rtruediv__(self: _ArrayFloat64_co, other: _ArrayLikeInt_co | _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rtruediv__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rtruediv__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rtruediv__(self: NDArray[floating], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rtruediv__(self: _ArrayFloat_co, other: _ArrayLike[floating], /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rtruediv__(self: NDArray[complexfloating], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rtruediv__(self: _ArrayNumber_co, other: _ArrayLike[complexfloating], /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rtruediv__(self: NDArray[inexact], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[inexact]: ...
    @overload
    def __rtruediv__(self: NDArray[number], other: _ArrayLikeNumber_co, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __rtruediv__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rtruediv__(self: NDArray[integer | floating], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rtruediv__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rtruediv__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __floordiv__(self: NDArray[_RealNumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]: ...
    @overload
    def __floordiv__(self: NDArray[_RealNumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __floordiv__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __floordiv__(self: NDArray[np.bool], other: _ArrayLike[_RealNumberT], /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __floordiv__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __floordiv__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __floordiv__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __floordiv__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __floordiv__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __floordiv__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[int64]: ...
    @overload
    def __floordiv__(self: NDArray[timedelta64], other: _ArrayLikeBool_co, /) -> NoReturn: ...
    @overload
    def __floordiv__(self: NDArray[timedelta64], other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __floordiv__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __floordiv__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rfloordiv__(self: NDArray[_RealNumberT], other: int | np.bool, /) -> atoll.ndarray[_ShapeT_co, dtype[_RealNumberT]]: ...
    @overload
    def __rfloordiv__(self: NDArray[_RealNumberT], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __rfloordiv__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rfloordiv__(self: NDArray[np.bool], other: _ArrayLike[_RealNumberT], /) -> atoll.typing.NDArray[_RealNumberT]: ...
    @overload
    def __rfloordiv__(self: NDArray[float64], other: _ArrayLikeFloat64_co, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rfloordiv__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rfloordiv__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rfloordiv__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rfloordiv__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rfloordiv__(self: NDArray[timedelta64], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[int64]: ...
    @overload
    def __rfloordiv__(self: NDArray[floating | integer], other: _ArrayLike[timedelta64], /) -> atoll.typing.NDArray[timedelta64]: ...
    @overload
    def __rfloordiv__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rfloordiv__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __pow__(self: NDArray[_NumberT], other: int | np.bool, mod: None=None, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __pow__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, mod: None=None, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __pow__(self: NDArray[np.bool], other: _ArrayLikeBool_co, mod: None=None, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __pow__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], mod: None=None, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __pow__(self: NDArray[float64], other: _ArrayLikeFloat64_co, mod: None=None, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __pow__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], mod: None=None, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __pow__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, mod: None=None, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __pow__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], mod: None=None, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __pow__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, mod: None=None, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __pow__(self: _ArrayInt_co, other: _ArrayLikeInt_co, mod: None=None, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __pow__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, mod: None=None, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __pow__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, mod: None=None, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __pow__(self: NDArray[number], other: _ArrayLikeNumber_co, mod: None=None, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __pow__(self: NDArray[object_], other: Any, mod: None=None, /) -> Any: ...
    @overload
    def __pow__(self: NDArray[Any], other: _ArrayLikeObject_co, mod: None=None, /) -> Any: ...
    @overload
    def __rpow__(self: NDArray[_NumberT], other: int | np.bool, mod: None=None, /) -> atoll.ndarray[_ShapeT_co, dtype[_NumberT]]: ...
    @overload
    def __rpow__(self: NDArray[_NumberT], other: _ArrayLikeBool_co, mod: None=None, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rpow__(self: NDArray[np.bool], other: _ArrayLikeBool_co, mod: None=None, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rpow__(self: NDArray[np.bool], other: _ArrayLike[_NumberT], mod: None=None, /) -> atoll.typing.NDArray[_NumberT]: ...
    @overload
    def __rpow__(self: NDArray[float64], other: _ArrayLikeFloat64_co, mod: None=None, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rpow__(self: _ArrayFloat64_co, other: _ArrayLike[floating[_64Bit]], mod: None=None, /) -> atoll.typing.NDArray[float64]: ...
    @overload
    def __rpow__(self: NDArray[complex128], other: _ArrayLikeComplex128_co, mod: None=None, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rpow__(self: _ArrayComplex128_co, other: _ArrayLike[complexfloating[_64Bit]], mod: None=None, /) -> atoll.typing.NDArray[complex128]: ...
    @overload
    def __rpow__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, mod: None=None, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rpow__(self: _ArrayInt_co, other: _ArrayLikeInt_co, mod: None=None, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rpow__(self: _ArrayFloat_co, other: _ArrayLikeFloat_co, mod: None=None, /) -> atoll.typing.NDArray[floating]: ...
    @overload
    def __rpow__(self: _ArrayComplex_co, other: _ArrayLikeComplex_co, mod: None=None, /) -> atoll.typing.NDArray[complexfloating]: ...
    @overload
    def __rpow__(self: NDArray[number], other: _ArrayLikeNumber_co, mod: None=None, /) -> atoll.typing.NDArray[number]: ...
    @overload
    def __rpow__(self: NDArray[object_], other: Any, mod: None=None, /) -> Any: ...
    @overload
    def __rpow__(self: NDArray[Any], other: _ArrayLikeObject_co, mod: None=None, /) -> Any: ...
    @overload
    def __lshift__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __lshift__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __lshift__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __lshift__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __lshift__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rlshift__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rlshift__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rlshift__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rlshift__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rlshift__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rshift__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rshift__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rshift__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rshift__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rshift__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rrshift__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[int8]: ...
    @overload
    def __rrshift__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rrshift__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rrshift__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rrshift__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __and__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __and__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __and__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __and__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __and__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rand__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __rand__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rand__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rand__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rand__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __xor__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __xor__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __xor__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __xor__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __xor__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __rxor__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __rxor__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __rxor__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __rxor__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __rxor__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __or__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __or__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __or__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __or__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __or__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    @overload
    def __ror__(self: NDArray[np.bool], other: _ArrayLikeBool_co, /) -> atoll.typing.NDArray[np.bool]: ...
    @overload
    def __ror__(self: _ArrayUInt_co, other: _ArrayLikeUInt_co, /) -> atoll.typing.NDArray[unsignedinteger]: ...
    @overload
    def __ror__(self: _ArrayInt_co, other: _ArrayLikeInt_co, /) -> atoll.typing.NDArray[signedinteger]: ...
    @overload
    def __ror__(self: NDArray[object_], other: Any, /) -> Any: ...
    @overload
    def __ror__(self: NDArray[Any], other: _ArrayLikeObject_co, /) -> Any: ...
    def argsort(self, axis: SupportsIndex | None=..., kind: _SortKind | None=..., order: str | Sequence[str] | None=..., *, stable: builtins.bool | None=...) -> atoll.typing.NDArray[intp]: ...
    @overload
    def choose(self, /, choices: ArrayLike, out: None=None, mode: _ModeKind='raise') -> atoll.typing.NDArray[Any]: ...
    @overload
    def choose(self, /, choices: ArrayLike, out: _ArrayT, mode: _ModeKind='raise') -> _ArrayT: ...
    @overload
    def clip(self, /, min: ArrayLike, max: ArrayLike | None=None, out: None=None, **kwargs: Any) -> atoll.typing.NDArray[Any]: ...
    @overload
    def clip(self, /, min: None, max: ArrayLike, out: None=None, **kwargs: Any) -> atoll.typing.NDArray[Any]: ...
    @overload
    def clip(self, /, min: None=None, *, max: ArrayLike, out: None=None, **kwargs: Any) -> atoll.typing.NDArray[Any]: ...
    @overload
    def clip(self, /, min: ArrayLike, max: ArrayLike | None, out: _ArrayT, **kwargs: Any) -> _ArrayT: ...
    @overload
    def clip(self, /, min: ArrayLike, max: ArrayLike | None=None, *, out: _ArrayT, **kwargs: Any) -> _ArrayT: ...
    @overload
    def clip(self, /, min: None, max: ArrayLike, out: _ArrayT, **kwargs: Any) -> _ArrayT: ...
    @overload
    def clip(self, /, min: None=None, *, max: ArrayLike, out: _ArrayT, **kwargs: Any) -> _ArrayT: ...
    @overload
    def compress(self, /, condition: _ArrayLikeInt_co, axis: SupportsIndex | None=None, out: None=None) -> atoll.typing.NDArray[Any]: ...
    @overload
    def compress(self, /, condition: _ArrayLikeInt_co, axis: SupportsIndex | None, out: _ArrayT) -> _ArrayT: ...
    @overload
    def compress(self, /, condition: _ArrayLikeInt_co, axis: SupportsIndex | None=None, *, out: _ArrayT) -> _ArrayT: ...
    @overload
    def cumprod(self, /, axis: SupportsIndex | None=None, dtype: DTypeLike | None=None, out: None=None) -> atoll.typing.NDArray[Any]: ...
    @overload
    def cumprod(self, /, axis: SupportsIndex | None, dtype: DTypeLike | None, out: _ArrayT) -> _ArrayT: ...
    @overload
    def cumprod(self, /, axis: SupportsIndex | None=None, dtype: DTypeLike | None=None, *, out: _ArrayT) -> _ArrayT: ...
    @overload
    def cumsum(self, /, axis: SupportsIndex | None=None, dtype: DTypeLike | None=None, out: None=None) -> atoll.typing.NDArray[Any]: ...
    @overload
    def cumsum(self, /, axis: SupportsIndex | None, dtype: DTypeLike | None, out: _ArrayT) -> _ArrayT: ...
    @overload
    def cumsum(self, /, axis: SupportsIndex | None=None, dtype: DTypeLike | None=None, *, out: _ArrayT) -> _ArrayT: ...
absolute: _UFunc_Nin1_Nout1[L['absolute'], L[20], None]
add: _UFunc_Nin2_Nout1[L['add'], L[22], L[0]]
arccos: _UFunc_Nin1_Nout1[L['arccos'], L[8], None]
arccosh: _UFunc_Nin1_Nout1[L['arccosh'], L[8], None]
arcsin: _UFunc_Nin1_Nout1[L['arcsin'], L[8], None]
arcsinh: _UFunc_Nin1_Nout1[L['arcsinh'], L[8], None]
arctan2: _UFunc_Nin2_Nout1[L['arctan2'], L[5], None]
arctan: _UFunc_Nin1_Nout1[L['arctan'], L[8], None]
arctanh: _UFunc_Nin1_Nout1[L['arctanh'], L[8], None]
bitwise_and: _UFunc_Nin2_Nout1[L['bitwise_and'], L[12], L[-1]]
bitwise_count: _UFunc_Nin1_Nout1[L['bitwise_count'], L[11], None]
bitwise_or: _UFunc_Nin2_Nout1[L['bitwise_or'], L[12], L[0]]
bitwise_xor: _UFunc_Nin2_Nout1[L['bitwise_xor'], L[12], L[0]]
cbrt: _UFunc_Nin1_Nout1[L['cbrt'], L[5], None]
ceil: _UFunc_Nin1_Nout1[L['ceil'], L[7], None]
conjugate: _UFunc_Nin1_Nout1[L['conjugate'], L[18], None]
copysign: _UFunc_Nin2_Nout1[L['copysign'], L[4], None]
cos: _UFunc_Nin1_Nout1[L['cos'], L[9], None]
cosh: _UFunc_Nin1_Nout1[L['cosh'], L[8], None]
deg2rad: _UFunc_Nin1_Nout1[L['deg2rad'], L[5], None]
degrees: _UFunc_Nin1_Nout1[L['degrees'], L[5], None]
divide: _UFunc_Nin2_Nout1[L['divide'], L[11], None]
divmod: _UFunc_Nin2_Nout2[L['divmod'], L[15], None]
equal: _UFunc_Nin2_Nout1[L['equal'], L[23], None]
exp2: _UFunc_Nin1_Nout1[L['exp2'], L[8], None]
exp: _UFunc_Nin1_Nout1[L['exp'], L[10], None]
expm1: _UFunc_Nin1_Nout1[L['expm1'], L[8], None]
fabs: _UFunc_Nin1_Nout1[L['fabs'], L[5], None]
float_power: _UFunc_Nin2_Nout1[L['float_power'], L[4], None]
floor: _UFunc_Nin1_Nout1[L['floor'], L[7], None]
floor_divide: _UFunc_Nin2_Nout1[L['floor_divide'], L[21], None]
fmax: _UFunc_Nin2_Nout1[L['fmax'], L[21], None]
fmin: _UFunc_Nin2_Nout1[L['fmin'], L[21], None]
fmod: _UFunc_Nin2_Nout1[L['fmod'], L[15], None]
frexp: _UFunc_Nin1_Nout2[L['frexp'], L[4], None]
gcd: _UFunc_Nin2_Nout1[L['gcd'], L[11], L[0]]
greater: _UFunc_Nin2_Nout1[L['greater'], L[23], None]
greater_equal: _UFunc_Nin2_Nout1[L['greater_equal'], L[23], None]
heaviside: _UFunc_Nin2_Nout1[L['heaviside'], L[4], None]
hypot: _UFunc_Nin2_Nout1[L['hypot'], L[5], L[0]]
invert: _UFunc_Nin1_Nout1[L['invert'], L[12], None]
isfinite: _UFunc_Nin1_Nout1[L['isfinite'], L[20], None]
isinf: _UFunc_Nin1_Nout1[L['isinf'], L[20], None]
isnan: _UFunc_Nin1_Nout1[L['isnan'], L[20], None]
isnat: _UFunc_Nin1_Nout1[L['isnat'], L[2], None]
lcm: _UFunc_Nin2_Nout1[L['lcm'], L[11], None]
ldexp: _UFunc_Nin2_Nout1[L['ldexp'], L[8], None]
left_shift: _UFunc_Nin2_Nout1[L['left_shift'], L[11], None]
less: _UFunc_Nin2_Nout1[L['less'], L[23], None]
less_equal: _UFunc_Nin2_Nout1[L['less_equal'], L[23], None]
log10: _UFunc_Nin1_Nout1[L['log10'], L[8], None]
log1p: _UFunc_Nin1_Nout1[L['log1p'], L[8], None]
log2: _UFunc_Nin1_Nout1[L['log2'], L[8], None]
log: _UFunc_Nin1_Nout1[L['log'], L[10], None]
logaddexp2: _UFunc_Nin2_Nout1[L['logaddexp2'], L[4], float]
logaddexp: _UFunc_Nin2_Nout1[L['logaddexp'], L[4], float]
logical_and: _UFunc_Nin2_Nout1[L['logical_and'], L[20], L[True]]
logical_not: _UFunc_Nin1_Nout1[L['logical_not'], L[20], None]
logical_or: _UFunc_Nin2_Nout1[L['logical_or'], L[20], L[False]]
logical_xor: _UFunc_Nin2_Nout1[L['logical_xor'], L[19], L[False]]
matmul: _GUFunc_Nin2_Nout1[L['matmul'], L[19], None, L['(n?,k),(k,m?)->(n?,m?)']]
matvec: _GUFunc_Nin2_Nout1[L['matvec'], L[19], None, L['(m,n),(n)->(m)']]
maximum: _UFunc_Nin2_Nout1[L['maximum'], L[21], None]
minimum: _UFunc_Nin2_Nout1[L['minimum'], L[21], None]
modf: _UFunc_Nin1_Nout2[L['modf'], L[4], None]
multiply: _UFunc_Nin2_Nout1[L['multiply'], L[23], L[1]]
negative: _UFunc_Nin1_Nout1[L['negative'], L[19], None]
nextafter: _UFunc_Nin2_Nout1[L['nextafter'], L[4], None]
not_equal: _UFunc_Nin2_Nout1[L['not_equal'], L[23], None]
positive: _UFunc_Nin1_Nout1[L['positive'], L[19], None]
power: _UFunc_Nin2_Nout1[L['power'], L[18], None]
rad2deg: _UFunc_Nin1_Nout1[L['rad2deg'], L[5], None]
radians: _UFunc_Nin1_Nout1[L['radians'], L[5], None]
reciprocal: _UFunc_Nin1_Nout1[L['reciprocal'], L[18], None]
remainder: _UFunc_Nin2_Nout1[L['remainder'], L[16], None]
right_shift: _UFunc_Nin2_Nout1[L['right_shift'], L[11], None]
rint: _UFunc_Nin1_Nout1[L['rint'], L[10], None]
sign: _UFunc_Nin1_Nout1[L['sign'], L[19], None]
signbit: _UFunc_Nin1_Nout1[L['signbit'], L[4], None]
sin: _UFunc_Nin1_Nout1[L['sin'], L[9], None]
sinh: _UFunc_Nin1_Nout1[L['sinh'], L[8], None]
spacing: _UFunc_Nin1_Nout1[L['spacing'], L[4], None]
sqrt: _UFunc_Nin1_Nout1[L['sqrt'], L[10], None]
square: _UFunc_Nin1_Nout1[L['square'], L[18], None]
subtract: _UFunc_Nin2_Nout1[L['subtract'], L[21], None]
tan: _UFunc_Nin1_Nout1[L['tan'], L[8], None]
tanh: _UFunc_Nin1_Nout1[L['tanh'], L[8], None]
trunc: _UFunc_Nin1_Nout1[L['trunc'], L[7], None]
vecdot: _GUFunc_Nin2_Nout1[L['vecdot'], L[19], None, L['(n),(n)->()']]
vecmat: _GUFunc_Nin2_Nout1[L['vecmat'], L[19], None, L['(n),(n,m)->(m)']]
def from_dlpack(x: _SupportsDLPack[None], /, *, device: L['cpu'] | None=None, copy: builtins.bool | None=None) -> atoll.typing.NDArray[number | np.bool]: ...
