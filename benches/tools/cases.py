"""The cases: one rule each, the same network and drops in both, and a bound for each number.

The bounds follow one rule, set before the table was first made: what decides which segment is sent
when must agree exactly (segments: 0; times: 1 ms, of a round trip of 100 ms; of a timer with a
clock of 10 ms: one tick), windows within half a segment, and means over a long time within 1 packet
or a few percent (counts of marks and cuts: 10). No bound was changed after a result was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import events as t
from events import Trace

Value = float | int | list[int] | list[float] | str
EXACT, TIME, TICK, HALF = 0.0, 0.001, 0.010, 0.5


@dataclass
class Row:
    rule: str
    value: Callable[[Trace], Value]
    bound: float  # of the largest difference; a share of the tool's value if `relative`
    relative: bool = False


@dataclass
class Case:
    name: str
    tool: str
    settings: dict[str, str]
    lowtide: dict[str, str]
    rows: list[Row]
    drops: list[tuple[int, int]] = field(default_factory=list)
    # Settings of lowtide with which the rows that differ are compared again: the cause.
    cause: dict[str, str] = field(default_factory=dict)


def sender(name: str) -> str:
    return f"transport.sender.{name}"


def receiver(name: str) -> str:
    return f"transport.receiver.{name}"


NS2 = {"transport.profile": "ns-2", "transport.scheme": "sack"}
NS2_ECN = {"transport.profile": "ns-2", "transport.scheme": "ecn"}
NS3 = {"transport.profile": "ns-3"}
NS3_RENO = {"transport.profile": "ns-3", "transport.scheme": "sack"}
NS3_ECN = {"transport.profile": "ns-3", "transport.scheme": "ecn"}
SEGMENT = {"ns-2": 1460, "ns-3": 536}


def segments(tool: str, count: int, extra: int = 0) -> tuple[dict[str, str], dict[str, str]]:
    size = count * SEGMENT[tool] + extra
    return {"bytes": str(size)}, {
        "traffic.flow.burst": f"{size} B",
        "traffic.flow.size": f"{2 * size} B",
    }


def rounds(count: int, gap: float = 0.03) -> Row:
    return Row("segments sent in each round trip", lambda x: t.rounds(x, count, gap), EXACT)


ACKS = Row("segments per ACK, first ten", lambda x: t.ack_sizes(x, 10), EXACT)
DONE = Row("last byte acknowledged, s", t.done, TIME)
AGAIN = Row("retransmitted segments", t.again_segments, EXACT)
WHEN = Row("first retransmission, s", lambda x: t.again(x)[0], TIME)


def window(time: float) -> Row:
    return Row(f"cwnd at {time} s, segments", lambda x: t.at(x, time).cwnd, HALF)


def threshold(time: float) -> Row:
    return Row(f"ssthresh at {time} s, segments", lambda x: t.at(x, time).ssthresh, HALF)


def transfer(
    name: str,
    tool: str,
    count: int,
    rows: list[Row],
    base: dict[str, str],
    settings: dict[str, str] | None = None,
    lowtide: dict[str, str] | None = None,
    drops: list[tuple[int, int]] | None = None,
    cause: dict[str, str] | None = None,
    extra: int = 0,
) -> Case:
    size, same = segments(tool, count, extra)
    return Case(
        name,
        tool,
        {**size, **(settings or {})},
        {**base, **same, **(lowtide or {})},
        rows,
        drops or [],
        cause or {},
    )


def steady(
    name: str,
    tool: str,
    flows: int,
    base: dict[str, str],
    settings: dict[str, str] | None = None,
    lowtide: dict[str, str] | None = None,
    rows: list[Row] | None = None,
    cause: dict[str, str] | None = None,
) -> Case:
    """Unlimited flows over 10 Mbit/s and 20 ms, K = 10: nine seconds after one of warm-up."""
    rate = {"ns-2": "10Mb", "ns-3": "10Mbps"}[tool]
    kind = {"ns-2": "step-ns2", "ns-3": "step"}[tool]
    common = {"rate": rate, "delay": "10ms", "k": "10", "flows": str(flows), "seconds": "10.2"}
    same = {
        "topology.bottleneck-rate": "10 Mbit/s",
        "topology.bottleneck-delay": "10 ms",
        "switch.mark.kind": kind,
        "switch.mark.k": "10 pkt",
        "traffic.flow.count": str(flows),
        "traffic.flow.burst": "100 MB",
        "traffic.flow.size": "200 MB",
        "run.duration": "10.2 s",
    }
    return Case(
        name,
        tool,
        {**common, "bytes": "100000000", **(settings or {})},
        {**base, **same, **(lowtide or {})},
        [
            Row("mean queue, packets", lambda x: t.mean_queue(x, 1, 10), 1.0),
            Row("longest queue, packets", lambda x: t.max_queue(x, 1, 10), 1.0),
            Row("packets through the port", lambda x: t.departures(x, 1, 10), 0.01, True),
            Row("marks", lambda x: t.marks(x, 1, 10), 0.1, True),
            Row("reductions of flow 0", lambda x: t.cuts(x, 1, 10), 0.1, True),
            *(rows or []),
        ],
        [],
        cause or {},
    )


FIRST_CUT = [
    Row("first cut by a mark, s", lambda x: t.first_cut(x)[0], TIME),
    Row("cwnd before it, segments", lambda x: t.first_cut(x)[1], HALF),
    Row("cwnd after it, segments", lambda x: t.first_cut(x)[2], HALF),
]

# Without its patch ns-2 has a heartbeat in place of the delayed-ACK timer: here neither ever fires.
M2 = (
    {"segsperack": "2", "interval": "0"},
    {receiver("delack-segments"): "2", receiver("delack-timer"): "500 ms"},
)
FINE = (
    {"tick": "0.000001"},
    {sender("rto-granularity"): "1 us", sender("rtt-granularity"): "1 us"},
)
WINDOW_20 = (
    {"window": "20"},
    {receiver("receive-buffer"): "29200 B", sender("initial-ssthresh"): "29200"},
)
NO_LIMITED = {sender("limited-transmit"): "false"}
TWO_QUICK = {receiver("initial-quick-acks"): "2920 B"}
BOTH = {**NO_LIMITED, **TWO_QUICK}
FROM_CWND = {sender("loss-from"): "window"}
LATE = Row("transmissions again, s", t.again, TIME)


def tick(row: Row) -> Row:
    return Row(row.rule, row.value, TICK)


def ns2() -> list[Case]:
    ect = [
        Row("ECT on the SYN", lambda x: str(x.syn_ect), EXACT),
        Row("ECT on the SYN-ACK", lambda x: str(x.syn_ack_ect), EXACT),
        Row("ECT on pure ACKs", lambda x: str(any(a.ect for a in x.acks)), EXACT),
    ]
    return [
        transfer("slow start, m = 1", "ns-2", 100, [rounds(6), ACKS, DONE, window(0.5)], NS2),
        transfer("slow start, m = 2", "ns-2", 100, [rounds(8), ACKS, DONE], NS2, *M2,
                 cause=TWO_QUICK),
        transfer(
            "window_ of 20 packets",
            "ns-2",
            240,
            [rounds(10), window(0.9), window(1.2), DONE],
            NS2,
            *WINDOW_20,
        ),
        transfer(
            "window_ of 20, m = 2", "ns-2", 240, [rounds(10), window(1.0), DONE], NS2,
            {**WINDOW_20[0], **M2[0]}, {**WINDOW_20[1], **M2[1]}, cause=TWO_QUICK,
        ),
        transfer(
            "a short last segment (Nagle)", "ns-2", 10, [rounds(5), DONE], NS2, extra=100,
        ),
        transfer(
            "odd last segment, m = 2, no timer", "ns-2", 7, [ACKS], NS2, *M2, cause=TWO_QUICK,
        ),
        transfer(
            "one loss", "ns-2", 150,
            [rounds(12), WHEN, AGAIN, threshold(0.7), window(0.55), window(0.9), DONE],
            NS2, drops=[(20, 0)], cause=NO_LIMITED,
        ),
        transfer(
            "one loss, m = 2", "ns-2", 150,
            [rounds(12), WHEN, AGAIN, threshold(0.9), window(1.1), DONE],
            NS2, *M2, drops=[(20, 0)], cause=BOTH,
        ),
        transfer(
            "two losses in a window", "ns-2", 150,
            [rounds(12), WHEN, AGAIN, threshold(0.7), window(0.9), DONE],
            NS2, drops=[(20, 0), (24, 0)], cause=NO_LIMITED,
        ),
        transfer(
            "a lost retransmission", "ns-2", 150,
            [rounds(12), tick(LATE), AGAIN, threshold(1.0), DONE],
            NS2, drops=[(20, 0), (20, 1)], cause=NO_LIMITED,
        ),
        transfer(
            "lost SYN, twice", "ns-2", 10,
            [Row("SYNs after the first, s", lambda x: [s - x.syns[0][0] for s, _ in x.syns], TICK)],
            NS2, drops=[(t.SYN, 0), (t.SYN, 1)], lowtide={"run.duration": "15 s"},
            settings={"seconds": "15"},
        ),
        transfer(
            "lost tail: timeouts", "ns-2", 30, [tick(LATE)], NS2,
            drops=[(29, 0), (29, 1), (29, 2), (29, 3)],
        ),
        transfer(
            "lost tail, no minimum, RTT 14 ms", "ns-2", 30, [tick(LATE)], NS2,
            {"minrto": "0", "delay": "7ms"},
            {sender("rto-min"): "1 us", "topology.bottleneck-delay": "7 ms"},
            drops=[(29, 0), (29, 1), (29, 2)],
        ),
        transfer(
            "lost tail, tick 1 us", "ns-2", 30, [LATE], NS2, *FINE,
            drops=[(29, 0), (29, 1), (29, 2), (29, 3)],
        ),
        transfer(
            "lost window: timeout in the middle", "ns-2", 100,
            [rounds(12), tick(WHEN), AGAIN, threshold(0.9), tick(DONE)], NS2,
            drops=[(i, 0) for i in range(14, 30)],
        ),
        steady("ECN, one flow", "ns-2", 1, NS2_ECN, {"ecn": "1"}, rows=[*FIRST_CUT, *ect]),
        steady("ECN, two flows", "ns-2", 2, NS2_ECN, {"ecn": "1"}),
        steady("ECN, one flow, m = 2", "ns-2", 1, NS2_ECN, {"ecn": "1", **M2[0]}, M2[1],
               rows=FIRST_CUT, cause=TWO_QUICK),
    ]


def ns3() -> list[Case]:
    ect = [
        Row("ECT on the SYN", lambda x: str(x.syn_ect), EXACT),
        Row("ECT on the SYN-ACK", lambda x: str(x.syn_ack_ect), EXACT),
        Row("ECT on pure ACKs", lambda x: str(any(a.ect for a in x.acks)), EXACT),
    ]
    reno = {"cc": "TcpLinuxReno"}
    newreno = {"cc": "TcpNewReno"}
    red = {"cc": "TcpLinuxReno", "ecn": "On"}
    lost = [rounds(12), WHEN, AGAIN, threshold(0.35), window(0.35), window(0.9), DONE]
    one = {"delack": "1"}, {receiver("delack-segments"): "1"}
    alpha = Row(
        "mean alpha",
        lambda x: sum(a for s, a in x.alphas if s > 1) / max(1, sum(s > 1 for s, _ in x.alphas)),
        0.05,
    )
    first = Row("first new alpha, s", lambda x: min(s for s, a in x.alphas if a < 0.99), TIME)
    return [
        transfer("slow start, m = 2", "ns-3", 272, [rounds(6), ACKS, DONE, window(0.45)], NS3),
        transfer("slow start, m = 1", "ns-3", 272, [rounds(6), ACKS, DONE], NS3, *one),
        transfer(
            "buffers of 128 KiB limit", "ns-3", 2000, [rounds(9), window(0.6), window(0.9), DONE],
            NS3,
        ),
        transfer(
            "one loss, TcpLinuxReno", "ns-3", 272, lost, NS3_RENO, reno, drops=[(20, 0)],
            cause=FROM_CWND,
        ),
        transfer(
            "one loss, TcpNewReno", "ns-3", 272, lost, NS3_RENO, newreno,
            {sender("abc-limit"): "1", sender("growth-counts"): "acks"}, drops=[(20, 0)],
        ),
        transfer("one loss, TcpDctcp", "ns-3", 272, [*lost, first], NS3, drops=[(20, 0)]),
        transfer(
            "two losses in a window", "ns-3", 272, lost, NS3_RENO, reno, drops=[(20, 0), (24, 0)],
            cause=FROM_CWND,
        ),
        transfer(
            "a lost retransmission", "ns-3", 272,
            [rounds(12), LATE, AGAIN, threshold(2.0), DONE], NS3_RENO, reno,
            drops=[(20, 0), (20, 1)],
        ),
        transfer(
            "lost SYN, twice", "ns-3", 10,
            [Row("SYNs after the first, s", lambda x: [s - x.syns[0][0] for s, _ in x.syns], TIME)],
            NS3, drops=[(t.SYN, 0), (t.SYN, 1)], lowtide={"run.duration": "15 s"},
            settings={"seconds": "15"},
        ),
        transfer(
            "delayed-ACK timer", "ns-3", 8, [DONE, ACKS], NS3,
        ),
        transfer(
            "lost tail: timeouts", "ns-3", 30, [LATE], NS3,
            drops=[(29, 0), (29, 1), (29, 2)], lowtide={"run.duration": "20 s"},
            settings={"seconds": "20"},
        ),
        transfer(
            "lost window: timeout in the middle", "ns-3", 100,
            [rounds(12), WHEN, AGAIN, threshold(1.3), DONE], NS3_RENO, reno,
            drops=[(i, 0) for i in range(10, 28)],
        ),
        steady("ECN, one flow, TcpLinuxReno", "ns-3", 1, NS3_ECN, red, rows=[*FIRST_CUT, *ect]),
        steady("ECN, two flows, TcpLinuxReno", "ns-3", 2, NS3_ECN, red),
        steady("DCTCP, one flow", "ns-3", 1, NS3, rows=[*FIRST_CUT, alpha, *ect]),
        steady("DCTCP, two flows", "ns-3", 2, NS3, rows=[alpha]),
    ]
