"""Builds the native front (``src/atoll/_native``) where there is a C compiler; without it arrays take the way through Python.

    python hatch_build.py        builds it in place

Installing does the same. ``ATOLL_BUILD_FRONT=0`` leaves it out, ``=1`` makes a failure an error.
"""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
WISH = os.environ.get("ATOLL_BUILD_FRONT", "")
try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand
    BuildHookInterface = object


def compiler() -> list[str]:
    """The command of the C compiler; empty where there is none."""
    if WISH == "0" or sys.platform == "win32":
        return []
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(command[0]) is None:
        command = ["cc"]
    return command if shutil.which(command[0]) else []


def build() -> Path | None:
    """Compile the module in place; ``None`` where that is impossible."""
    command = compiler()
    if not command:
        if WISH == "1":
            raise RuntimeError("ATOLL_BUILD_FRONT=1: there is no C compiler")
        return None
    import numpy

    target = ROOT / "src/atoll" / f"_front{sysconfig.get_config_var('EXT_SUFFIX')}"
    bundle = (
        ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    )
    includes = [f"-I{sysconfig.get_path('include')}", f"-I{numpy.get_include()}"]
    digest = runpy.run_path(str(ROOT / "src/atoll/native_sources.py"))["digest"]()
    units = map(str, sorted((ROOT / "src/atoll/_native").glob("*.c")))
    command += [
        "-O2",
        "-Werror=implicit-function-declaration",
        "-DNDEBUG",
        "-fPIC",
        f'-DATOLL_SOURCES="{digest}"',
        *bundle,
        *includes,
        *units,
    ]
    for across in (
        ["-flto", "-fno-plt"],
        [],
    ):  # calls between units cost time where the compiler sees one at a time
        whole = [*command, *across, "-o", str(target)]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=300)
        if not done.returncode:
            break
    if done.returncode:
        if WISH == "1":
            raise RuntimeError(f"the native front does not compile:\n{done.stderr}")
        print(
            f"atoll: the native front does not compile here and is left out:\n{done.stderr}",
            file=sys.stderr,
        )
        return None
    return target


class Hook(BuildHookInterface):  # type: ignore[misc, valid-type]
    """What hatchling calls."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """NumPy's headers, where they will be used."""
        return ["numpy>=2.2"] if compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the module into the wheel, which then is one for this platform."""
        if self.target_name != "wheel":
            return
        made = build()
        if made is not None:
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["artifacts"].append(f"src/atoll/{made.name}")


if __name__ == "__main__":
    print(build())
