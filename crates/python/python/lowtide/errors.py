"""Exceptions of lowtide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# Remedies of the command, and those of the package.
_REMEDIES = {
    ", or raise the limit with --memory": "",
    "the command that wrote the directory makes it again with `--afresh`": (
        "remove the directory and run again"
    ),
    "or make its runs again with `--afresh`": "or remove the directory",
    "write it again with `--afresh`": "remove it and run again",
    "give --outlines, or --format pdf": "use outlines=True, or a path that ends in .pdf",
    "give a lower --dpi, or --format pdf": "use a lower dpi=, or a path that ends in .pdf",
    "choose another directory with -o": "choose another out=",
    "--pair dctcp=sack pairs schemes of two names": (
        'compare("dctcp", "sack", other) pairs schemes of two names'
    ),
}
_DPI = re.compile(r"^(\d+) dpi is")
_SWEEP = re.compile(r"`--over ([^=`]+)=\.\.\.`")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z]|[a-z])\b(?:[= ]<[A-Z_]+>|[= ](?=\S)|)")
_COMMAND = re.compile(r"(`lowtide [^`]*`)")


def in_python(message: str, renamed: Mapping[str, str] | None = None) -> str:
    """Returns a message of the command in the terms of the package: its options are arguments of
    functions, `--rto-min` is `rto_min=`. Whole commands stay, as `lowtide run ...`.

    renamed: options whose argument has another name
    """
    for remedy, own in _REMEDIES.items():
        message = message.replace(remedy, own)
    message = _DPI.sub(r"dpi=\1 is", message)
    message = _SWEEP.sub(r'`sweep("\1", [...])`', message).replace("--over", "sweep()")

    def argument(match: re.Match[str]) -> str:
        return f"{(renamed or {}).get(match[1], match[1].replace('-', '_'))}="

    parts = _COMMAND.split(message)
    return "".join(
        part if part.startswith("`lowtide ") else _OPTION.sub(argument, part) for part in parts
    )


class Fault(NamedTuple):
    """A fault of a scenario."""

    message: str
    """One sentence."""
    file: str
    """The file, or the call that set the key: `set()`, `sweep()`."""
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
        text = in_python(text)
        faults = [
            tuple(in_python(part) if isinstance(part, str) else part for part in fault)
            for fault in faults
        ]
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


class RequestError(LowtideError, ValueError, TypeError):
    """An argument is invalid: an unknown table, figure, scheme or format, or a value of another
    type."""

    def __init__(self, message: str, help: str | None = None) -> None:
        message, help = in_python(message), None if help is None else in_python(help)
        super().__init__(message, help)
        self.help: str | None = help
        """What would be right, if it is known."""

    def __str__(self) -> str:
        return self.args[0] if self.help is None else f"{self.args[0]}\n  help: {self.help}"


class RunError(LowtideError, RuntimeError):
    """A run, its directory or an output failed."""

    def __init__(self, message: str) -> None:
        super().__init__(in_python(message))


class LibraryError(LowtideError, ImportError):
    """An optional library is not installed; the text has the command that installs it."""

    def __init__(self, message: str, name: str | None = None) -> None:
        super().__init__(message, name)
        self.name: str | None = name
        """The library."""

    def __str__(self) -> str:
        return str(self.args[0])


class ControlError(LowtideError, ValueError):
    """A congestion control in Python broke its contract: a hook left a value that is no window, or
    the class breaks rules of the conformance kit."""

    def __init__(self, message: str, violations: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message, violations)
        self.violations: list[Violation] = [Violation(*found) for found in violations]
        """Broken rules of the conformance kit; empty for an error of a hook."""

    def __str__(self) -> str:
        return str(self.args[0])


class ControlWarning(UserWarning):
    """A congestion control in Python whose results may not be repeatable: its hooks change data
    that all connections share, or its digest does not cover all that it uses."""


class Violation(NamedTuple):
    """A broken rule of the conformance kit."""

    rule: str
    """Name of the rule."""
    detail: str
    """What happened."""
