"""Whole files only, and folders that live as long as their owner."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from types import TracebackType

from .errors import RunError


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file under another name and renames it, so that it is never half written.

    Raises `RunError` if it cannot be written.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def _write(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # The mode of a new file: `mkstemp` gives 0600.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class OwnedFolder:
    """A temporary folder that is removed with its owner, or when the process ends.

    Only the process that made it removes it. A forked child has a copy of the owner, and its end
    must not remove what its parent uses.
    """

    def __init__(self, prefix: str = "lowtide-", place: Path | None = None) -> None:
        self.path: Path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        """The folder."""
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finalizer()


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
