"""K of each class of ports, and alpha, for a fabric."""

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
    "mtu",
)


class Advice:
    """A marking threshold K for each class of ports of a fabric, with its reasons."""

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
    def k_bytes(self) -> dict[str, int]:
        """The advised K of each class of ports, bytes, by its name, as `leaf-spine`."""
        return {row["name"]: row["k_bytes"] for row in self.details["classes"]}

    @property
    def classes(self) -> Rows:
        """The classes of ports, a row each: K as `k_bytes`, `k_packets` and `k_us`, round trip,
        analysis, bursts (docs/reference/json.md)."""
        listed = ("bracket_bytes", "bracket_loss_ci95", "analysis_bytes", "searched", "tests")
        rows = [
            {name: value for name, value in row.items() if name not in listed}
            for row in self.details["classes"]
        ]
        units = {"line_bps": "bit/s", "k_bytes": "bytes", "k_packets": "packets", "k_us": "us"}
        return Rows(rows, {**units, "rtt_us": "us", "hosts_us": "us", "burst_floor_bytes": "bytes"})

    @property
    def candidates(self) -> Rows:
        """The tables of K under the fabric's traffic, a row each: `name`, the measure that decides
        (`value`) with its interval, `value_least` and `value_most` where cut-off flows could change
        it, `timeouts` and `drops` per run."""
        rows = []
        for row in self.details["candidates"]:
            value = row["value"]
            least, most = value["between"] or (None, None)
            low, high = value["ci95"] or (None, None)
            bounds = {"least": least, "most": most, "low": low, "high": high}
            bounds = {f"value_{name}": bound for name, bound in bounds.items()}
            rows.append({**row, "value": value["value"], **bounds})
            del rows[-1]["k_bytes"]
        unit = self.details["unit"]
        return Rows(rows, {"value": unit} if unit else {})

    @property
    def scenario(self) -> Scenario:
        """The scenario with the advised values."""
        return Scenario.from_text((self._dir / "advised.toml").read_text(), "advised")

    @property
    def svg(self) -> str:
        """The knee figure: utilisation of each class over K, and the measure, SVG."""
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
    for_: str | None = None,
    budget: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
    **fabric: str | int | None,
) -> Advice:
    """Advises K of each class of ports, and alpha, for a fabric under its own traffic, as `lowtide
    advise` does, in another process.

    scenario: a scenario with one scheme and no sweep, or the name of one; default: a leaf-spine
        fabric of the options
    for_: what decides between tables of K: "tail", "throughput" or "queries"; default: the
        question of the scenario, else its queries, else its tail
    budget: CPU seconds that the runs may take; default: 100
    jobs: concurrent runs; default: one per CPU
    progress: as for `Scenario.run`
    fabric: options of the command: racks, hosts_per_rack, hosts ("25G"), up ("100G"), spines,
        buffer ("16 MB"), load ("30 %"), sizes, incast, flows, mtu

    Raises `RequestError` for an option that does not exist or a fabric that cannot be.
    """
    _arguments.known("advise", fabric, ("scenario", "for_", "budget", "jobs", "progress", *_FABRIC))
    for name, value in fabric.items():
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise RequestError(f"{name}={value!r} is no number and no text", 'as hosts="25G"')
    checked(progress)
    if budget is not None:
        budget = _arguments.whole("budget", budget, example=100)
    if jobs is not None:
        jobs = _arguments.whole("jobs", jobs)
    owned = OwnedFolder()
    if for_ is not None:
        for_ = _arguments.text("for_", for_, "tail")
    asked = {**fabric, "for": for_, "budget": budget, "jobs": jobs, "out": str(owned.path)}
    words = options(asked)
    if isinstance(scenario, Scenario):
        path = owned.path / f"{scenario.name}.toml"
        path.write_text(scenario.to_toml())
        words += ["--", str(path)]
    elif scenario is not None:
        words += ["--", _arguments.text("scenario", scenario, '"leaf-spine"')]
    return Advice(answer("advise", *words, progress=progress), owned)
