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
# Executions with a control in Python.
_running = 0
# Places before the first execution that uses them, by owner and name.
_saved: dict[tuple[int, str], _Saved] = {}
# Classes with the names of their attributes then.
_classes: dict[int, tuple[type, set[str]]] = {}
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


def is_watched(owner: type) -> bool:
    """Returns whether a run that uses the class is going on."""
    with _lock:
        return id(owner) in _classes


@contextmanager
def watching(codes: Sequence[Code]) -> Iterator[list[str]]:
    """Yields a list that has, after the block, the names of shared data that the hooks changed."""
    global _running
    found: list[str] = []
    with _lock:
        _save(codes)
        _running += 1
    try:
        yield found
    finally:
        with _lock:
            changed = {key: change for key, change in _changed() if key not in _noted()}
            own = {id(place.owner) for code in codes for place in code.places}
            found += sorted({c.saved.place.label for key, c in changed.items() if key[0] in own})
            _running -= 1
            if not _running:
                _changes.extend(changed.values())
                _saved.clear()
                _classes.clear()


def _noted() -> set[tuple[int, str]]:
    """Places whose changes wait to be taken back."""
    return {(id(c.saved.place.owner), c.saved.place.name) for c in _changes}


def _save(codes: Sequence[Code]) -> None:
    for place in (place for code in codes for place in code.places):
        key = (id(place.owner), place.name)
        if key not in _saved:
            value = place.value()
            _saved[key] = _Saved(place, _digest(value), *copied(value))
        if isinstance(place.owner, type) and id(place.owner) not in _classes:
            _classes[id(place.owner)] = (place.owner, set(vars(place.owner)))


def _changed() -> Iterator[tuple[tuple[int, str], _Change]]:
    for key, saved in _saved.items():
        digest = _digest(saved.place.value())
        if digest != saved.digest:
            yield key, _Change(saved, digest)
    # Attributes that a class did not have before.
    for owner, names in _classes.values():
        for name, value in list(vars(owner).items()):
            if name not in names and not hasattr(type(value), "__get__"):
                place = Place(owner, name, f"{owner.__qualname__}.{name}")
                yield (id(owner), name), _Change(_Saved(place, "", True, ABSENT), _digest(value))


def _digest(value: Any) -> str:
    return "" if value is ABSENT else data_digest(value)
