"""Results of a scenario: tables, percentiles, comparisons, figures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _arguments, _lowtide
from ._figure import Figure
from ._files import OwnedFolder
from ._rows import Rows
from ._table import Table
from .errors import RequestError

if TYPE_CHECKING:
    import pandas
    import polars

# Percentiles of the tools, with their names in its JSON.
_PERCENTILES = {0.5: "p50", 0.95: "p95", 0.99: "p99", 0.999: "p999"}
_METRICS = ("slowdown", "fct_ms", "qct_ms")
# Columns of an estimate, and of a ratio.
_ESTIMATE = ["value", "least", "most", "low", "high", "seeds_low", "seeds_high"]
_RATIO = ["ratio", "ratio_low", "ratio_high", "ratio_seeds_low", "ratio_seeds_high", "verdict"]
# Columns of results without rows.
_SUMMARY = ["scheme", "of", "class", "metric", "unit", *_ESTIMATE, "note", "seeds"]
_TAILS = ["scheme", "group", "size", "size_bytes", "q", *_ESTIMATE, "unit", "flows"]
_COMPARISONS = ["a_scheme", "b_scheme", "group", "size", "metric", "statistic", "unit", *_RATIO]


class Comparison:
    """Two schemes, or two results, compared seed by seed."""

    def __init__(self, rows: list[dict[str, Any]], only_a: list[str], only_b: list[str]) -> None:
        self.rows: list[dict[str, Any]] = rows
        """One mapping per metric: `a` and `b` in the `unit` of the row, with `a_least` to `a_most`
        where cut-off flows could change a value; `ratio` (b / a, paired by seed) with its 95 %
        interval `ratio_low` to `ratio_high`, or, of two to four seeds, their least and greatest
        ratio, `ratio_seeds_low` to `ratio_seeds_high`; `verdict` about B (better, worse, same,
        undecided; None if the values differ and neither direction is better); `note`, the reason of
        an absent value or interval; `pairs` of seeds."""
        self.only_a: list[str] = only_a
        """Runs of A without a partner."""
        self.only_b: list[str] = only_b
        """Runs of B without a partner."""

    def pandas(self) -> pandas.DataFrame:
        """Returns the rows as a pandas data frame."""
        return Rows(self.rows).pandas()

    def polars(self) -> polars.DataFrame:
        """Returns the rows as a polars data frame."""
        return Rows(self.rows).polars()

    def _repr_html_(self) -> str:
        return Rows(self.rows)._repr_html_()

    def __repr__(self) -> str:
        def line(row: dict[str, Any]) -> str:
            of = ", ".join(filter(None, (*_point(row).values(), row["of"], row["class"])))
            a, b = (_value(row, side) for side in ("a", "b"))
            return (
                f"{of}: {row['metric']} {a} against {b} {row['unit']}".rstrip()
                + f", {row['verdict'] or 'differs'}"
            )

        return "\n".join(map(line, self.rows))


class Result:
    """A complete run directory. In a notebook it shows its verdict and first figure.

    Every table is an attribute: `r.flows`, `r.queues`; `r.tables` has all by name. Without `out`
    the directory is temporary and lives as long as the result.
    """

    def __init__(
        self,
        native: _lowtide.Experiment,
        owned: OwnedFolder | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Use `Scenario.run` or `lt.load`."""
        self._native = native
        # Removes the directory when the result is collected.
        self._owned = owned
        self._notes = list(notes)

    @property
    def dir(self) -> Path:
        """The run directory; `report.html` in it is the report."""
        return Path(self._native.dir)

    @property
    def digest(self) -> str:
        """Digest of all runs: equal for equal packets, and that of the command."""
        return self._native.digest

    @property
    def manifest(self) -> dict[str, Any]:
        """The content of `manifest.json`: scenario, schemes, points, seeds, version, files."""
        manifest: dict[str, Any] = json.loads(self._native.manifest())
        return manifest

    @property
    def verdict(self) -> str:
        """The headline: the answer to the question of the scenario, how the other schemes compare
        with the first, and who pays; empty with one scheme. `comparisons()` has its numbers."""
        return "\n".join(self._native.verdict())

    @property
    def findings(self) -> list[str]:
        """Sentences that a reader must know before the numbers."""
        return self._native.findings() + self._notes

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the schemes: the name, and the transports that differ from it."""
        return self._native.labels()

    @property
    def tables(self) -> dict[str, Table]:
        """All tables by name."""
        return {name: Table(self, name) for name in self._native.tables()}

    def table(self, name: str) -> Table:
        """Returns a table.

        Raises `RequestError` for a table that the directory does not have, with the reason.
        """
        self._native.columns(_arguments.text("name", name, '"flows"'))
        return Table(self, name)

    @property
    def runs(self) -> Table:
        """One row per run."""
        return self.table("runs")

    @property
    def flows(self) -> Table:
        """One row per flow: sizes, times, retransmissions."""
        return self.table("flows")

    @property
    def queries(self) -> Table:
        """One row per query; only of scenarios with query clients."""
        return self.table("queries")

    @property
    def queues(self) -> Table:
        """One row per queue of a port: packets, marks, drops, percentiles of its length."""
        return self.table("queues")

    @property
    def queue_levels(self) -> Table:
        """The time that each queue spent at each length."""
        return self.table("queue_levels")

    @property
    def queue_samples(self) -> Table:
        """Lengths of queues over time (`probes.interval`)."""
        return self.table("queue_samples")

    @property
    def links(self) -> Table:
        """One row per link: bytes, utilisation."""
        return self.table("links")

    @property
    def probes(self) -> Table:
        """Senders over time: cwnd, RTT (`probes.interval`)."""
        return self.table("probes")

    @property
    def variables(self) -> Table:
        """Variables of congestion controls over time: alpha, bandwidth, target delay."""
        return self.table("variables")

    def summary(self) -> Rows:
        """Returns every metric of groups, queues and runs, over seeds, in the `unit` of the row.

        A percentile of times is that of the flows of all seeds; any other metric has a value per
        seed, and `value` is their mean. `low` to `high` is its 95 % interval. Two to four seeds
        have their range instead, `seeds_low` to `seeds_high`. `least` and `most` are the values if
        every cut-off flow ended now, and if none ever ended. `note` is the reason of an absent
        value or interval.
        """
        rows = []
        for row in json.loads(self._native.summary()):
            rows.append(
                {
                    "scheme": row["scheme"],
                    **row["point"],
                    **_subject(row),
                    **_estimate(row),
                    "note": row["note"],
                    "seeds": row["seeds"],
                    "seed_independent": row["seed_independent"],
                }
            )
        return Rows(rows, columns=_SUMMARY)

    def slowdown(
        self, by: str | None = "size", q: Sequence[float] = (0.5, 0.95, 0.99, 0.999)
    ) -> Rows:
        """Returns percentiles of the slowdown: completion time over the time on an idle network.

        As `tails("slowdown", by, q)`.
        """
        return self.tails("slowdown", by, q)

    def tails(
        self,
        metric: str = "slowdown",
        by: str | None = "size",
        q: Sequence[float] = (0.5, 0.95, 0.99, 0.999),
    ) -> Rows:
        """Returns percentiles of all seeds' flows together, as the report has them.

        metric: "slowdown" (a ratio), "fct_ms" (completion times of flows, ms), "qct_ms" (of
            queries)
        by: "size" for a row per size class, None for all flows of a group
        q: of 0.5, 0.95, 0.99, 0.999

        `value` is the percentile, `low` to `high` its 95 % interval over seeds; the others are as
        in `summary()`. `flows`, `unfinished` and `failed` are counts of all seeds. An unfinished
        flow counts with at least its age; a failed one never ends.
        """
        _arguments.one_of("metric", metric, _METRICS)
        if by not in ("size", None):
            raise RequestError(f"by={by!r} is not possible", 'use by="size" or by=None')
        if isinstance(q, float | int) and not isinstance(q, bool):
            raise RequestError(f"q={q} is one number where a list belongs", f"write q=[{q}]")
        q = _arguments.items("q", q, "[0.5, 0.99]")
        for p in q:
            if isinstance(p, bool) or not isinstance(p, float | int) or p not in _PERCENTILES:
                known = ", ".join(map(str, _PERCENTILES))
                raise RequestError(f"q has {p!r}, which is not computed", f"use {known}")
        found = [row for row in json.loads(self._native.tails()) if row["metric"] == metric]
        classes = {row["group"] for row in found if row["class"] is not None}
        rows = []
        for row in found:
            # A group without size classes has flows of one size, or counts as one class.
            if by is None and row["class"] is not None:
                continue
            if by == "size" and row["class"] is None and row["group"] in classes:
                continue
            for p in q:
                quantile = row[_PERCENTILES[p]]
                rows.append(
                    {
                        "scheme": row["scheme"],
                        **row["point"],
                        "group": row["group"],
                        "size": row["class"],
                        "size_bytes": row["size_bytes"],
                        "q": p,
                        **_estimate(quantile),
                        "unit": row["unit"],
                        "flows": row["flows"],
                        "unfinished": row["unfinished"],
                        "failed": row["failed"],
                        "seeds": row["seeds"],
                        "note": quantile["note"],
                    }
                )
        unit = "ms" if metric.endswith("_ms") else ""
        units = {name: unit for name in _ESTIMATE if unit}
        return Rows(rows, {**units, "size_bytes": "bytes"}, _TAILS)

    def comparisons(self) -> Rows:
        """Returns the comparisons of the headline: each scheme `b_scheme` with the first,
        `a_scheme`, in every percentile of times that is judged, and in the goodput of flows without
        a size.

        `ratio` is b / a; the columns are those of `compare(a, b).rows`, and `sentence` says them.
        All verdicts are one family, which contains a false one in at most 5 % of experiments. Empty
        with one scheme.
        """
        rows = []
        for row in json.loads(self._native.comparisons()):
            a, b = row["schemes"]
            rows.append(
                {
                    "a_scheme": a,
                    "b_scheme": b,
                    **row["point"],
                    "group": row["group"],
                    "size": row["class"],
                    "metric": row["metric"],
                    "statistic": row["statistic"],
                    "unit": row["unit"],
                    **_compared(row),
                    "sentence": row["sentence"],
                }
            )
        return Rows(rows, columns=_COMPARISONS)

    def compare(
        self,
        a: str,
        b: str | None = None,
        other: Result | None = None,
        *,
        metrics: Sequence[str] = (),
        queues: Sequence[str] = (),
        same_within: float = 0.01,
    ) -> Comparison:
        """Compares two schemes seed by seed, as `lowtide compare --pair A=B` does.

        a: a scheme of this result
        b: a scheme of `other`; default: the same
        other: other results; default: these
        metrics: names as in `summary()`, or "all"; default: the usual ones
        queues: names of queues; default: the longest of A
        same_within: ratios from the inverse of one and this, to one and this, are "same"

        Raises `RequestError` for an unknown scheme, metric or queue.
        """
        a = _arguments.text("a", a, '"dctcp"')
        b = a if b is None else _arguments.text("b", b, '"dctcp"')
        if other is not None and not isinstance(other, Result):
            raise RequestError(
                f"other={other!r} is no result", "give one of Scenario.run or lt.load"
            )
        within = _arguments.number("same_within", same_within, "write same_within=0.01")
        if not 0 <= within < 1:
            raise RequestError(f"same_within={same_within} is no share", "use 0 or more, below 1")
        other = other or self
        if metrics == "all":
            metrics = ["all"]
        text = self._native.compare(
            other._native,
            [(a, b)],
            _arguments.names("metrics", metrics, "flow_rate"),
            _arguments.names("queues", queues, "switch0->receivers.0"),
            within,
        )
        found = json.loads(text)
        rows = []
        for row in found["rows"]:
            if row["scheme"] != a:
                continue
            rows.append(
                {**row["point"], **_subject(row), **_compared(row), "pairs": row["pairs"]}
            )
        of_a = [run for run in found["only_a"] if run.startswith(f"{a}, ")]
        of_b = [run for run in found["only_b"] if run.startswith(f"{b}, ")]
        return Comparison(rows, of_a, of_b)

    @property
    def figures(self) -> dict[str, Figure]:
        """All figures by name, in the order of the report."""
        return {name: Figure(self, name, *more) for name, *more in self._native.figures()}

    def figure(self, name: str) -> Figure:
        """Returns a figure.

        name: of `figures`, or its first words: "slowdown" is the first figure of the report whose
            name starts with `slowdown-`

        Raises `RequestError` for an unknown name, with the names.
        """
        figures = self.figures
        name = _arguments.text("name", name, '"slowdown"')
        if name in figures:
            return figures[name]
        for full, figure in figures.items():
            if full.startswith(f"{name}-"):
                return figure
        raise RequestError(
            f"no figure is named `{name}`", f"the figures are {', '.join(figures) or 'none'}"
        )

    def report(self) -> Path:
        """Returns the path of the report, a page that needs no server."""
        return self.dir / "report.html"

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(line)}</p>" for line in self._native.verdict()]
        parts += [f"<p>{escape(line)}</p>" for line in self.findings]
        first = next(iter(self.figures.values()), None)
        if first is not None:
            parts.append(
                f"<figure>{first.svg}<figcaption>{escape(first.title)}</figcaption></figure>"
            )
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reads the directory, which this one owns if it is temporary.
        return (load, (str(self.dir.absolute()),))

    def __repr__(self) -> str:
        manifest = self.manifest
        schemes = ", ".join(self.labels.values())
        # A temporary name would differ in each execution of a notebook.
        place = self.dir if self._owned is None else "a temporary directory"
        return (
            f"<lowtide.Result {manifest['scenario']}: {len(manifest['runs'])} runs of {schemes}, "
            f"digest {self.digest}, in {place}>"
        )


def load(directory: str | os.PathLike[str]) -> Result:
    """Opens a complete run directory of `Scenario.run`, `lowtide run` or `lowtide matrix`.

    Raises `RunError` if it is not complete or damaged, with the command that continues it.
    """
    return Result(_lowtide.load(_arguments.path("directory", directory)))


def _subject(row: dict[str, Any]) -> dict[str, Any]:
    """What a metric is about: group, queue or pool, its class, the metric, its unit."""
    of = row.get("group") or row.get("queue") or row.get("buffer_pool") or "run"
    return {"of": of, "class": row.get("class"), "metric": row["metric"], "unit": row["unit"]}


def _estimate(of: dict[str, Any]) -> dict[str, Any]:
    """The columns of an estimate."""
    return dict(
        zip(
            _ESTIMATE, (of["value"], *_ends(of, "between", "ci95", "seed_range")), strict=True
        )
    )


def _compared(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a comparison."""
    columns: dict[str, Any] = {}
    for side in ("a", "b"):
        columns[side] = row[side]["value"]
        columns[f"{side}_least"], columns[f"{side}_most"] = _ends(row[side], "between")
    ratio = (row["ratio"], *_ends(row, "ratio_ci95", "ratio_seed_range"), row["verdict"])
    absent = [row[side]["note"] for side in ("a", "b") if row[side]["value"] is None]
    return {**columns, **dict(zip(_RATIO, ratio, strict=True)), "note": (*absent, row["ratio_note"])[0]}


def _ends(of: dict[str, Any], *names: str) -> list[float | None]:
    """Both ends of each range, None for an absent one."""
    return [end for name in names for end in of[name] or (None, None)]


def _point(row: dict[str, Any]) -> dict[str, str]:
    """The swept keys of a row of a comparison, which are its first columns."""
    return dict(list(row.items())[: list(row).index("of")])


def _value(row: dict[str, Any], side: str) -> str:
    """A value, or its bounds."""
    value, least, most = (row[name] for name in (side, f"{side}_least", f"{side}_most"))
    if value is not None or least is None:
        return _short(value)
    return f"at least {_short(least)}" if most is None else f"{_short(least)} to {_short(most)}"


def _short(value: Any) -> str:
    """Four significant digits of a number."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
