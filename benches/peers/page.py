"""Formats rows as one page: the table, the ratios, whether the results agree."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from model import Peer, PeerError, Row, Scenario, Tolerance

MEASURED = {"cpu_s", "peak_rss_mib", "runs", "cpu_s_range"}
"""Fields that may differ between runs; all others are deterministic."""


def median(rows: Sequence[Row]) -> Row:
    """Merges runs of one tool on one scenario: median time, maximum memory."""
    first = rows[0]
    for other in rows[1:]:
        for key, value in asdict(first).items():
            if key not in MEASURED and getattr(other, key) != value:
                raise PeerError(
                    f"{first.tool} differs between runs of {first.scenario}: "
                    f"{key} was {value}, then {getattr(other, key)}"
                )
    times = [r.cpu_s for r in rows]
    return replace(
        first,
        cpu_s=statistics.median(times),
        cpu_s_range=(min(times), max(times)),
        runs=len(rows),
        peak_rss_mib=max(r.peak_rss_mib for r in rows),
    )


@dataclass(frozen=True)
class Ratio:
    """Cost of a peer as a multiple of lowtide's."""

    cpu: float
    """CPU time of the whole scenario."""
    cpu_per_hop: float
    memory: float


def ratio(ours: Row, peer: Row) -> Ratio:
    return Ratio(
        cpu=peer.cpu_s / ours.cpu_s,
        cpu_per_hop=ours.hops_per_cpu_s / peer.hops_per_cpu_s,
        memory=peer.peak_rss_mib / ours.peak_rss_mib,
    )


@dataclass(frozen=True)
class Agreement:
    scenario: str
    tool: str
    quantity: str
    ours: float
    peer: float
    bound: str
    agrees: bool


def agreement(bound: Tolerance, ours: Row, peer: Row) -> Agreement:
    a, b = getattr(ours, bound.quantity), getattr(peer, bound.quantity)
    if bound.share is not None:
        allowed, text = bound.share * abs(a), f"{bound.share * 100:g} %"
    elif bound.absolute is not None:
        allowed, text = bound.absolute, f"{bound.absolute:g}"
    else:
        raise PeerError(f"the tolerance of {bound.quantity} has no value")
    return Agreement(
        ours.scenario, peer.tool, bound.quantity, a, b, text, abs(b - a) <= allowed
    )


@dataclass(frozen=True)
class Comparison:
    """Results of one scenario for all tools."""

    scenario: Scenario
    ours: Row
    peers: Sequence[Row]
    matched_runs: Sequence[Row] = ()
    """lowtide again, with each peer's matched settings; one run."""

    def rows(self) -> list[Row]:
        return [self.ours, *self.peers, *self.matched_runs]

    def agreements(self) -> list[Agreement]:
        return [
            agreement(bound, self.ours, peer)
            for peer in self.peers
            for bound in self.scenario.bounds
        ]


def markdown(
    compared: Sequence[Comparison], peers: Sequence[Peer], facts: Mapping[str, str]
) -> str:
    parts = [
        "# lowtide and its peers",
        "\n".join(f"- {key}: {value}" for key, value in facts.items()),
    ]
    for c in compared:
        parts += [f"## {c.scenario.title}", results(c)]
        parts += [sentence(c.ours, peer) for peer in c.peers]
        if c.scenario.remarks:
            parts.append("\n".join(f"- {remark}" for remark in c.scenario.remarks))
    parts += [
        "## Do the results agree?",
        agreements([a for c in compared for a in c.agreements()]),
    ]
    for peer in peers:
        matched = ", ".join(
            f"`{key} = {value}`" for key, value in peer.matched_settings.items()
        )
        parts += [
            f"## Differences in the model of {peer.name}",
            bullets(peer.differences),
        ]
        if matched:
            parts.append(f"`{matched_name(peer.name)}` is our run with {matched}.")
        parts += [
            f"## Reported of {peer.name}, not measured here",
            bullets(peer.reported),
        ]
    return "\n\n".join(parts) + "\n"


def matched_name(peer: str) -> str:
    """Returns the name of lowtide's run with a peer's matched settings."""
    return f"lowtide set like {peer}"


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- nothing"


def results(c: Comparison) -> str:
    header = [
        "",
        "CPU s (min to max)",
        "packet-hops",
        "hops per CPU s",
        "peak MiB",
        "simulated ms",
    ]
    header += ["goodput Gbit/s", "mean queue", "max queue", "marks", "drops", "RTOs"]
    sized = c.ours.fct_mean_ms is not None
    header += ["FCT mean ms", "FCT p99 ms"] if sized else []
    header += ["CPU, times ours", "CPU per hop, times ours"]
    lines = []
    for r in c.rows():
        low, high = r.cpu_s_range or (r.cpu_s, r.cpu_s)
        cells = [
            f"{r.tool} {r.version}",
            f"{r.cpu_s:.2f} ({low:.2f} to {high:.2f})",
            f"{r.hops:,}",
        ]
        cells += [
            f"{r.hops_per_cpu_s:,.0f}",
            f"{r.peak_rss_mib:.0f}",
            f"{r.simulated_s * 1e3:.1f}",
        ]
        cells += [
            f"{r.goodput_gbps:.3f}",
            f"{r.mean_queue_packets:.2f}",
            str(r.max_queue_packets),
        ]
        cells += [f"{r.marks:,}", f"{r.drops:,}", str(r.rtos)]
        cells += [number(r.fct_mean_ms), number(r.fct_p99_ms)] if sized else []
        times = ratio(c.ours, r)
        cells += [f"{times.cpu:.1f}", f"{times.cpu_per_hop:.1f}"]
        lines.append(cells)
    return table(header, lines)


def sentence(ours: Row, peer: Row) -> str:
    times = ratio(ours, peer)
    return (
        f"{peer.tool} takes {times.cpu:.0f} times the CPU time of {ours.tool} for this scenario, "
        f"{times.cpu_per_hop:.0f} times for each packet-hop, and {times.memory:.1f} times the memory."
    )


def agreements(found: Sequence[Agreement]) -> str:
    header = [
        "scenario",
        "peer",
        "quantity",
        "lowtide",
        "peer has",
        "difference",
        "within",
        "",
    ]
    lines = []
    for a in found:
        share = f" ({(a.peer - a.ours) / a.ours * 100:+.2f} %)" if a.ours else ""
        cells = [a.scenario, a.tool, a.quantity, f"{a.ours:.6g}", f"{a.peer:.6g}"]
        cells += [
            f"{a.peer - a.ours:+.4g}{share}",
            a.bound,
            "agrees" if a.agrees else "**differs**",
        ]
        lines.append(cells)
    return table(header, lines)


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|" + "---|" * len(header)
    return "\n".join(
        [
            "| " + " | ".join(header) + " |",
            rule,
            *("| " + " | ".join(c) + " |" for c in lines),
        ]
    )


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def to_json(compared: Sequence[Comparison], facts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the comparisons as an object for JSON."""
    rows = []
    for c in compared:
        for r in c.rows():
            cell = {**asdict(r), "hops_per_cpu_s": r.hops_per_cpu_s}
            rows.append({**cell, "times_ours": asdict(ratio(c.ours, r))})
    agreed = [asdict(a) for c in compared for a in c.agreements()]
    return {
        "schema": "lowtide.peers/1",
        "facts": dict(facts),
        "rows": rows,
        "agreement": agreed,
    }
