"""Runs the same case in lowtide, ns-2 and ns-3, and reads what they wrote."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict, deque
from pathlib import Path

from events import Ack, Data, Hop, Trace, Window, mark_again

HERE = Path(__file__).resolve().parent
NS3_MODULES = [
    "core",
    "network",
    "stats",
    "bridge",
    "traffic-control",
    "internet",
    "point-to-point",
]
# As the wheel was built; without them class layouts differ.
NS3_FLAGS = ["-std=c++20", "-O1", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"]
Drops = list[tuple[int, int]]  # segment and its nth transmission, from 0


class Missing(Exception):
    """A tool that is not installed."""


def output(command: list[str], cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, text=True, capture_output=True, check=False, timeout=300
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Lowtide:
    name = "lowtide"

    def __init__(self, program: str, work: Path) -> None:
        found = shutil.which(program)
        if found is None:
            raise Missing(f"no program {program}: name it with --lowtide")
        self.program = str(Path(found).resolve())
        self.work = work

    def version(self) -> str:
        return output([self.program, "--version"], self.work).strip()

    def run(self, settings: dict[str, str], drops: Drops) -> Trace:
        # A packet is dropped by a failure of the receiver's line, shorter than its transmission.
        down: list[int] = []
        trace, lines = self.once(settings, down)
        for segment, nth in drops:
            down.append(lines[trace.number(segment, nth)])
            trace, lines = self.once(settings, down)
        return trace.shifted()

    def once(self, settings: dict[str, str], down: list[int]) -> tuple[Trace, dict[int, int]]:
        text = (HERE / "one-flow.toml").read_text()
        for i, time in enumerate(down):
            text += (
                f'\n[failure.drop{i}]\nlink = "receivers.0-switch1"\ndown = "{time} ps"\n'
                f'up = "{time + 1000} ps"\ndetect = "1000 s"\n'
            )
        folder = self.work / "lowtide"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "case.toml").write_text(text)
        command = [self.program, "run", "case.toml", "-o", "out", "-q", "-j", "1"]
        for key, value in settings.items():
            command += ["-s", f"{key}={value}"]
        output(command, folder)
        return self.read(folder)

    def table(self, folder: Path, name: str) -> list[dict[str, str]]:
        text = output([self.program, "table", "out", name, "--csv"], folder)
        return list(csv.DictReader(io.StringIO(text)))

    def read(self, folder: Path) -> tuple[Trace, dict[int, int]]:
        segments = self.table(folder, "trace_segments")
        senders = self.table(folder, "trace_senders")
        trace = Trace(mss=int(senders[-1]["mss_bytes"]))
        for row in segments:
            if row["event"] != "sent":
                continue
            time, flow = int(row["time_ps"]) / 1e12, int(row["flow"])
            ect = row["ecn"] != "not-ect"
            if "S" in row["flags"]:
                if row["place"] == "sender":
                    trace.syn_ect = ect
                    trace.syns.append((time, int(row["packet"])))
                else:
                    trace.syn_ack_ect = ect
            elif row["place"] == "receiver":
                trace.acks.append(Ack(time, flow, int(row["ack_bytes"]), "E" in row["flags"], ect))
            elif int(row["len_bytes"]) > 0:
                trace.data.append(
                    Data(
                        time,
                        flow,
                        int(row["seq_bytes"]),
                        int(row["len_bytes"]),
                        row["retransmission"] == "true",
                        ect,
                        int(row["packet"]),
                    )
                )
        for row in senders:
            time, flow = int(row["time_ps"]) / 1e12, int(row["flow"])
            ssthresh = row["ssthresh_bytes"]
            trace.windows.append(
                Window(
                    time,
                    flow,
                    int(row["cwnd_bytes"]) / trace.mss,
                    int(ssthresh) / trace.mss if ssthresh else float("inf"),
                )
            )
            if flow == 0 and row["events"] in ("cut", "rto", "fast-retransmit"):
                trace.reductions.append(time)
            if row["dctcp_alpha_q20"]:
                trace.alphas.append((time, int(row["dctcp_alpha_q20"]) / 2**20))
        middle: dict[int, int] = {}
        for row in self.table(folder, "trace_hops"):
            if row["name"] == "switch0->switch1" and int(row["size_bytes"]) > 100:
                trace.hops.append(
                    Hop(
                        int(row["time_ps"]) / 1e12,
                        int(row["start_ps"]) / 1e12,
                        int(row["flow"]),
                        row["verdict"] == "marked",
                    )
                )
            if row["name"] == "switch1->receivers.0" and row["packet"]:
                middle[int(row["packet"])] = (int(row["start_ps"]) + int(row["departure_ps"])) // 2
        return trace, middle


class Tool:
    """A tool that drops packets by their number on the receiver's line."""

    name = ""

    def run(self, settings: dict[str, str], drops: Drops) -> Trace:
        numbers: list[int] = []
        trace = self.once(settings, numbers)
        for segment, nth in drops:
            numbers.append(trace.number(segment, nth))
            trace = self.once(settings, sorted(numbers))
        return trace.shifted()

    def once(self, settings: dict[str, str], numbers: list[int]) -> Trace:
        raise NotImplementedError


class Ns2(Tool):
    name = "ns-2"

    def __init__(self, program: str, work: Path) -> None:
        found = shutil.which(program)
        if found is None:
            raise Missing(f"no program {program} (ns-2): apt-get install ns2, or use --ns2")
        self.program = found
        self.work = work / "ns2"
        self.work.mkdir(parents=True, exist_ok=True)

    def version(self) -> str:
        return subprocess.run(
            [self.program],
            input="puts [ns-version]\n",
            text=True,
            capture_output=True,
            check=False,
            cwd=self.work,
        ).stdout.strip("% \n")

    def once(self, settings: dict[str, str], numbers: list[int]) -> Trace:
        command = [self.program, str(HERE / "ns2.tcl"), "trace=out.tr"]
        command += [f"{key}={value}" for key, value in settings.items()]
        command.append("drops=" + " ".join(map(str, numbers)))
        output(command, self.work)
        return self.read(self.work / "out.tr", "Full" in settings.get("agent", "FullTcp"))

    def read(self, path: Path, full: bool) -> Trace:
        trace = Trace(mss=1460)
        number = 0
        cwnd: dict[int, float] = defaultdict(float)
        ssthresh: dict[int, float] = defaultdict(float)
        queues: dict[str, float] = {}
        for line in path.read_text().splitlines():
            w = line.split()
            if w[5] in ("cwnd_", "ssthresh_"):
                flow = int(w[2])  # the port of the agent on node 0 is its flow
                (cwnd if w[5] == "cwnd_" else ssthresh)[flow] = float(w[6])
                trace.windows.append(Window(float(w[0]), flow, cwnd[flow], ssthresh[flow]))
                continue
            event, time, ends, size = w[0], float(w[1]), (w[2], w[3]), int(w[5])
            flags, flow, seq, uid, ack = w[6], int(w[7]), int(w[10]), w[11], int(w[12])
            bits = int(w[13], 16)
            syn = bool(bits & 2) if full else False
            if ends == ("0", "1") and event == "+":
                if syn:
                    trace.syn_ect = "N" in flags
                    trace.syns.append((time, number))
                elif size > 100:
                    offset = seq - 1 if full else (seq - 1) * 1460
                    trace.data.append(
                        Data(time, flow, offset, size - 40, False, "N" in flags, number)
                    )
                number += 1
            elif ends == ("3", "2") and event == "+":
                if syn:
                    trace.syn_ack_ect = "N" in flags
                else:
                    offset = ack - 1 if full else seq * 1460
                    trace.acks.append(Ack(time, flow, offset, "C" in flags, "N" in flags))
            elif ends == ("1", "2") and size > 100:
                if event == "+":
                    queues[uid] = time
                elif event == "-":
                    trace.hops.append(Hop(queues.pop(uid), time, flow, "E" in flags))
        trace.data = mark_again(trace.data)
        return trace


class Ns3(Tool):
    name = "ns-3"

    def __init__(self, package: str | None, work: Path) -> None:
        self.work = work / "ns3"
        self.work.mkdir(parents=True, exist_ok=True)
        self.package = ns3_package(package)
        found = [
            m.group(1)
            for p in (self.package / "lib64").glob("libns3*-core.so")
            if (m := re.fullmatch(r"libns(3[.\d]*)-core\.so", p.name))
        ]
        if len(found) != 1:
            raise Missing(f"no libraries of ns-3 in {self.package}/lib64")
        self.release = found[0]
        self.program = self.built()

    def version(self) -> str:
        info = sorted(self.package.parent.glob("ns3-*.dist-info"))
        return info[0].name.removesuffix(".dist-info") if info else f"ns-{self.release}"

    def built(self) -> str:
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            raise Missing("no C++ compiler for ns3_run.cc: install g++, or name one in CXX")
        folder = self.package / "lib64"
        source = HERE / "ns3_run.cc"
        command = [compiler, *NS3_FLAGS, f"-I{self.package / 'include'}", str(source)]
        command += ["-Wl,--no-as-needed"]
        command += [str(folder / f"libns{self.release}-{module}.so") for module in NS3_MODULES]
        command += [f"-Wl,-rpath,{folder}", "-Wl,--allow-shlib-undefined"]
        key = hashlib.sha256(("\0".join(command) + source.read_text()).encode()).hexdigest()[:16]
        program = self.work / f"ns3_run-{key}"
        if not program.is_file():
            print("compiling ns3_run.cc", file=sys.stderr)
            output([*command, "-o", str(program)], self.work)
        return str(program)

    def once(self, settings: dict[str, str], numbers: list[int]) -> Trace:
        command = [self.program, *(f"{key}={value}" for key, value in settings.items())]
        command.append("drops=" + " ".join(map(str, numbers)))
        return self.read(output(command, self.work), int(settings.get("segment", "536")))

    def read(self, text: str, mss: int) -> Trace:
        trace = Trace(mss=mss)
        number = 0
        cwnd: dict[int, float] = defaultdict(float)
        ssthresh: dict[int, float] = defaultdict(lambda: float("inf"))
        waiting: deque[tuple[float, int]] = deque()
        marked: set[tuple[int, float]] = set()
        for line in text.splitlines():
            w = line.split()
            kind, time = w[0], int(w[1]) / 1e12
            if kind == "D":
                flow, seq, size, bits, ecn = map(int, w[2:])
                if bits & 2:
                    trace.syn_ect = ecn != 0
                    trace.syns.append((time, number))
                elif size > 0:
                    trace.data.append(Data(time, flow, seq, size, False, ecn != 0, number))
                number += 1
            elif kind == "A":
                flow, ack, bits, ecn = map(int, w[2:])
                if bits & 2:
                    trace.syn_ack_ect = ecn != 0
                else:
                    trace.acks.append(Ack(time, flow, ack, bool(bits & 64), ecn != 0))
            elif kind in "WS":
                flow, value = int(w[2]), int(w[3])
                if kind == "W":
                    cwnd[flow] = value / mss
                else:
                    ssthresh[flow] = value / mss if value < 2**32 - 1 else float("inf")
                trace.windows.append(Window(time, flow, cwnd[flow], ssthresh[flow]))
            elif kind == "P":
                trace.alphas.append((time, float(w[3])))
            elif kind == "E":
                waiting.append((time, int(w[3])))
            elif kind == "M":
                marked.add((int(w[2]), time))
            elif kind == "B" and waiting:
                arrival, flow = waiting.popleft()
                trace.hops.append(Hop(arrival, time, flow, (flow, arrival) in marked))
        trace.data = mark_again(trace.data)
        return trace


def ns3_package(named: str | None) -> Path:
    """The folder of the package ns3: a named one, this Python's, or that of benches/peers."""
    if named is not None:
        places = [Path(named), *Path(named).glob("lib/python3*/site-packages/ns3")]
    else:
        root = HERE.parents[1]
        places = [Path(p) / "ns3" for p in sys.path if p]
        places += root.glob("target/peers/cache/ns3-*/venv/lib/python3*/site-packages/ns3")
    for place in places:
        if (place / "include" / "ns3").is_dir() and place.name == "ns3":
            return place.resolve()
    raise Missing("no package ns3: pip install ns3 in a virtual environment, and use --ns3 VENV")
