"""Checks of arguments: an error names the argument and shows the right form."""

from __future__ import annotations

import difflib
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import RequestError


def whole(name: str, value: Any, least: int = 1, example: int | None = None) -> int:
    """Returns a whole number of at least `least`; an integer of NumPy is one."""
    form = f"use a whole number of at least {least}, as {name}={example or max(least, 2)}"
    if isinstance(value, bool):
        raise RequestError(f"{name}={value!r} is no whole number", form)
    try:
        number = operator.index(value)
    except TypeError:
        raise RequestError(f"{name}={_shown(value)} is no whole number", form) from None
    if number < least:
        raise RequestError(f"{name}={number} is less than {least}", form)
    if number >= 2**63:
        raise RequestError(f"{name}={number} is too large", form)
    return number


def number(name: str, value: Any, form: str) -> float:
    """Returns a number that is not infinite."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RequestError(f"{name}={_shown(value)} is no number", form) from None
    if not math.isfinite(found):
        raise RequestError(f"{name}={_shown(value)} is no finite number", form)
    return found


def text(name: str, value: Any, example: str) -> str:
    """Returns a text."""
    if not isinstance(value, str):
        raise RequestError(f"{name}={_shown(value)} is no text", f"write {name}={example}")
    return value


def names(name: str, value: Any, example: str) -> list[str]:
    """Returns a list of texts. A single text is none: its letters would be the items."""
    if isinstance(value, str):
        raise RequestError(
            f"{name}={value!r} is one text where a list belongs", f"write {name}=[{value!r}]"
        )
    form = f'write {name}=["{example}"]'
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise RequestError(f"{name}={_shown(value)} is no list", form)
    listed = list(value)
    for item in listed:
        if not isinstance(item, str):
            raise RequestError(f"{name} has {_shown(item)}, which is no text", form)
    return listed


def items(name: str, value: Any, example: str) -> list[Any]:
    """Returns a list of any values."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise RequestError(f"{name}={_shown(value)} is no list", f"write {name}={example}")
    return list(value)


def path(name: str, value: Any) -> str:
    """Returns a path as text."""
    try:
        found = os.fspath(value)
    except TypeError:
        found = None
    if not isinstance(found, str) or "\0" in found or not found:
        raise RequestError(f"{name}={_shown(value)} is no path", f'write {name}="results"')
    return found


def one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """Returns one of the known names."""
    if value in known and isinstance(value, str):
        return value
    raise RequestError(f"{name}={_shown(value)} is not possible", f"use {_listed(known)}")


def known(function: str, given: Iterable[str], allowed: Sequence[str]) -> None:
    """Refuses keyword arguments that a function does not have."""
    for name in given:
        if name not in allowed:
            near = nearest(name, allowed)
            help = f"did you mean {near}=?" if near else f"its arguments are {_listed(allowed)}"
            raise RequestError(f"{function}() has no argument {name}=", help)


def nearest(name: str, allowed: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Returns the most similar name, if one is similar enough."""
    found = difflib.get_close_matches(name, list(allowed), 1, cutoff)
    return found[0] if found else None


def _listed(values: Sequence[str]) -> str:
    return ", ".join(map(str, values))


def _shown(value: Any) -> str:
    """The value for a message, shortened."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
