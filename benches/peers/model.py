"""What a scenario, a peer and a result are. A new peer or scenario needs nothing but this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class PeerError(Exception):
    """Something is missing or went wrong; the text says what to do about it."""


@dataclass(frozen=True)
class Tolerance:
    """How far a peer may be from ours in one quantity (a field of `Row`) where the models agree."""

    quantity: str
    share: float | None = None
    """Of ours."""
    absolute: float | None = None
    """In the unit of the quantity."""


@dataclass(frozen=True)
class Scenario:
    """One of lowtide's scenario files, with what is set for a comparison."""

    name: str
    title: str
    file: str
    """Path from the root of the repository."""
    full: Mapping[str, str]
    """Keys to set, as with `lowtide run -s`."""
    quick: Mapping[str, str]
    """The same for the quick mode."""
    queue: str | None
    """The queue to look at, `switch0->switch1`; None: the mean over all ports of switches."""
    bounds: Sequence[Tolerance]
    remarks: Sequence[str] = ()
    """What to know when reading the numbers."""

    def settings(self, quick: bool) -> Mapping[str, str]:
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Link:
    """A link, both directions alike."""

    a: str
    b: str
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class Flow:
    source: str
    destination: str
    size_bytes: int | None
    """None: without end."""
    start_ps: int


@dataclass(frozen=True)
class Job:
    """A scenario spread out: what a peer has to build and run. Comes from our own run of it."""

    scenario: Scenario
    resolved: Mapping[str, Any]
    """The scenario file with every default filled in (`resolved/*.toml`)."""
    hosts: Sequence[str]
    links: Sequence[Link]
    flows: Sequence[Flow]
    mss_bytes: int


@dataclass(frozen=True)
class Row:
    """What one tool did with one scenario. Goodput, queues, marks and drops count after the warm-up."""

    scenario: str
    tool: str
    version: str
    cpu_s: float
    """Processor seconds, user and system, of the whole process: start, run, results."""
    peak_rss_mib: float
    simulated_s: float
    hops: int
    """Packets fully serialised by one output queue, hosts' own and ACKs included, whole run."""
    events: int
    goodput_gbps: float
    mean_queue_packets: float
    """Over time, without the packet on the line."""
    max_queue_packets: int
    marks: int
    drops: int
    rtos: int
    fct_mean_ms: float | None = None
    """From the application's open to the last byte delivered."""
    fct_p99_ms: float | None = None
    runs: int = 1
    """How often it ran; `cpu_s` is then the median and `cpu_s_range` the extremes."""
    cpu_s_range: tuple[float, float] | None = field(default=None)

    @property
    def hops_per_cpu_s(self) -> float:
        return self.hops / self.cpu_s


class Peer(Protocol):
    """Another simulator. A file in `peers/` with one of these as `PEER` is all it takes."""

    name: str
    differences: Sequence[str]
    """Where its model is not ours, and what follows from it."""
    matched_settings: Mapping[str, str]
    """Keys of lowtide that take what can be taken of these differences away; run beside, to see whether they
    are the reason."""
    reported: Sequence[str]
    """Figures that others measured; printed as such."""

    def install(self, cache: Path) -> str:
        """Gets it ready below `cache`, or finds it there; returns its version."""
        ...

    def run(self, job: Job, work: Path) -> Row:
        """Runs it once. `work` is an empty folder that is deleted afterwards."""
        ...
