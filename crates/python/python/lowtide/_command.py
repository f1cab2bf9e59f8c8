"""Answers of the command, in a process of its own: Ctrl-C ends it at once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from .errors import RequestError, RunError

# Exit status of an invalid request, and of a bound that does not hold.
_INVALID = 2
_UNMET = 3


def answer(*args: str) -> dict[str, Any]:
    """Runs `lowtide --json ARGS` and returns its answer.

    Raises `RequestError` for an invalid request, `RunError` if the command failed. A command that
    judged its results returns them, whatever the judgement.
    """
    done = run("--json", *args, accept=(0, _UNMET))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(*args: str, accept: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs `lowtide ARGS` of this package."""
    command = [sys.executable, "-m", "lowtide", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode in accept:
        return done
    message = done.stderr.strip().removeprefix("error: ")
    if done.returncode == _INVALID:
        raise RequestError(message)
    raise RunError(message or f"`lowtide {args[0]}` ended with status {done.returncode}")


def options(given: dict[str, Any]) -> list[str]:
    """Returns keyword arguments as options of the command; None leaves one out."""
    words = []
    for name, value in given.items():
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    return words
