"""The papers' experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _arguments
from ._command import answer, options
from ._files import OwnedFolder
from ._progress import Progress, checked
from ._result import Result, load
from ._rows import Rows


class Reproduction:
    """The claims of a paper's experiment, judged by our runs."""

    def __init__(self, details: dict[str, Any], directory: Path, owned: OwnedFolder | None) -> None:
        """Use `lt.reproduce`."""
        self.details: dict[str, Any] = details
        """The whole answer of `lowtide --json papers reproduce` (docs/reference/json.md)."""
        self.dir: Path = directory
        """The directory with the runs and the page `reproduction.html`."""
        self._owned = owned

    @property
    def claims(self) -> Rows:
        """The claims, a row each: `says` (the paper's statement), `reported` and `measured` with
        its interval `ci95`, in the `unit` of the row; `verdict`, and its `reason`."""
        return Rows(self.details["claims"])

    @property
    def results(self) -> list[Result]:
        """The results of the experiments, in the order of their names."""
        found = sorted(path.parent for path in self.dir.glob("*/*/manifest.json"))
        results = [load(path) for path in found]
        for result in results:
            # A temporary directory lives as long as one of its results.
            result._owned = self._owned
        return results

    def __repr__(self) -> str:
        lines = [f"{claim['id']}: {claim['verdict']}" for claim in self.details["claims"]]
        return "\n".join(lines)


def reproduce(
    name: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Runs a paper's experiment and judges the paper's claims, as `lowtide papers reproduce` does,
    in another process.

    name: an experiment ("dctcp-fig18"), a paper ("od"), or a file of your own
    quick: the reduced form, which may leave claims undecided; the full form takes minutes to hours
    seeds: number of seeds; default: that of the experiment
    out: directory of the runs; finished ones are kept. Default: a temporary directory
    jobs: concurrent runs; default: one per CPU
    progress: as for `Scenario.run`

    Raises `RequestError` for an unknown experiment, with the nearest names.
    """
    name = _arguments.text("name", name, '"dctcp-fig19"')
    checked(progress)
    if seeds is not None:
        seeds = _arguments.whole("seeds", seeds)
    if jobs is not None:
        jobs = _arguments.whole("jobs", jobs)
    owned = None
    if out is None:
        owned = OwnedFolder()
        out = owned.path
    words = options({"seeds": seeds, "jobs": jobs, "out": _arguments.path("out", out)})
    if quick:
        words.append("--quick")
    details = answer("papers", "reproduce", *words, "--", name, progress=progress)
    return Reproduction(details, Path(out), owned)
