"""The origin of a module: the user's own code, an installed package, or Python itself."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

_LIBRARY = __name__.partition(".")[0]
# Folders of installed packages, also those of another prefix.
_PACKAGES = ("site-packages", "dist-packages")


def is_own(name: str | None) -> bool:
    """Returns whether a module is the user's own: neither of Python, nor installed, nor lowtide.

    A module without a file, as a shell, a notebook or executed text, is the user's.
    """
    if name is None:
        return False
    top = name.partition(".")[0]
    if top == _LIBRARY:
        return False
    # Its file may be that of a tool which executes the user's text.
    if top in ("__main__", "__mp_main__"):
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if isinstance(file, str):
        return not is_installed(file)
    # Built-in and frozen modules have no file.
    return top not in sys.stdlib_module_names


def extension_file(module: ModuleType) -> str | None:
    """The file of a compiled module."""
    file = getattr(module, "__file__", None)
    is_compiled = isinstance(file, str) and file.endswith(tuple(EXTENSION_SUFFIXES))
    return file if is_compiled else None


def version(name: str | None) -> str:
    """The version of the package of a module, if it states one."""
    top = sys.modules.get((name or "").partition(".")[0])
    found = getattr(top, "__version__", "")
    return found if isinstance(found, str) else ""


@functools.cache
def is_installed(file: str) -> bool:
    """Returns whether a file is Python's or of an installed package."""
    real = os.path.realpath(file)
    parts = real.split(os.sep)
    return any(name in parts for name in _PACKAGES) or real.startswith(_folders())


@functools.cache
def _folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    return tuple({os.path.join(os.path.realpath(path), "") for path in paths if path})
