"""Parameters of a congestion control in Python."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar, overload

from . import _arguments, _lowtide
from .errors import RequestError

Value = TypeVar("Value", int, float, bool, str)

_LARGEST = 2**53


class Param(Generic[Value]):
    """A parameter that scenario files can set.

        class Mine(lt.CongestionControl):
            name = "mine"
            shift_g = lt.Param(4, max=10, doc="Gain of alpha as a power of two.")
            target = lt.Param("20 us", doc="Queueing delay.")

    In the control, `self.shift_g` is its value; in scenario files it is `mine.shift-g`, as in
    `set("transport.sender.mine.shift-g", 5)`.
    """

    @overload
    def __init__(
        self: Param[str], default: str, *, choices: Sequence[str], doc: str = "", source: str = ""
    ) -> None: ...
    @overload
    def __init__(self: Param[int], default: str, *, doc: str = "", source: str = "") -> None: ...
    @overload
    def __init__(self: Param[bool], default: bool, *, doc: str = "", source: str = "") -> None: ...
    @overload
    def __init__(
        self: Param[int],
        default: int,
        *,
        min: int = 0,
        max: int = _LARGEST,
        doc: str = "",
        source: str = "",
    ) -> None: ...
    @overload
    def __init__(
        self: Param[float], default: float, *, doc: str = "", source: str = ""
    ) -> None: ...
    def __init__(
        self,
        default: Any,
        *,
        min: int = 0,
        max: int = _LARGEST,
        choices: Sequence[str] = (),
        doc: str = "",
        source: str = "",
    ) -> None:
        """Declares a parameter.

        default: its default, which determines its values: True or False; a whole number; a float
            (a ratio above zero, at most nine decimals); text of `choices`; or text with a unit,
            which is ps for a time ("20 us"), bytes for a size ("30 kB"), bit/s for a rate
            ("10 Gbit/s")
        min, max: range of a whole number
        choices: the possible texts
        doc: one sentence with the unit
        source: source of the default, as "RFC 8257 §3.3"

        Raises `RequestError` for a default that is not of these kinds, or not in its range.
        """
        kind: str | None
        min = _arguments.whole("min", min, least=0)
        max = _arguments.whole("max", max, least=0)
        choices = _arguments.names("choices", choices, "fast")
        _arguments.text("doc", doc, '"one sentence"')
        _arguments.text("source", source, '"RFC 8257 §3.3"')
        if isinstance(default, int) and not isinstance(default, bool) and default < 0:
            raise RequestError(
                f"the default {default} of a parameter is negative", "use 0 or a larger number"
            )
        if isinstance(default, bool):
            kind, text = "bool", str(default).lower()
        elif isinstance(default, int):
            kind, text = "count", str(default)
        elif isinstance(default, float):
            kind, text = "ratio", f"{Decimal(repr(default)):f}"
        elif isinstance(default, str):
            kind, text = "choice" if choices else None, default
        else:
            raise RequestError(
                f"{default!r} is no default of a parameter", "use a bool, a number or text"
            )
        self.kind: str
        """Its kind: bool, count, ratio, choice, time, size or rate."""
        self.default: Value
        """Its default, in the unit of its kind."""
        self.kind, self.default = _lowtide.default_value(kind, text, min, max, choices)
        self.doc: str = doc
        """One sentence with the unit."""
        self._declared = {
            "kind": self.kind,
            "default": text,
            "min": min,
            "max": max,
            "choices": choices,
            "doc": doc,
            "source": source or "the class",
        }

    def declaration(self, attribute: str) -> dict[str, Any]:
        """Describes it for the native module; `attribute` is its name in the class."""
        return {"name": attribute.replace("_", "-"), **self._declared}

    @overload
    def __get__(self, control: None, owner: type) -> Param[Value]: ...
    @overload
    def __get__(self, control: object, owner: type) -> Value: ...
    def __get__(self, control: object | None, owner: type) -> Param[Value] | Value:
        # The value of a connection is in its dictionary and comes first.
        return self if control is None else self.default

    def __repr__(self) -> str:
        return f"lowtide.Param({self._declared['default']!r})"
