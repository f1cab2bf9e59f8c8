"""A place of data that all connections of a control share: an attribute of a class, a global, a
variable of an enclosing function, a default."""

from __future__ import annotations

import copy
from collections import deque
from types import CellType
from typing import Any, NamedTuple

ABSENT: Any = object()
"""The value of a place that does not exist."""


class Place(NamedTuple):
    """A place of data."""

    owner: Any
    """A class, a dictionary of names, a cell, or a tuple of defaults."""
    name: str
    """Its name there; the number of a default."""
    label: str
    """Its name in messages: "Mine.count"."""

    def value(self) -> Any:
        """The value; `ABSENT` if there is none."""
        if isinstance(self.owner, type):
            return vars(self.owner).get(self.name, ABSENT)
        if isinstance(self.owner, dict):
            return self.owner.get(self.name, ABSENT)
        if isinstance(self.owner, tuple):
            return self.owner[int(self.name)]
        try:
            return self.owner.cell_contents
        except ValueError:
            return ABSENT

    def restore(self, saved: Any) -> None:
        """Sets the value to an earlier one. Containers keep their identity: other names may refer
        to them."""
        current = self.value()
        if _refill(current, saved):
            return
        if isinstance(self.owner, type):
            if saved is ABSENT:
                type.__delattr__(self.owner, self.name)
            else:
                type.__setattr__(self.owner, self.name, saved)
        elif isinstance(self.owner, dict):
            if saved is ABSENT:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = saved
        elif isinstance(self.owner, CellType) and saved is not ABSENT:
            self.owner.cell_contents = saved


def _refill(current: Any, saved: Any) -> bool:
    """Gives a container the content of another one. Returns whether it could."""
    if type(current) is not type(saved):
        return False
    if isinstance(current, list | bytearray):
        current[:] = saved
    elif isinstance(current, dict | set):
        current.clear()
        current.update(saved)
    elif isinstance(current, deque):
        current.clear()
        current.extend(saved)
    elif type(current).__module__ != "builtins" and isinstance(
        getattr(current, "__dict__", None), dict
    ):
        vars(current).clear()
        vars(current).update(vars(saved))
    else:
        return False
    return True


def copied(value: Any) -> tuple[bool, Any]:
    """Returns whether a value can be copied, and the copy."""
    if value is ABSENT:
        return True, ABSENT
    try:
        return True, copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - objects without a copy raise anything
        return False, None
