"""K and alpha for a fabric."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _arguments
from ._command import answer, options
from ._command import run as run_command
from ._files import OwnedFolder
from ._progress import Progress, checked
from ._rows import Rows
from ._scenario import Scenario
from .errors import RequestError

# Options of the fabric.
_FABRIC = (
    "racks",
    "hosts_per_rack",
    "hosts",
    "up",
    "spines",
    "buffer",
    "load",
    "sizes",
    "incast",
    "flows",
)


class Advice:
    """A marking threshold K for a fabric, with its reasons."""

    def __init__(self, details: dict[str, Any], owned: OwnedFolder) -> None:
        """Use `lt.advise`."""
        self.details: dict[str, Any] = details
        """The whole answer of `lowtide --json advise` (docs/reference/json.md)."""
        self._owned = owned
        self._dir = owned.path

    @property
    def sentences(self) -> list[str]:
        """The advice in words, the answer first."""
        sentences: list[str] = self.details["sentences"]
        return sentences

    @property
    def k_packets(self) -> int:
        """The advised K, packets of 1500 bytes."""
        k: int = self.details["candidates"][self.details["advised"]]["k_packets"]
        return k

    @property
    def candidates(self) -> Rows:
        """The candidates for K, a row each: `k_packets`, `k_bytes`, 99th percentile of the
        slowdown of short flows (`p99`) with its interval, `p99_least` and `p99_most` where cut-off
        flows could change it, `utilisation`, `timeouts` and `drops` per run."""
        rows = []
        for row in self.details["candidates"]:
            p99 = row["p99"]
            least, most = p99["between"] or (None, None)
            low, high = p99["ci95"] or (None, None)
            bounds = {"p99_least": least, "p99_most": most, "p99_low": low, "p99_high": high}
            rows.append({**row, "p99": p99["value"], **bounds})
            del rows[-1]["p999"]
        return Rows(rows, {"k_packets": "packets", "k_bytes": "bytes", "query_p99_ms": "ms"})

    @property
    def scenario(self) -> Scenario:
        """The scenario with the advised values."""
        return Scenario.from_text((self._dir / "advised.toml").read_text(), "advised")

    @property
    def svg(self) -> str:
        """The knee figure: tail and utilisation over K, SVG."""
        return (self._dir / "knee.svg").read_text()

    def save_figure(self, path: str | os.PathLike[str], width: str = "3.3in") -> Path:
        """Writes the knee figure for a paper: .pdf, .svg or .png. Returns its path."""
        run_command(
            "figure",
            str(self._dir),
            "knee",
            f"--width={_arguments.text('width', width, '3.3in')}",
            f"--out={_arguments.path('path', path)}",
            renamed={"out": "path"},
        )
        return Path(path)

    def _repr_html_(self) -> str:
        from html import escape

        return "".join(f"<p>{escape(line)}</p>" for line in self.sentences) + self.svg

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


def advise(
    scenario: Scenario | str | None = None,
    *,
    budget: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **fabric: str | int | None,
) -> Advice:
    """Advises K and alpha for a fabric under its own traffic, as `lowtide advise` does, in another
    process.

    scenario: a scenario with one scheme and no sweep, or the name of one; default: a leaf-spine
        fabric of the options
    budget: CPU seconds that the runs may take; default: 240
    jobs: concurrent runs; default: one per CPU
    progress: as for `Scenario.run`
    fabric: options of the command: racks, hosts_per_rack, hosts ("25G"), up ("100G"), spines,
        buffer ("16 MB"), load ("30 %"), sizes, incast, flows

    Raises `RequestError` for an option that does not exist or a fabric that cannot be.
    """
    _arguments.known("advise", fabric, ("scenario", "budget", "jobs", "progress", *_FABRIC))
    for name, value in fabric.items():
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise RequestError(f"{name}={value!r} is no number and no text", 'as hosts="25G"')
    checked(progress)
    if budget is not None:
        budget = _arguments.whole("budget", budget, example=240)
    if jobs is not None:
        jobs = _arguments.whole("jobs", jobs)
    owned = OwnedFolder()
    words = options({**fabric, "budget": budget, "jobs": jobs, "out": str(owned.path)})
    if isinstance(scenario, Scenario):
        path = owned.path / f"{scenario.name}.toml"
        path.write_text(scenario.to_toml())
        words += ["--", str(path)]
    elif scenario is not None:
        words += ["--", _arguments.text("scenario", scenario, '"leaf-spine"')]
    return Advice(answer("advise", *words, progress=progress), owned)
