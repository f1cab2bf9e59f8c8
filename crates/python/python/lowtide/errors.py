"""Exceptions of lowtide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A fault of a scenario."""

    message: str
    """One sentence."""
    file: str
    """The file, or the call that set the key: `set()`, `--over`."""
    line: int | None
    """Line, from 1; None without a location."""
    column: int | None
    """Column in characters, from 1."""
    help: str | None
    """What would be right, if it is known."""


class LowtideError(Exception):
    """Base of all exceptions of lowtide."""


class ScenarioError(LowtideError, ValueError):
    """A scenario is invalid. Its text is that of the command: the lines of the file with marks."""

    def __init__(self, text: str, faults: list[tuple[Any, ...]]) -> None:
        # All arguments are in `args`, so that the exception can be pickled.
        super().__init__(text, faults)
        self.faults: list[Fault] = [Fault(*fault) for fault in faults]
        """All faults that were found."""

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def file(self) -> str:
        """File of the first fault."""
        return self.faults[0].file

    @property
    def line(self) -> int | None:
        """Line of the first fault, from 1."""
        return self.faults[0].line

    @property
    def column(self) -> int | None:
        """Column of the first fault, from 1."""
        return self.faults[0].column

    @property
    def help(self) -> str | None:
        """What would be right, of the first fault."""
        return self.faults[0].help


class RequestError(LowtideError, ValueError):
    """An argument is invalid: an unknown table, figure, scheme or format."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message, help)
        self.help: str | None = help
        """What would be right, if it is known."""

    def __str__(self) -> str:
        return self.args[0] if self.help is None else f"{self.args[0]}\n  help: {self.help}"


class RunError(LowtideError, RuntimeError):
    """A run, its directory or an output failed."""


class ControlError(LowtideError, ValueError):
    """A congestion control in Python broke its contract: a hook left a value that is no window, or
    the class breaks rules of the conformance kit."""

    def __init__(self, message: str, violations: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message, violations)
        self.violations: list[Violation] = [Violation(*found) for found in violations]
        """Broken rules of the conformance kit; empty for an error of a hook."""

    def __str__(self) -> str:
        return str(self.args[0])


class Violation(NamedTuple):
    """A broken rule of the conformance kit."""

    rule: str
    """Name of the rule."""
    detail: str
    """What happened."""
