"""Types of scenarios, peers and results. A new peer or scenario needs only this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class PeerError(Exception):
    """A dependency is missing or a step failed; the text says what to do."""


@dataclass(frozen=True)
class Tolerance:
    """Maximum difference between a peer and lowtide in one quantity (a field of `Row`)."""

    quantity: str
    share: float | None = None
    """As a share of lowtide's value."""
    absolute: float | None = None
    """In the unit of the quantity."""


@dataclass(frozen=True)
class Scenario:
    """One of lowtide's scenario files, with overrides for a comparison."""

    name: str
    title: str
    file: str
    """Path from the root of the repository."""
    full: Mapping[str, str]
    """Overrides, as of `lowtide run -s`."""
    quick: Mapping[str, str]
    """Overrides of the quick mode."""
    queue: str | None
    """Queue to measure, `switch0->switch1`; None: the mean over all ports of switches."""
    bounds: Sequence[Tolerance]
    remarks: Sequence[str] = ()
    """Notes for readers of the numbers."""

    def settings(self, quick: bool) -> Mapping[str, str]:
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Link:
    """A link with equal directions."""

    a: str
    b: str
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Flow:
    source: str
    destination: str
    size_bytes: int | None
    """None: unlimited."""
    start_ps: int


@dataclass(frozen=True)
class Job:
    """A scenario in full: a peer builds and runs it. Derived from lowtide's run."""

    scenario: Scenario
    resolved: Mapping[str, Any]
    """The scenario file with every default filled in (`resolved/*.toml`)."""
    hosts: Sequence[str]
    links: Sequence[Link]
    flows: Sequence[Flow]
    mss_bytes: int


@dataclass(frozen=True)
class Row:
    """Result of one tool for one scenario. Goodput, queues, marks and drops exclude the warm-up."""

    scenario: str
    tool: str
    version: str
    cpu_s: float
    """CPU seconds, user and system, of the whole process: start, run, results."""
    peak_rss_mib: float
    simulated_s: float
    hops: int
    """Packets fully serialised by an output queue, hosts and ACKs included, in the whole run."""
    events: int
    goodput_gbps: float
    mean_queue_packets: float
    """Time average, without the packet in transmission."""
    max_queue_packets: int
    marks: int
    drops: int
    rtos: int
    fct_mean_ms: float | None = None
    """From the application's open to the delivery of the last byte."""
    fct_p99_ms: float | None = None
    runs: int = 1
    """Number of runs; `cpu_s` is their median and `cpu_s_range` the extremes."""
    cpu_s_range: tuple[float, float] | None = field(default=None)

    @property
    def hops_per_cpu_s(self) -> float:
        return self.hops / self.cpu_s


class Peer(Protocol):
    """Another simulator: a file in `peers/` with an instance named `PEER`."""

    name: str
    differences: Sequence[str]
    """Differences between its model and lowtide's, and their effects."""
    matched_settings: Mapping[str, str]
    """Overrides of lowtide that remove these differences as far as possible. An extra run with them
    shows whether they are the cause."""
    reported: Sequence[str]
    """Results that others measured; printed as such."""

    def install(self, cache: Path) -> str:
        """Installs it below `cache` if needed; returns its version."""
        ...

    def run(self, job: Job, work: Path) -> Row:
        """Runs it once. `work` is an empty folder that is deleted afterwards."""
        ...
