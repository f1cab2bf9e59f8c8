"""Data that the connections of a control share: changes by hooks are reported and taken back.

A hook that changes an attribute of a class or a global changes it for all connections, of all runs.
Results would depend on the order of the runs, and on runs before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ._code import Code, data_digest
from ._place import ABSENT, Place, copied


@dataclass
class _Saved:
    """A place before a run."""

    place: Place
    digest: str
    is_copied: bool
    copy: Any


@dataclass
class _Change:
    """A place that hooks have changed."""

    saved: _Saved
    digest: str
    """Of the value that they left."""


_lock = threading.Lock()
# Executions with a control in Python, and the places before the first of them.
_running = 0
_saved: list[_Saved] = []
# Changes of earlier executions that are not taken back yet.
_changes: list[_Change] = []


def take_back() -> None:
    """Sets the places that hooks of earlier runs changed to the values before these runs, unless a
    run is going on. A value that the user has set since is kept."""
    with _lock:
        if _running:
            return
        for change in _changes:
            saved = change.saved
            if saved.is_copied and _digest(saved.place.value()) == change.digest:
                saved.place.restore(saved.copy)
        _changes.clear()


@contextmanager
def watching(codes: Sequence[Code]) -> Iterator[list[str]]:
    """Yields a list that has, after the block, the names of shared data that the hooks changed."""
    global _running
    found: list[str] = []
    with _lock:
        if not _running:
            _saved[:] = [_save(place) for code in codes for place in code.places]
        _running += 1
    try:
        yield found
    finally:
        with _lock:
            _running -= 1
            if not _running:
                _changes.extend(_changed(codes))
                found += sorted({change.saved.place.label for change in _changes})
                _saved.clear()


def _save(place: Place) -> _Saved:
    value = place.value()
    return _Saved(place, _digest(value), *copied(value))


def _changed(codes: Sequence[Code]) -> Iterator[_Change]:
    known = set()
    for saved in _saved:
        known.add((id(saved.place.owner), saved.place.name))
        digest = _digest(saved.place.value())
        if digest != saved.digest:
            yield _Change(saved, digest)
    # Attributes that a class did not have before.
    for owner in {id(p.owner): p.owner for code in codes for p in code.places}.values():
        if isinstance(owner, type):
            yield from _new_attributes(owner, known)


def _new_attributes(owner: type, known: set[tuple[int, str]]) -> Iterator[_Change]:
    for name, value in list(vars(owner).items()):
        is_special = name.startswith("__") or hasattr(type(value), "__get__")
        if not is_special and name != "_abc_impl" and (id(owner), name) not in known:
            place = Place(owner, name, f"{owner.__qualname__}.{name}")
            yield _Change(_Saved(place, "", True, ABSENT), _digest(value))


def _digest(value: Any) -> str:
    return "" if value is ABSENT else data_digest(value)
