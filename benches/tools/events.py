"""The events of a run, in one form for all tools, and what is read off them.

Times are seconds from the first data of flow 0; offsets are payload bytes; windows are segments.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple


SYN = -1


class Data(NamedTuple):
    time: float
    flow: int
    offset: int
    size: int
    again: bool  # a retransmission
    ect: bool
    number: int  # of the packet on the sender's line, from 0


class Ack(NamedTuple):
    time: float  # when the receiver sent it
    flow: int
    offset: int
    ece: bool
    ect: bool


class Window(NamedTuple):
    time: float
    flow: int
    cwnd: float
    ssthresh: float


class Hop(NamedTuple):
    arrival: float
    start: float  # of the transmission
    flow: int
    marked: bool


@dataclass
class Trace:
    mss: int
    data: list[Data] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)  # data at the port of switch0
    alphas: list[tuple[float, float]] = field(default_factory=list)
    reductions: list[float] = field(default_factory=list)  # of flow 0, by the tool's own account
    syns: list[tuple[float, int]] = field(default_factory=list)  # time, number of the packet
    syn_ect: bool = False
    syn_ack_ect: bool = False

    def shifted(self) -> Trace:
        """The same with time zero at the first data of flow 0."""
        zero = min(d.time for d in self.data if d.flow == 0)
        self.data = [d._replace(time=d.time - zero) for d in self.data]
        self.acks = [a._replace(time=a.time - zero) for a in self.acks]
        self.windows = [w._replace(time=w.time - zero) for w in self.windows]
        self.hops = [h._replace(arrival=h.arrival - zero, start=h.start - zero) for h in self.hops]
        self.alphas = [(t - zero, a) for t, a in self.alphas]
        self.reductions = [t - zero for t in self.reductions]
        self.syns = [(t - zero, n) for t, n in self.syns]
        return self

    def number(self, segment: int, nth: int) -> int:
        """The number of the `nth` transmission, from 0, of a segment of flow 0; -1 is the SYN."""
        if segment == SYN:
            found = [number for _, number in self.syns]
        else:
            offset = segment * self.mss
            found = [d.number for d in self.data if d.flow == 0 and d.offset == offset]
        if nth >= len(found):
            raise LookupError(f"segment {segment} is sent only {len(found)} times")
        return found[nth]


def mark_again(data: list[Data]) -> list[Data]:
    """Marks the data below the highest offset so far as retransmissions."""
    top: dict[int, int] = defaultdict(int)
    marked = []
    for d in data:
        marked.append(d._replace(again=d.offset < top[d.flow]))
        top[d.flow] = max(top[d.flow], d.offset + d.size)
    return marked


def rounds(trace: Trace, count: int, gap: float = 0.03, since: float = 0.0) -> list[int]:
    """Segments sent in each round trip: a gap in the data begins the next one."""
    sizes: list[int] = []
    last = -1e9
    for d in trace.data:
        if d.flow != 0 or d.time < since:
            continue
        if d.time - last > gap:
            sizes.append(0)
        sizes[-1] += 1
        last = d.time
    return sizes[:count]


def again(trace: Trace) -> list[float]:
    return [d.time for d in trace.data if d.again and d.flow == 0]


def again_segments(trace: Trace) -> list[int]:
    return [d.offset // trace.mss for d in trace.data if d.again and d.flow == 0]


def done(trace: Trace) -> float:
    """When the receiver acknowledges the last byte."""
    last = max(a.offset for a in trace.acks if a.flow == 0)
    return min(a.time for a in trace.acks if a.flow == 0 and a.offset == last)


def at(trace: Trace, time: float) -> Window:
    """Window and threshold of flow 0 just after `time`."""
    before = [w for w in trace.windows if w.flow == 0 and w.time <= time]
    return before[-1]


def cuts(trace: Trace, begin: float, end: float) -> int:
    """Reductions of flow 0: a smaller window by a tenth, or another ssthresh."""
    if trace.reductions:  # reported as such
        return sum(begin <= time < end for time in trace.reductions)
    merged: dict[float, Window] = {w.time: w for w in trace.windows if w.flow == 0}
    flow = list(merged.values())
    return sum(
        1
        for a, b in zip(flow, flow[1:])
        if begin <= b.time < end and (b.ssthresh != a.ssthresh or b.cwnd < 0.9 * a.cwnd)
    )


def first_cut(trace: Trace) -> tuple[float, float, float]:
    """Time, window before and after the first reduction."""
    flow = [w for w in trace.windows if w.flow == 0]
    for a, b in zip(flow, flow[1:]):
        if b.cwnd < a.cwnd - 0.01:
            return b.time, a.cwnd, b.cwnd
    return -1.0, 0.0, 0.0


def mean_queue(trace: Trace, begin: float, end: float) -> float:
    """Packets that wait at switch0, without the one in transmission; averaged over time."""
    waited = 0.0
    for h in trace.hops:
        waited += max(0.0, min(h.start, end) - max(h.arrival, begin))
    return waited / (end - begin)


def max_queue(trace: Trace, begin: float, end: float) -> int:
    """Most packets that a packet found waiting."""
    starts = [h.start for h in trace.hops]
    most = 0
    first = 0
    for i, h in enumerate(trace.hops):
        while starts[first] <= h.arrival and first < i:
            first += 1
        if begin <= h.arrival < end:
            most = max(most, i - first)
    return most


def departures(trace: Trace, begin: float, end: float) -> int:
    return sum(1 for h in trace.hops if begin <= h.start < end)


def marks(trace: Trace, begin: float, end: float) -> int:
    return sum(1 for h in trace.hops if h.marked and begin <= h.arrival < end)


def mean_window(trace: Trace, begin: float, end: float) -> float:
    """Mean over time of the window of flow 0."""
    flow = [w for w in trace.windows if w.flow == 0]
    total = 0.0
    for a, b in zip(flow, [*flow[1:], Window(end, 0, 0.0, 0.0)]):
        total += a.cwnd * max(0.0, min(b.time, end) - max(a.time, begin))
    return total / (end - begin)


def ack_sizes(trace: Trace, count: int) -> list[int]:
    """Segments that each of the first ACKs acknowledges."""
    flow = sorted({a.offset for a in trace.acks if a.flow == 0 and a.offset > 0})
    return [(b - a) // trace.mss for a, b in zip([0, *flow], flow)][:count]
