"""A task of a sweep, on the worker: some runs of a scenario, as a part of the run directory.

A task has plain arguments only, so every engine can send it. It may run twice.
"""

from __future__ import annotations

import functools
import io
import os
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple, TypedDict

from . import _lowtide
from ._code import code_of
from ._control import CongestionControl
from ._files import OwnedFolder
from ._registry import register, reported
from ._shared import take_back
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
    controls: list[tuple[type[CongestionControl], str]]
    """Congestion controls in Python, each with the digest of its code."""
    runs: list[int]
    """Numbers of the runs of this task."""
    jobs: int
    """Concurrent runs."""
    part: str
    """Name of the part."""
    store: str | None
    """Directory for the part that all machines share; None to return the part."""


class Made(NamedTuple):
    """What a task returns."""

    part: str | bytes
    """The path of the part in the shared directory, or the part itself, as an archive."""
    notes: list[str]
    """Sentences on results that may not be repeatable."""


def make_part(program: str, version: str, request: Request) -> Made:
    """Makes the runs of a task.

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
        with OwnedFolder() as directory:
            part = directory / request["part"]
            notes = _make(request, part)
            return Made(pack(part), notes)
    store = Path(request["store"])
    if not store.is_dir():
        raise RunError(f"a worker does not see the directory {store}: leave out shared=True")
    # Not in `TMPDIR`: a rename needs one file system.
    with OwnedFolder(f".{request['part']}.", store) as directory:
        part = directory / request["part"]
        notes = _make(request, part)
        return Made(str(place(part, store)), notes)


def _make(request: Request, part: Path) -> list[str]:
    take_back()
    codes, used = [], []
    for control, code in request["controls"]:
        own = code_of(control)
        if own.digest != code:
            raise RunError(
                f"a worker has other code of the control `{control.name}` than this machine: use "
                "the same files and the same version of Python on all machines"
            )
        register(control)
        codes.append(code)
        used.append((control, own))
    plan = _plan(request["scenario"], request["name"], tuple(codes))
    with reported(used) as notes:
        plan.make_part(
            part, request["command"], request["source"], request["runs"], request["jobs"]
        )
    return notes


@functools.lru_cache(maxsize=1)
def _plan(text: str, name: str, codes: tuple[str, ...]) -> _lowtide.Plan:
    """Expands a scenario; the tasks of a worker have the same one. The hash of a run covers the
    `codes` of controls."""
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
    with OwnedFolder(f".{name}.", store) as directory:
        part = directory / name
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(part)
        return place(part, store)
