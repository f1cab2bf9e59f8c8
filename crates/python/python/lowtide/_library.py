"""Libraries that the package uses if they are there."""

from __future__ import annotations

import importlib
from typing import Any

from .errors import LibraryError


def needs(module: str, purpose: str) -> Any:
    """Imports an optional library.

    Raises `LibraryError` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise LibraryError(f"{purpose} needs {module}: `pip install {module}`", module) from error
