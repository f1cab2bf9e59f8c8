"""Rows as a pandas data frame, or as a list without pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def frame(
    rows: list[dict[str, Any]],
    units: dict[str, str] | None = None,
    columns: list[str] | None = None,
) -> pandas.DataFrame | list[dict[str, Any]]:
    """Returns `rows` as a data frame with the units of its columns in `.attrs["units"]`, and
    with `columns` if there are no rows. Without pandas returns the rows."""
    try:
        import pandas as pd
    except ImportError:
        return rows
    out = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
    out.attrs["units"] = units or {}
    return out


def needs(module: str, purpose: str) -> Any:
    """Imports an optional library.

    Raises `ImportError` with the command that installs it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{purpose} needs {module}: `pip install {module}`"
        raise ImportError(message, name=module) from error
