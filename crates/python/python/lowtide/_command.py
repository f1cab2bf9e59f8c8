"""Answers of the command, in a process of its own: Ctrl-C ends it at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from ._progress import Progress, Report, reporting
from .errors import RequestError, RunError, in_python

_SHELL = re.compile(r"\n\s*(Usage: .*|For more information, try .*)")

# Exit status of an invalid request, and of a bound that does not hold.
_INVALID = 2
_UNMET = 3


def answer(
    *args: str, progress: Progress = False, renamed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Runs `lowtide --json ARGS` and returns its answer.

    Raises `RequestError` for an invalid request, `RunError` if the command failed. A command that
    judged its results returns them, whatever the judgement.
    """
    text = run("--json", *args, accept=(0, _UNMET), progress=progress, renamed=renamed)
    found: dict[str, Any] = json.loads(text)
    return found


def run(
    *args: str,
    accept: tuple[int, ...] = (0,),
    progress: Progress = False,
    renamed: Mapping[str, str] | None = None,
) -> str:
    """Runs `lowtide ARGS` of this package and returns its output.

    progress: as for `Scenario.run`
    renamed: options whose argument in Python has another name
    """
    command = [sys.executable, "-m", "lowtide", "--progress=lines", *args]
    # A file, so that a long answer cannot fill a pipe while the progress is read.
    with tempfile.TemporaryFile("w+") as output, reporting(progress) as report:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True)
        with child:
            try:
                message = _watch(child, report)
            except BaseException:
                child.kill()
                raise
        output.seek(0)
        answer = output.read()
    if child.returncode in accept:
        return answer
    # Remarks for users of a shell.
    message = in_python(_SHELL.sub("", message).strip(), renamed)
    if child.returncode == _INVALID:
        raise RequestError(message)
    raise RunError(message or f"`lowtide {args[0]}` ended with status {child.returncode}")


def _watch(child: subprocess.Popen[str], report: Report | None) -> str:
    """Passes the progress of a command to `report` until it closes stderr. Returns the rest of
    stderr."""
    lines = []
    for line in child.stderr or ():
        share, text = _progress(line)
        if share is None:
            lines.append(line)
        elif report is not None:
            report(share, text)
    return "".join(lines).strip().removeprefix("error: ")


def _progress(line: str) -> tuple[float | None, str]:
    """The share done and the text of a line of progress; None for other lines."""
    word, _, rest = line.partition(" ")
    share, _, text = rest.partition(" ")
    try:
        return (float(share) if word == "progress" else None), text.strip()
    except ValueError:
        return None, text


def options(given: dict[str, Any]) -> list[str]:
    """Returns keyword arguments as options of the command; None leaves one out."""
    words = []
    for name, value in given.items():
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    return words
