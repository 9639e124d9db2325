"""Python modules that one rank of each node reads, for all ranks of the node (see ``node_store``).

A finder in ``sys.meta_path``, before Python's own for folders, requests the code of a module from the table of the node. The
rank that makes the entry searches and reads as Python does; the others open no file and look into no folder. Modules
in compiled libraries are found likewise, and loaded from their files. Python handles the rest: archives, namespace
packages, modules that do not exist, reloaded modules, and all modules once the program has called
``importlib.invalidate_caches``, as it must if it writes modules itself.

This module imports only what ``cli/rank.py`` can use before the program starts.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

from .interrupts import passed_on
from .node_store import Store


class _Loader(SourceFileLoader):
    """Loads a module whose code is already known; the rest is read from its file as usual."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class NodeFinder:
    """Finds modules in the table of the node."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: set[str] = set()
        """The names requested so far: a module that is imported again is read again."""
        self._ended = False

    def invalidate_caches(self) -> None:
        """Leave all imports to Python from now on: the program may have written modules newer than the table."""
        self._ended = True

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, with its loader; ``None`` if another finder is to search for it."""
        if self._ended or target is not None or name in self._known:
            return None
        self._known.add(name)
        folders = [folder or os.getcwd() for folder in (sys.path if path is None else path)]
        key = "\n".join(["module", name, *map(str, folders)]).encode("utf-8", "surrogateescape")
        entry = self._store.get(key)
        if entry is None:
            spec, entry = None, b""
            try:
                spec, entry = _read(name, path)
            finally:
                self._store.put(key, entry)
            return spec
        return _spec(name, *marshal.loads(entry)) if entry else None


def _read(name: str, path: Sequence[str] | None) -> tuple[ModuleSpec | None, bytes]:
    """The spec of a module as Python finds it, and its entry, which is empty if each rank is to load it with Python."""
    spec = PathFinder.find_spec(name, path)
    if spec is None or spec.origin is None:
        return spec, b""
    code = None
    if type(spec.loader) is SourceFileLoader:
        try:
            code = spec.loader.get_code(name)
        except Exception as problem:
            passed_on(problem)
            return spec, b""  # the import reports the error
        if code is None:
            return spec, b""
    elif type(spec.loader) is not ExtensionFileLoader:
        return spec, b""
    content = (spec.origin, spec.submodule_search_locations, code)
    return _spec(name, *content), marshal.dumps(content)


def _spec(
    name: str, origin: str, locations: list[str] | None, code: CodeType | None
) -> ModuleSpec | None:
    loader = ExtensionFileLoader(name, origin) if code is None else _Loader(name, origin, code)
    return spec_from_file_location(
        name, origin, loader=loader, submodule_search_locations=locations
    )


def begin(store: Store) -> None:
    """Let this rank import modules from the table of its node."""
    places = [k for k, finder in enumerate(sys.meta_path) if finder is PathFinder]
    if places:
        sys.meta_path.insert(places[0], NodeFinder(store))
