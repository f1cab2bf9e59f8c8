"""Names that users choose from."""

from __future__ import annotations

from . import _lowtide


def scenarios() -> dict[str, str]:
    """Returns the embedded scenarios: names with titles, as `lowtide list scenarios`."""
    return dict(_lowtide.scenarios())


def schemes() -> dict[str, str]:
    """Returns the schemes: names with summaries, as `lowtide list schemes`."""
    return dict(_lowtide.schemes())
