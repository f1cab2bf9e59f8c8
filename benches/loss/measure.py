"""Measures loss recovery of one scenario in the simulator, on real packets, in Linux and in ns-3.

Python 3.11 or later; README.md has the prerequisites and the meaning of each number.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HYSTART = Path("/sys/module/tcp_cubic/parameters/hystart")
BACKENDS = ["sim", "sim-no-undo", "live", "kernel", "ns-3"]
# Counters of the kernel (`nstat` names without TcpExt) that make up one of ours.
KERNEL = {
    "fast": ["TCPSackRecovery", "TCPRenoRecovery"],
    "timeouts": ["TCPTimeouts"],
    "undone": ["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"],
    "hystart": ["TCPHystartTrainDetect", "TCPHystartDelayDetect"],
}
KINDS = {"aqm_drops": "AQM", "buffer_drops": "full", "lost": "line"}
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "%": 0.01, "pkt": 1} | {
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
}
NS3_MODULES = "core network stats bridge traffic-control internet point-to-point".split()
# As the wheel was built; without them class layouts differ.
NS3_FLAGS = ["-std=c++20", "-O2", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"]
# Lateness of 1 % of the packets above which a real-time run counts only if no other is better.
DISTURBED_US = 1000.0
Row = dict[str, Any]


class Failure(Exception):
    """A program is missing or failed."""


def output(command: list[str | Path], **more: Any) -> str:
    done = subprocess.run(command, text=True, capture_output=True, check=False, **more)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def number(text: str) -> float:
    value, unit = text.split()
    return float(value) * UNITS[unit]


# ---- cases


def scenario(case: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the scenario of a case: its file with the keys that the case sets."""
    whole: dict[str, Any] = tomllib.loads((HERE / case["file"]).read_text())
    for key, value in case.get("set", {}).items():
        *tables, last = key.split(".")
        table = whole
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    if outage := case.get("outage"):
        every, length = number(outage["every"]), number(outage["for"])
        times = range(1, int(number(whole["run"]["duration"]) / every))
        whole["failure"] = {
            f"f{i}-{host}": {
                "link": f"a.{host}-switch0",
                "down": f"{i * every:.0f} ns",
                "up": f"{i * every + length:.0f} ns",
                "detect": "1000 s",
            }
            for i in times
            for host in range(whole["hosts"]["a"]["count"])
        }
    return whole


def as_toml(table: Mapping[str, Any], prefix: str = "") -> str:
    """Returns TOML with one dotted key a line."""
    lines = ""
    for key, value in table.items():
        name = prefix + key
        lines += (
            as_toml(value, name + ".")
            if isinstance(value, dict)
            else f"{name} = {json.dumps(value)}\n"
        )
    return lines


# ---- lowtide: the simulator, its TCP on real packets, and the kernel's


class Lowtide:
    def __init__(self, program: str, work: Path) -> None:
        found = shutil.which(program)
        if found is None:
            raise Failure(f"no program {program}: name it with --lowtide")
        self.program, self.work = Path(found).resolve(), work

    def table(self, folder: Path, name: str) -> list[Row]:
        text = output([self.program, "table", folder, name, "--csv"])
        return list(csv.DictReader(io.StringIO(text)))

    def run(self, name: str, whole: Mapping[str, Any], backend: str, seed: int) -> Row:
        folder = self.work / f"{name}-{backend}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "case.toml").write_text(as_toml(whole))
        command: list[str | Path] = [self.program, "run", folder / "case.toml", "-q"]
        command += ["-o", folder / "out", "-s", f"run.first-seed={seed}"]
        if backend == "sim-no-undo":
            output([*command, "-s", "transport.sender.undo=off"])
            return self.results(folder / "out", whole)
        if backend == "sim":
            # Traces take more time than the run; one seed has many recoveries.
            traced = seed == 1
            flows = ",".join(map(str, range(whole["traffic"]["t"]["count"])))
            output([*command, "--trace", flows] if traced else command)
            row = self.results(folder / "out", whole)
            traces = (self.table(folder / "out", table) for table in TRACES)
            return row | (count_undone(*traces) if traced else {})
        command += ["--backend", backend]
        if backend == "live":
            output(command)
            row = self.results(folder / "out", whole)
        else:
            with hystart(whole):
                counters = run_and_count(command)
            row = self.results(folder / "out", whole)
            row |= {key: sum(counters.get(n, 0) for n in names) for key, names in KERNEL.items()}
            row["retransmitted"] = counters.get("RetransSegs", 0)
        manifest = json.loads((folder / "out" / "manifest.json").read_text())
        return row | {"measured": manifest["runs"][0].get("measured")}

    def results(self, folder: Path, whole: Mapping[str, Any]) -> Row:
        run = whole["run"]
        seconds = (number(run["duration"]) - number(run["warmup"])) / 1e9
        queues, flows = self.table(folder, "queues"), self.table(folder, "flows")
        # Data goes from hosts `a` to hosts `b`; the longest of its queues is the bottleneck.
        data = [q for q in queues if q["name"].endswith("->switch1") or q["name"].startswith("a.")]
        data = data or queues
        longest = max(data, key=lambda q: float(q["mean_packets"]))

        def total(rows: list[Row], *columns: str) -> int | None:
            values = [row.get(column, "") for row in rows for column in columns]
            return None if "" in values else sum(map(int, values))

        return {
            "aqm_drops": total(data, "aqm_drops"),
            "buffer_drops": total(data, "overflow_drops"),
            "lost": total(data, "random_losses", "link_down_drops"),
            "queue": float(longest["mean_packets"]),
            "goodput": (total(flows, "delivered_after_warmup_bytes") or 0) * 8 / seconds / 1e6,
            "fast": total(flows, "fast_retransmits"),
            "timeouts": total(flows, "rto_count"),
            "undone": total(flows, "undos"),
        }


@contextlib.contextmanager
def hystart(whole: Mapping[str, Any]) -> Iterator[None]:
    """Sets the kernel's HyStart, which only the whole machine has, as the scenario has it."""
    sender = whole["transport"].get("sender", {})
    wanted = b"1" if sender.get("cubic", {}).get("hystart", True) else b"0"
    before = HYSTART.read_bytes() if HYSTART.exists() else None
    if before is not None and before.strip() != wanted:
        HYSTART.write_bytes(wanted)
    try:
        yield
    finally:
        if before is not None and before.strip() != wanted:
            HYSTART.write_bytes(before)


def run_and_count(command: list[str | Path]) -> dict[str, int]:
    """Runs a measurement, and returns the sums of its namespaces' counters at its end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        # A namespace whose file is open outlives the host that made it.
        spaces: dict[int, int] = {}
        own = os.stat("/proc/self/ns/net").st_ino
        while process.poll() is None:
            for task in Path(f"/proc/{process.pid}/task").glob("*/ns/net"):
                with contextlib.suppress(OSError):
                    inode = task.stat().st_ino
                    if inode != own and inode not in spaces:
                        spaces[inode] = os.open(task, os.O_RDONLY)
            time.sleep(0.05)
        text = process.stdout.read().decode() if process.stdout else ""
    sums: dict[str, int] = {}
    for space in spaces.values():
        files = ["/proc/net/netstat", "/proc/net/snmp"]
        enter: list[str | Path] = ["nsenter", f"--net=/proc/self/fd/{space}", "cat", *files]
        lines = output(enter, pass_fds=[space]).splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            if names.split()[0] in ("TcpExt:", "Tcp:"):
                for key, value in zip(names.split()[1:], values.split()[1:], strict=True):
                    sums[key] = sums.get(key, 0) + int(value)
        os.close(space)
    if process.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}\n{text[-2000:]}")
    return sums


# ---- undone recoveries in a trace

TRACES = ["trace_senders", "trace_hops", "trace_segments"]


def count_undone(senders: list[Row], hops: list[Row], segments: list[Row]) -> Row:
    """Counts undone recoveries, and those in which a packet of the episode was dropped.

    An episode is the data between the first unacknowledged byte and the last byte sent when
    recovery began.
    """
    dropped = {
        row["packet"]: int(row["time_ps"])
        for row in hops
        if row["from_sender"] == "true" and row["verdict"] not in ("queued", "marked")
    }
    sent: dict[str, list[tuple[int, int]]] = {}  # time, highest byte sent, by flow
    losses: dict[str, list[tuple[int, int, int]]] = {}  # time, first byte, end, by flow
    for row in segments:
        if row["place"] != "sender" or row["event"] != "sent":
            continue
        at, first = int(row["time_ps"]), int(row["seq_bytes"])
        end = first + int(row["len_bytes"])
        history = sent.setdefault(row["flow"], [(0, 0)])
        history.append((at, max(end, history[-1][1])))
        if row["packet"] in dropped:
            losses.setdefault(row["flow"], []).append((dropped[row["packet"]], first, end))
    undone = false = 0
    episodes: dict[str, tuple[int, int] | None] = {}
    for row in senders:
        events, flow, now = row["events"].split(), row["flow"], int(row["time_ps"])
        if "undo" in events:
            undone += 1
            first, high = episodes.get(flow) or (0, 0)
            false += any(
                at < now and start < high and end > first
                for at, start, end in losses.get(flow, [])
            )
        if "fast-retransmit" in events or "rto" in events:
            # Segments that this event itself sends have its time.
            history = sent.get(flow, [(0, 0)])
            before = history[max(bisect_left(history, (now, 0)) - 1, 0)]
            episodes[flow] = (int(row["bytes_acked"]), before[1])
    return {"undone": undone, "false_undone": false}


# ---- ns-3


class Ns3:
    def __init__(self, environment: Path, work: Path) -> None:
        found = sorted(environment.glob("lib/python3*/site-packages/ns3"))
        if not found:
            raise Failure(f"{environment} has no ns3: `pip install ns3` there, or omit --ns3")
        libraries = found[0] / "lib64"
        self.program = work / "dumbbell"
        command: list[str | Path] = ["g++", *NS3_FLAGS, f"-I{found[0] / 'include'}"]
        command += [HERE / "dumbbell.cc", "-Wl,--no-as-needed"]
        command += [next(libraries.glob(f"libns3.*[0-9]-{module}.so")) for module in NS3_MODULES]
        command += [f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined", "-o", self.program]
        output(command)

    def run(self, case: Mapping[str, Any], whole: Mapping[str, Any], seed: int) -> Row:
        topology, mark, run = whole["topology"], whole["switch"]["mark"], whole["run"]
        transport = whole["transport"]
        kind = mark["kind"]
        outage = case.get("outage", {"every": "0 ns", "for": "0 ns"})
        options = {
            "cc": {"cubic": "TcpCubic", "sack": "TcpLinuxReno"}[transport["scheme"]],
            "hystart": int(transport["sender"].get("cubic", {}).get("hystart", True)),
            "sack": int(transport.get("connection", {}).get("sack", True)),
            "flows": whole["traffic"]["t"]["count"],
            "rate": number(topology["bottleneck-rate"]),
            "edge": number(topology["link-rate"]),
            "leg": number(topology["link-delay"]),
            "buffer": number(whole["switch"]["buffer"]),
            "aqm": "fifo" if kind == "droptail" else kind,
            "target": number(mark.get("target", "0 ns")),
            "interval": number(mark.get("interval", mark.get("period", "0 ns"))),
            "outage": number(outage["for"]),
            "every": number(outage["every"]),
            "duration": number(run["duration"]),
            "warmup": number(run["warmup"]),
            "seed": seed,
        }
        loss = number(whole.get("pipe", {}).get("line", {}).get("loss", "0 %"))
        values = {k: v if isinstance(v, str) else f"{v:.0f}" for k, v in options.items()}
        pairs = [f"{key}={value}" for key, value in values.items()]
        row: Row = json.loads(output([self.program, *pairs, f"loss={loss}"]))
        return row


# ---- report


def disturbed(row: Row) -> bool:
    """Returns whether the bottleneck did not keep time: other load took its processor."""
    return bool(row.get("measured")) and row["measured"]["late_p99_us"] > DISTURBED_US


def usable(rows: list[Row]) -> list[Row]:
    return [row for row in rows if not disturbed(row)] or rows


def drops(row: Row) -> int:
    return int(row["aqm_drops"] + row["buffer_drops"] + row["lost"])


def spread(values: list[float | None], digits: int = 0) -> str:
    """Returns the median, and minimum and maximum if they differ."""
    known = [v for v in values if v is not None]
    if not known:
        return "–"
    low, middle, high = min(known), statistics.median(known), max(known)
    text = f"{middle:.{digits}f}"
    return text if low == high else f"{text} ({low:.{digits}f} to {high:.{digits}f})"


def verdict(backend: str, mine: list[int], kernel: list[int]) -> str:
    if backend == "kernel" or not mine or not kernel:
        return "–"
    ours, theirs = statistics.median(mine), statistics.median(kernel)
    if theirs == 0:
        return "yes" if ours == 0 else "no"
    return f"{'yes' if abs(ours / theirs - 1) <= 0.25 else 'no'}, {ours / theirs - 1:+.0%}"


COLUMNS = [
    "case",
    "backend",
    "runs",
    "drops",
    "by kind",
    "mean queue",
    "goodput, Mbit/s",
    "fast retransmits",
    "timeouts",
    "undone",
    "of them false",
    "within 25 % of the kernel's drops",
    "late, 99 %, us",
]


def report(cases: Mapping[str, Any], rows: list[Row]) -> str:
    text = f"|{'|'.join(COLUMNS)}|\n|{'---|' * len(COLUMNS)}\n"
    for name in cases:
        runs = {b: [r for r in rows if (r["case"], r["backend"]) == (name, b)] for b in BACKENDS}
        kernel = [drops(row) for row in usable(runs["kernel"])]
        for backend, every in runs.items():
            if every:
                text += f"|{name}|{backend}|{'|'.join(cells(backend, every, kernel))}|\n"
    return text


def cells(backend: str, every: list[Row], kernel: list[int]) -> list[str]:
    """Returns the cells of a line behind its name."""
    of, bad = usable(every), sum(map(disturbed, every))
    kinds = [
        f"{label} {statistics.median(row[key] for row in of):.0f}"
        for key, label in KINDS.items()
        if any(row[key] for row in of)
    ]
    measured = [row["measured"]["late_p99_us"] for row in every if row.get("measured")]
    counts = ["fast", "timeouts", "undone", "false_undone"]
    return [
        f"{len(every)}, {bad} disturbed" if bad else str(len(every)),
        spread([drops(row) for row in of]),
        ", ".join(kinds) or "–",
        spread([row["queue"] for row in of], 1),
        spread([row["goodput"] for row in of], 1),
        *(spread([row.get(key) for row in of]) for key in counts),
        verdict(backend, [drops(row) for row in of], kernel),
        spread(measured),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names in cases.toml; default: all")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("target/loss"),
        help="folder; runs in its runs.jsonl are not repeated",
    )
    parser.add_argument("--lowtide", default="lowtide", help="the program")
    parser.add_argument("--ns3", type=Path, help="virtual environment with the package ns3")
    parser.add_argument("--backends", default="sim,sim-no-undo,live,kernel,ns-3")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    every = tomllib.loads((HERE / "cases.toml").read_text())
    chosen = {name: every[name] for name in options.cases or every if name in every}
    backends = options.backends.split(",")
    if unknown := [*(set(options.cases) - set(every)), *(set(backends) - set(BACKENDS))]:
        parser.error(f"no case or backend {unknown[0]}: {', '.join([*every, *BACKENDS])}")
    options.out.mkdir(parents=True, exist_ok=True)
    finished = options.out / "runs.jsonl"
    text = finished.read_text() if finished.exists() else ""
    rows: list[Row] = [json.loads(line) for line in text.splitlines()]
    done = {(row["case"], row["backend"], row["seed"]) for row in rows}
    try:
        lowtide = Lowtide(options.lowtide, options.out)
        ns3 = Ns3(options.ns3, options.out) if options.ns3 else None
        with finished.open("a") as log:
            # Backends alternate, so that other load affects all of them.
            for seed in range(1, options.repeats + 1):
                for name, case in chosen.items():
                    whole = scenario(case)
                    for backend in backends:
                        if (name, backend, seed) in done:
                            continue
                        if backend != "ns-3":
                            row = lowtide.run(name, whole, backend, seed)
                        elif ns3 and case.get("ns3", True):
                            row = ns3.run(case, whole, seed)
                        else:
                            continue
                        rows.append({"case": name, "backend": backend, "seed": seed} | row)
                        log.write(json.dumps(rows[-1]) + "\n")
                        log.flush()
                        print(f"{name} {backend} {seed}: {drops(row)} drops", file=sys.stderr)
    except Failure as failure:
        print(f"measure.py: {failure}", file=sys.stderr)
        return 1
    table = report(chosen, rows)
    (options.out / "results.md").write_text(table)
    print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
