"""Registration of controls: their names, their code, their warnings."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from . import _lowtide
from ._arguments import items, names
from ._code import Code, code_of
from ._control import CongestionControl
from ._definition import check_assigned, check_definition
from ._param import Param
from ._shared import is_watched, take_back, watching
from .errors import ControlWarning, RequestError

REPEATABLE = "repeatable"
"""The rule of `check_control` that two runs with equal input are equal."""
SIGNALS = ("loss", "ecn", "delay")

Control = TypeVar("Control", bound=type[CongestionControl])

# Registered classes by name.
_registered: dict[str, type[CongestionControl]] = {}
# Warnings that were given: class and text.
_warned: set[tuple[str, str]] = set()
_FOLDER = str(Path(__file__).parent)


def register(control: Control) -> Control:
    """Registers a class as a congestion control and as a scheme of its name, for this process.
    Returns the class, so it is also a decorator.

    Scenario files then know the name: `schemes=["dctcp", "mine"]`, or
    `set("transport.sender.cc", "mine")`. Executing the cell of the class again registers the new
    version in place of the old one. Results have the digest of the code, which covers all modules
    of your own that the class uses, and a directory of another version is refused.

    Raises `RequestError` if another class, or a part of lowtide, has the name.
    """
    take_back()
    _register(control)
    return control


def _register(control: type[CongestionControl]) -> Code:
    declaration, code = declaration_of(control)
    name = declaration["name"]
    other = _registered.get(name)
    if other is not None and place(other) != place(control):
        raise RequestError(
            f"the control `{name}` is the class {place(other)}",
            f"give {place(control)} another `name`",
        )
    _lowtide.register_control(control, declaration)
    _registered[name] = control
    return code


def named_in(text: str) -> list[tuple[type[CongestionControl], Code]]:
    """Returns the registered classes that a scenario may use, each with its code."""
    words = set(re.findall(r"[a-z0-9-]+", text))
    named = [control for name, control in _registered.items() if name in words]
    return [(control, code_of(control)) for control in named]


def refresh() -> None:
    """Registers classes again whose code has changed, as by a global constant that they use.

    A run that is going on may change the data of its control, which then is no new version.
    """
    take_back()
    for control in list(_registered.values()):
        if not is_watched(control):
            _register(control)


def registered() -> list[type[CongestionControl]]:
    """Returns the registered classes."""
    return list(_registered.values())


@contextmanager
def reported(used: Sequence[tuple[type[CongestionControl], Code]]) -> Iterator[list[str]]:
    """Warns of results that may not be repeatable: before a run, of what the digests of its
    controls do not cover; after it, of shared data that hooks changed. Yields a list that then has
    the sentences of the latter."""
    for control, code in used:
        for text in (*code.uncovered, *(f"uses {name}" for name in code.varying)):
            remedy = (
                "draw from self.setup.rng, and take the time from the facts of the hooks"
                if text.removeprefix("uses ") in code.varying
                else "results of another version of it are not told apart"
            )
            warn_once(control, f"`{control.name}` {text}: {remedy}")
    sentences: list[str] = []
    with watching([code for _, code in used]) as changed:
        yield sentences
    if changed:
        of = " and ".join(f"`{control.name}`" for control, _ in used)
        sentences.append(
            f"hooks of {of} changed {', '.join(changed)}, which all connections of all runs "
            "share: results may depend on the order of the runs. Keep such data in self; before "
            "the next run it is set back"
        )
        warn(sentences[0])


def warn_once(control: type, text: str) -> None:
    """Warns once in a process."""
    if (place(control), text) not in _warned:
        _warned.add((place(control), text))
        warn(text)


def warn(text: str) -> None:
    """Warns at the line of the user's program."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_FOLDER, _CONTEXTLIB)):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, ControlWarning, stacklevel=level)


_CONTEXTLIB = contextmanager.__code__.co_filename


def place(control: type) -> str:
    """The name of a class with its module."""
    return f"{control.__module__}.{control.__qualname__}"


def declaration_of(control: type[CongestionControl]) -> tuple[dict[str, Any], Code]:
    """Describes a class for the native module. Returns its code too.

    Raises `RequestError` or `ControlError` for a class that cannot be registered.
    """
    if isinstance(control, CongestionControl):
        raise RequestError(
            f"{control!r} is an object", f"give its class, {type(control).__qualname__}"
        )
    if not (isinstance(control, type) and issubclass(control, CongestionControl)):
        raise RequestError(f"{control!r} is no subclass of lowtide.CongestionControl")
    name = getattr(control, "name", None)
    words = name.split("-") if isinstance(name, str) else []
    if not (words and all(w.isascii() and w.isalnum() and w.islower() for w in words)):
        raise RequestError(
            f"the name {name!r} of {place(control)} is not possible",
            'set `name` to lower-case words with hyphens, as "my-dctcp"',
        )
    # Hooks may have been added after the definition.
    check_definition(control, CongestionControl)
    code = code_of(control)
    check_assigned(control, code.assigned, code.read)
    params = _params(control)
    exemptions = control.exemptions
    if not isinstance(exemptions, Mapping):
        raise RequestError(
            f"exemptions={exemptions!r} of {place(control)} is no mapping",
            'write exemptions = {"rule": "text that allows it"}',
        )
    declared = {
        "name": name,
        "code": code.digest,
        "summary": _summary(control),
        "spec": _typed(control, "spec", str, "text"),
        "scheme": _typed(control, "scheme", str, "text"),
        "params": [param.declaration(attribute) for attribute, param in params.items()],
        "reacts_to": names("reacts_to", control.reacts_to, "loss"),
        "floor_segments": _typed(control, "floor_segments", int, "a whole number"),
        "proportional": _typed(control, "proportional", bool, "True or False"),
        "rate_based": _typed(control, "rate_based", bool, "True or False"),
        "exemptions": [
            (str(rule), str(source)) for rule, source in exemptions.items() if rule != REPEATABLE
        ],
        "needs_delay": _typed(control, "needs_delay", bool, "True or False"),
    }
    if not 0 <= declared["floor_segments"] < 2**32:
        raise RequestError(
            f"floor_segments={declared['floor_segments']} of {place(control)} is out of range",
            "use 0 to 4294967295 segments",
        )
    return declared, code


def _typed(control: type, name: str, kind: type, what: str) -> Any:
    value = getattr(control, name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RequestError(f"{name}={value!r} of {place(control)} is not possible", f"use {what}")
    return value


def _params(control: type) -> dict[str, Param[Any]]:
    """The parameters of a class by attribute, those of its bases first."""
    found: dict[str, Param[Any]] = {}
    for base in reversed(control.__mro__):
        for attribute, value in vars(base).items():
            if isinstance(value, Param):
                found[attribute] = value
    for attribute in found:
        if hasattr(CongestionControl, attribute) or attribute in _RESERVED:
            raise RequestError(
                f"the parameter `{attribute}` of {place(control)} has the name of an attribute of "
                "every control",
                "give it another name",
            )
    return found


# Attributes that `CongestionControl.__init__` sets, and the digest of the code.
_RESERVED = ("code", "cwnd", "mss", "pacing_rate", "setup", "ssthresh")


def _summary(control: type) -> str:
    """The first line of the class's own docstring."""
    lines = (vars(control).get("__doc__") or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else f"the class {place(control)}"


def register_all(controls: Sequence[type[CongestionControl]]) -> None:
    """Registers the classes of the argument `controls`."""
    if isinstance(controls, type):
        raise RequestError(
            f"controls={controls.__qualname__} is a class where a list belongs",
            f"write controls=[{controls.__qualname__}]",
        )
    for control in items("controls", controls, "[Mine]"):
        register(control)
