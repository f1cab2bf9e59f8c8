"""Checks of a class when it is defined: a misspelt hook would never be called, and a misspelt
attribute would change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ._arguments import nearest
from ._bytecode import uses
from ._param import Param
from .errors import ControlError

HOOKS = ("on_ack", "on_loss", "on_recovered", "on_rto", "on_idle_restart", "on_undo")
# The argument of each hook.
_FACTS = dict(
    zip(HOOKS, ("ack", "loss", "recovered", "rto", "idle", "undo"), strict=True), __init__="setup"
)
# Attributes that a control assigns.
_ASSIGNED = ("cwnd", "ssthresh", "pacing_rate", "alpha")
# Attributes of the class that describe it.
_DECLARED = (
    "name",
    "scheme",
    "spec",
    "reacts_to",
    "floor_segments",
    "proportional",
    "rate_based",
    "exemptions",
    "needs_delay",
    "variables",
    "runs_by_the_clock",
)
_METHODS = ("grow", "slow_start", "congestion_avoidance", "cut_to")
# Names that are as similar as `cwdn` and `cwnd`, and as `reacts` and `reacts_to`.
_NEAR, _VERY_NEAR = 0.7, 0.8


def check_definition(control: type, base: type) -> None:
    """Raises `ControlError` for a class with a hook or an attribute of a misspelt name, or with a
    hook that cannot be called.

    base: the class that has all hooks
    """
    own = [owner for owner in control.__mro__ if issubclass(owner, base) and owner is not base]
    own += [owner for owner in control.__mro__ if owner not in base.__mro__ and owner not in own]
    codes = [function.__code__ for owner in own for function in functions(owner)]
    read = frozenset[str]().union(*(uses(code).read for code in codes))
    assigned = frozenset[str]().union(*(uses(code).assigned for code in codes))
    known = (*_DECLARED, *_ASSIGNED)
    for name, value in vars(control).items():
        if name in _FACTS:
            _check_hook(control, name, value)
        elif not (name.startswith("_") or name in read or name in known or hasattr(base, name)):
            _check_name(control, name, value)
    check_assigned(control, assigned, read)


def check_assigned(control: type, assigned: frozenset[str], read: frozenset[str]) -> None:
    """Raises `ControlError` if code assigns an attribute that is never read, and whose name is
    nearly one that lowtide reads."""
    for name in sorted(assigned - read):
        near = None if name.startswith("_") else nearest(name, _ASSIGNED, _NEAR)
        if near is not None and name not in _ASSIGNED and not hasattr(control, name):
            raise ControlError(
                f"{control.__qualname__} assigns `self.{name}`, which nothing reads: "
                f"did you mean `self.{near}`?"
            )


def _check_name(control: type, name: str, value: Any) -> None:
    """Refuses an attribute of the class that nothing reads and that is nearly one of lowtide's."""
    plain = name.lower().replace("_", "")
    where = f"{control.__qualname__}.{name}"
    if callable(value) or isinstance(value, classmethod | staticmethod | property):
        near = next((h for h in HOOKS if h.replace("_", "") == plain), None)
        near = near or nearest(name, (*HOOKS, *_METHODS), _VERY_NEAR)
        if near is not None:
            raise ControlError(f"{where} is never called: did you mean `{near}`?")
        if name.startswith("on_"):
            raise ControlError(f"{where} is no hook and never called: the hooks are {_listed()}")
    elif not isinstance(value, Param):
        near = nearest(name, (*_DECLARED, *_ASSIGNED), _VERY_NEAR)
        if near is not None:
            raise ControlError(f"{where} is never read: did you mean `{near}`?")


def _check_hook(control: type, name: str, hook: Any) -> None:
    where = f"{control.__qualname__}.{name}"
    fact = _FACTS[name]
    form = f"write `def {name}(self, {fact}):`"
    if not callable(hook):
        raise ControlError(f"{where} = {hook!r} is no method: {form}")
    if inspect.iscoroutinefunction(hook) or inspect.isasyncgenfunction(hook):
        raise ControlError(f"{where} is asynchronous, and nothing would await it: {form}")
    if inspect.isgeneratorfunction(hook):
        raise ControlError(f"{where} has a `yield`, so a call would run nothing: {form}")
    if isinstance(hook, FunctionType):
        try:
            inspect.signature(hook).bind(None, None)
        except TypeError as error:
            raise ControlError(
                f"{where} cannot be called with its argument ({error}): {form}"
            ) from None


def functions(owner: type) -> Iterator[FunctionType]:
    """The functions of a class, also those inside of decorators."""
    waiting: list[Any] = list(vars(owner).values())
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType):
            yield value
            for cell in value.__closure__ or ():
                try:
                    content = cell.cell_contents
                except ValueError:
                    continue
                if isinstance(content, FunctionType):
                    waiting.append(content)
        elif isinstance(value, classmethod | staticmethod):
            waiting.append(value.__func__)
        elif isinstance(value, property):
            waiting += [value.fget, value.fset, value.fdel]
        wrapped: Callable[..., Any] | None = getattr(value, "__wrapped__", None)
        if wrapped is not None and not isinstance(value, type):
            waiting.append(wrapped)


def _listed() -> str:
    return ", ".join(HOOKS)
