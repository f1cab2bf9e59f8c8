"""Runs a command and measures its resource usage."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import PeerError


@dataclass(frozen=True)
class ResourceUsage:
    stdout: str
    cpu_s: float
    wall_s: float
    peak_rss_mib: float
    """At least that of this Python process at the start: Linux inherits it."""


def run(
    command: Sequence[str | Path],
    env: Mapping[str, str] | None = None,
    show_errors: bool = False,
) -> ResourceUsage:
    """Runs `command` to its end. A failure raises an error with the last lines of its output."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        start = time.monotonic()
        try:
            child = subprocess.Popen(
                [str(c) for c in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=None if show_errors else errors,
                env=dict(env) if env is not None else None,
            )
        except OSError as e:
            raise PeerError(f"cannot run {command[0]}: {e.strerror}") from e
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        output = out.read()
        if child.returncode != 0:
            errors.seek(0)
            last = (output + errors.read()).strip().splitlines()[-12:]
            shown = " ".join(str(c) for c in command)
            raise PeerError(
                f"`{shown}` failed ({child.returncode}):\n  " + "\n  ".join(last)
            )
    return ResourceUsage(
        stdout=output,
        cpu_s=usage.ru_utime + usage.ru_stime,
        wall_s=wall,
        peak_rss_mib=usage.ru_maxrss / 1024,
    )
