"""Progress of long work: a bar of tqdm in a notebook or on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .errors import LibraryError, RequestError

# Is told the share done, 0 to 1, and a text.
Report = Callable[[float, str], object]
# As `reporting` takes it.
Progress = bool | Report | None


def checked(progress: Progress) -> None:
    """Raises `RequestError` for a value that is neither a bool, None nor a function."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise RequestError(
            f"progress={progress!r} is not possible",
            "use True, False, None, or a function of the share done and a text",
        )


@contextmanager
def reporting(progress: Progress) -> Iterator[Report | None]:
    """Yields the function that is told the share done, 0 to 1, and a text; or None.

    `True` wants a bar, `False` none; `None` wants one in a notebook or on a terminal if tqdm is
    installed; a function is called as it is."""
    if callable(progress):
        yield progress
        return
    if progress is False or (progress is None and not _is_watched()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise LibraryError("progress=True needs tqdm: `pip install tqdm`", "tqdm") from None
        yield None
        return
    form = "{percentage:3.0f} %|{bar}| {elapsed}, {remaining} left {postfix}"
    with tqdm(total=100.0, bar_format=form, leave=False) as bar:

        def report(share: float, text: str) -> None:
            bar.set_postfix_str(text, refresh=False)
            # The share falls when a further experiment begins.
            bar.update(share * 100.0 - bar.n)

        yield report


def _is_watched() -> bool:
    in_notebook = "ipykernel" in sys.modules
    return in_notebook or (sys.stderr is not None and sys.stderr.isatty())
