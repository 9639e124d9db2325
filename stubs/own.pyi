"""What atoll has and NumPy does not: written by hand, read by write.py."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Literal, Self, SupportsIndex, TypeVar, overload

import atoll
import numpy as np
from atoll import dataflow as dataflow, errors as errors, graph as graph
from atoll.comm.world import World as World, use as use
from atoll.config import Settings
from atoll.context.statistics import Statistics, reset_stats as reset_stats, stats as stats
from atoll.explaining import explain as explain
from atoll.files.checkpoints import checkpoint as checkpoint
from atoll.files.hdf5 import save_hdf5 as save_hdf5
from atoll.files.zarr import save_zarr as save_zarr
from atoll.functions import coverage as coverage
from atoll.functions.clusters import to_dask as to_dask, to_ray as to_ray
from atoll.functions.storing import restore as restore
from atoll.global_access.groups import copy_between as copy_between
from atoll.global_access.onesided import onesided as onesided
from atoll.global_access.regions import distribution as distribution
from atoll.global_access.tasks import tasks as tasks
from atoll.interchange.dask import DaskPartitions as DaskPartitions
from atoll.interchange.distarray import check_distarray as check_distarray, to_distarray as to_distarray
from atoll.interchange.partitioned import check_partitioned as check_partitioned, to_partitioned as to_partitioned
from atoll.interchange.ray import RayPartitions as RayPartitions
from atoll.layout import (
    Block as Block,
    Cyclic as Cyclic,
    Layout as Layout,
    Undistributed as Undistributed,
    Unstructured as Unstructured,
)
from atoll.lazy.pending import sync as sync
from atoll.modelling import model as model
from atoll.profiling import profile as profile

class ndarray:
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
    def exchange_halos(self, axis: int | None = None, side: Literal["left", "right"] | None = None) -> Self: ...
    def redistribute(self, layout: Layout | str | Sequence[Any]) -> Self: ...
    def tagged(self, tags: Any) -> Self: ...
    def to_numpy(self) -> np.ndarray[_ShapeT_co, _DTypeT_co]: ...
    @property
    def __partitioned__(self) -> dict[str, Any]: ...
    def __distarray__(self) -> dict[str, Any]: ...

_ArrayT_co = TypeVar("_ArrayT_co", bound=np.ndarray[Any, Any], covariant=True)
_DTypeT = TypeVar("_DTypeT", bound=np.dtype[Any])
_ScalarT = TypeVar("_ScalarT", bound=np.generic)

class _FlatIterator(Generic[_ArrayT_co]):
    @property
    def base(self) -> _ArrayT_co: ...
    @property
    def coords(self) -> tuple[int, ...]: ...
    @property
    def index(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Self: ...
    def __next__(self: _FlatIterator[np.ndarray[Any, np.dtype[_ScalarT]]]) -> _ScalarT: ...
    @overload
    def __getitem__(self: _FlatIterator[np.ndarray[Any, np.dtype[_ScalarT]]], key: SupportsIndex) -> _ScalarT: ...
    @overload
    def __getitem__(self: _FlatIterator[np.ndarray[Any, _DTypeT]], key: Any) -> atoll.ndarray[Any, _DTypeT]: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __array__(
        self: _FlatIterator[np.ndarray[Any, _DTypeT]], dtype: Any = None, copy: bool | None = None
    ) -> np.ndarray[tuple[int], _DTypeT]: ...
    def copy(self: _FlatIterator[np.ndarray[Any, _DTypeT]]) -> atoll.ndarray[tuple[int], _DTypeT]: ...

class _Config:
    @property
    def threads(self) -> int: ...
    @threads.setter
    def threads(self, value: int | None) -> None: ...
    small: int
    @property
    def everywhere(self) -> int: ...
    @everywhere.setter
    def everywhere(self, value: int | None) -> None: ...
    fusion: bool
    @property
    def cache_bytes(self) -> int: ...
    @cache_bytes.setter
    def cache_bytes(self, value: int | str) -> None: ...
    @property
    def gather_bytes(self) -> int: ...
    @gather_bytes.setter
    def gather_bytes(self, value: int | str) -> None: ...
    @property
    def kernel_cache(self) -> str: ...
    @kernel_cache.setter
    def kernel_cache(self, value: str | os.PathLike[str]) -> None: ...
    cpu_features: str
    wait_check: float
    wait_report: float
    wait_abort: float
    debug: bool
    backend: Literal["llvm", "numpy"]
    front: Literal["native", "python"]
    traceback: Literal["short", "full"]
    mpi: Literal["auto", "on", "off"]
    ranks_per_node: int | None
    def settings(self) -> Settings: ...
    def __call__(
        self,
        *,
        threads: int | None = ...,
        small: int = ...,
        everywhere: int | None = ...,
        fusion: bool = ...,
        cache_bytes: int | str = ...,
        gather_bytes: int | str = ...,
        kernel_cache: str | os.PathLike[str] = ...,
        cpu_features: str = ...,
        wait_check: float = ...,
        wait_report: float = ...,
        wait_abort: float = ...,
        debug: bool = ...,
        backend: Literal["llvm", "numpy"] = ...,
        front: Literal["native", "python"] = ...,
        traceback: Literal["short", "full"] = ...,
        mpi: Literal["auto", "on", "off"] = ...,
        ranks_per_node: int | None = ...,
    ) -> AbstractContextManager[Settings]: ...

config: _Config
world: World

def from_local(block: Any, layout: Layout | None = None, *, comm: Any = None) -> atoll.ndarray: ...
def from_distarray(source: Any, *, strict: bool = False, comm: Any = None) -> atoll.ndarray: ...
def from_partitioned(source: Any, *, comm: Any = None, copy: bool | None = None) -> atoll.ndarray: ...
def from_dask(x: Any, *, client: Any = None, comm: Any = None) -> atoll.ndarray: ...
def from_ray(
    refs: Any,
    shape: Sequence[int] | None = None,
    partition_tiling: Sequence[int] | None = None,
    *,
    comm: Any = None,
) -> atoll.ndarray: ...
def load_hdf5(path: Any, name: str, *, layout: Layout | str | Sequence[Any] | None = None) -> atoll.ndarray: ...
def load_zarr(path: Any, name: str = "", *, layout: Layout | str | Sequence[Any] | None = None) -> atoll.ndarray: ...
