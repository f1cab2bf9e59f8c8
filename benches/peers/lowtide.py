"""lowtide itself: runs a scenario and reads the job for the peers from its tables."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
from model import Flow, Job, Link, PeerError, Row, Scenario
from units import TIME_PS, whole

NAME = "lowtide"


@dataclass(frozen=True)
class Lowtide:
    binary: Path
    root: Path
    """Root of the repository, for scenario files."""

    @staticmethod
    def find(named: Path | None, root: Path) -> Lowtide:
        """Returns the named binary, or the release build."""
        binary = named or root / "target" / "release" / "lowtide"
        if not binary.is_file():
            raise PeerError(
                f"there is no lowtide at {binary}: build it with `cargo build --release`, "
                "or name a release binary with --lowtide PATH"
            )
        return Lowtide(binary.resolve(), root)

    def version(self) -> str:
        return measure.run([self.binary, "--version"]).stdout.split()[-1]

    def run(
        self, scenario: Scenario, settings: Mapping[str, str], version: str, work: Path
    ) -> tuple[Row, Path]:
        """Runs once; returns the row, and the run directory for `job`."""
        directory = work / "run"
        command: list[str | Path] = [
            self.binary,
            "--json",
            "--quiet",
            "run",
            self.root / scenario.file,
            # Peers are single-threaded; a second thread would take more CPU time in total.
            "-j",
            "1",
        ]
        for key, value in settings.items():
            command += ["-s", f"{key}={value}"]
        usage = measure.run([*command, "-o", directory])
        answer = json.loads(usage.stdout)
        if len(answer["runs"]) != 1:
            raise PeerError(
                f"{scenario.file} makes {len(answer['runs'])} runs; a comparison needs one"
            )
        return row(
            scenario,
            version,
            answer["runs"][0],
            self.table(directory, "runs")[0],
            usage,
        ), directory

    def job(self, scenario: Scenario, directory: Path) -> Job:
        """Returns the job that corresponds to the run in `directory`."""
        files = sorted((directory / "resolved").glob("*.toml"))
        resolved = tomllib.loads(files[0].read_text(encoding="utf-8"))
        flows = self.table(directory, "flows")
        return Job(
            scenario=scenario,
            resolved=resolved,
            hosts=host_names(resolved),
            links=links(
                self.table(directory, "links"), link_delay_ps(resolved["topology"])
            ),
            flows=[flow(f) for f in flows],
            mss_bytes=int(flows[0]["mss_bytes"]),
        )

    def table(self, directory: Path, name: str) -> list[dict[str, str]]:
        text = measure.run(
            [self.binary, "--quiet", "table", directory, name, "--csv"]
        ).stdout
        return list(csv.DictReader(io.StringIO(text)))


def row(
    scenario: Scenario,
    version: str,
    run: Mapping[str, Any],
    counts: Mapping[str, str],
    usage: measure.ResourceUsage,
) -> Row:
    """Builds the row from `run --json`, the table `runs` and the resource usage."""
    if len(run["groups"]) != 1:
        raise PeerError(
            f"{scenario.file} has {len(run['groups'])} groups of flows; a comparison needs one"
        )
    group = run["groups"][0]
    if group["unfinished"] or group["failed"]:
        raise PeerError(
            f"{scenario.file}: flows did not complete; give the run more time"
        )
    watched = [q for q in run["queues"] if scenario.queue in (None, q["name"])]
    if not watched:
        raise PeerError(f"{scenario.file} has no queue {scenario.queue}")
    return Row(
        scenario=scenario.name,
        tool=NAME,
        version=version,
        cpu_s=usage.cpu_s,
        peak_rss_mib=usage.peak_rss_mib,
        simulated_s=run["ended_ms"] / 1e3,
        hops=int(counts["hops"]),
        events=int(counts["events"]),
        goodput_gbps=group["goodput_mbps"] / 1e3,
        mean_queue_packets=sum(q["mean_packets"] for q in watched) / len(watched),
        max_queue_packets=max(q["max_packets"] for q in watched),
        marks=sum(q["marks"] for q in run["queues"]),
        drops=sum(q["overflow_drops"] + q["aqm_drops"] for q in run["queues"]),
        rtos=group["rto_count"],
        fct_mean_ms=group["fct_ms"]["mean"],
        fct_p99_ms=group["fct_ms"]["p99"],
    )


def host_names(resolved: Mapping[str, Any]) -> list[str]:
    return [
        f"{group}.{i}"
        for group, keys in resolved["hosts"].items()
        for i in range(keys["count"])
    ]


def link_delay_ps(topology: Mapping[str, Any]) -> int:
    """Returns the delay of all links: the tables lack it, so it must be equal for all."""
    delays = {
        key: whole(value, TIME_PS)
        for key, value in topology.items()
        if key.endswith("-delay")
    }
    if len(set(delays.values())) != 1:
        raise PeerError(
            f"peers do not support links of different delays yet: {delays}"
        )
    return next(iter(delays.values()))


def links(rows: Sequence[Mapping[str, str]], delay_ps: int) -> list[Link]:
    """Reads the table `links`, which has a row for each direction."""
    found: dict[frozenset[str], Link] = {}
    for r in rows:
        a, b = r["name"].split("->")
        link = Link(a, b, int(r["rate_bps"]), delay_ps)
        other = found.setdefault(frozenset((a, b)), link)
        if other != link and other != Link(b, a, link.rate_bps, delay_ps):
            raise PeerError(f"the link {r['name']} is duplicated, or has two rates")
    return list(found.values())


def flow(r: Mapping[str, str]) -> Flow:
    size = int(r["size_bytes"]) if r["size_bytes"] else None
    return Flow(r["src"], r["dst"], size, int(r["start_ps"]))
