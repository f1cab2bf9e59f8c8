"""A task of a sweep, on the worker: some runs of a scenario, as a part of the run directory.

A task has plain arguments only, so every engine can send it. It may run twice.
"""

from __future__ import annotations

import functools
import io
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TypedDict

from . import _lowtide
from .errors import RunError


class Request(TypedDict):
    """The arguments of a task."""

    scenario: str
    """The scenario with all changes, TOML; the files that it names are embedded."""
    source: str
    """Text of the scenario file without changes."""
    name: str
    """Name of the scenario."""
    command: str
    """The command that makes all runs."""
    runs: list[int]
    """Numbers of the runs of this task."""
    jobs: int
    """Concurrent runs."""
    part: str
    """Name of the part."""
    store: str | None
    """Directory for the part that all machines share; None to return the part."""


def make_part(program: str, version: str, request: Request) -> str | bytes:
    """Makes the runs of a task. Returns the path of the part in the shared directory, or the part
    itself, as an archive.

    program, version: digest of the program and version of lowtide of the client

    Raises `RunError` if this is another program, or a run failed.
    """
    own = _lowtide.program()
    if own != program:
        raise RunError(
            f"a worker has lowtide {_lowtide.version()} of the program {own}, this machine "
            f"lowtide {version} of the program {program}, and runs of two programs are never "
            "mixed: install one package on all machines"
        )
    if request["store"] is None:
        with tempfile.TemporaryDirectory(prefix="lowtide-") as directory:
            part = Path(directory) / request["part"]
            _make(request, part)
            return pack(part)
    store = Path(request["store"])
    if not store.is_dir():
        raise RunError(f"a worker does not see the directory {store}: leave out shared=True")
    # Not in `TMPDIR`: a rename needs one file system.
    with tempfile.TemporaryDirectory(prefix=f".{request['part']}.", dir=store) as directory:
        part = Path(directory) / request["part"]
        _make(request, part)
        return str(place(part, store))


def _make(request: Request, part: Path) -> None:
    plan = _plan(request["scenario"], request["name"])
    plan.make_part(part, request["command"], request["source"], request["runs"], request["jobs"])


@functools.lru_cache(maxsize=1)
def _plan(text: str, name: str) -> _lowtide.Plan:
    """Expands a scenario; the tasks of a worker have the same one."""
    return _lowtide.Plan(_lowtide.Scenario.from_text(text, f"{name}.toml"))


def place(part: Path, store: Path) -> Path:
    """Moves a finished part into `store` under its name. If it is there already, from another
    worker, that one is kept."""
    target = store / part.name
    try:
        os.rename(part, target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(part)
    return target


def pack(part: Path) -> bytes:
    """Returns the files of a part as a ZIP archive. Tables are compressed already."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(part.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(part))
    return content.getvalue()


def unpack(content: bytes, name: str, store: Path) -> Path:
    """Writes a part of `pack` into `store`, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=store) as directory:
        part = Path(directory) / name
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(part)
        return place(part, store)
