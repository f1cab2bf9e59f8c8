"""K and alpha for a fabric."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._command import answer, options
from ._command import run as run_command
from ._frame import frame
from ._progress import Progress
from ._scenario import Scenario

if TYPE_CHECKING:
    import pandas


class Advice:
    """A marking threshold K for a fabric, with its reasons."""

    def __init__(self, details: dict[str, Any], owned: tempfile.TemporaryDirectory[str]) -> None:
        """Use `lt.advise`."""
        self.details: dict[str, Any] = details
        """The whole answer of `lowtide --json advise` (docs/reference/json.md)."""
        self._owned = owned
        self._dir = Path(owned.name)

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
    def candidates(self) -> pandas.DataFrame | list[dict[str, Any]]:
        """The candidates for K, a row each: `k_packets`, `k_bytes`, 99th percentile of the
        slowdown of short flows (`p99`) with its interval, `utilisation`, `timeouts` and `drops` per
        run.
        Without pandas a list of mappings."""
        rows = []
        for row in self.details["candidates"]:
            low, high = row["p99"]["ci95"] or (None, None)
            rows.append({**row, "p99": row["p99"]["value"], "p99_low": low, "p99_high": high})
            del rows[-1]["p999"]
        return frame(rows, {"k_packets": "packets", "k_bytes": "bytes", "query_p99_ms": "ms"})

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
            "figure", str(self._dir), "knee", f"--width={width}", f"--out={os.fspath(path)}"
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
    owned = tempfile.TemporaryDirectory(prefix="lowtide-")
    words = options({**fabric, "budget": budget, "jobs": jobs, "out": owned.name})
    if isinstance(scenario, Scenario):
        path = Path(owned.name) / f"{scenario.name}.toml"
        path.write_text(scenario.to_toml())
        words += ["--", str(path)]
    elif scenario is not None:
        words += ["--", scenario]
    return Advice(answer("advise", *words, progress=progress), owned)
