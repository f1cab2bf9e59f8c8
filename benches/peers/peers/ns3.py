"""ns-3 from the Python package `ns3`: a C++ program (`ns3_cc/`) over its shared libraries.

The package's Python bindings compile themselves at every start, and counting packets would need a
call into Python for each. Users who need speed use ns-3 from C++.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import files
import measure
from model import Job, PeerError, Row
from units import BYTES, PACKETS, TIME_PS, whole

VERSION = "3.44.post0"
SOURCES = Path(__file__).with_name("ns3_cc")
MODULES = [
    "core",
    "network",
    "stats",
    "bridge",
    "traffic-control",
    "internet",
    "point-to-point",
]
# The package's libraries are built with these flags; without them class layouts differ.
FLAGS = ["-std=c++20", "-O3", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"]
ETHERNET_BYTES = 38


class Ns3:
    name = "ns-3"
    differences: Sequence[str] = (
        "**Framing.** The point-to-point device adds 2 bytes of PPP; the interframe gap replaces the other "
        "36 bytes of Ethernet, so a full segment occupies 1538 bytes on the link, as ours does. Both have "
        "1448 bytes of payload after 52 bytes of IP, TCP and timestamps, and ACKs of 52 bytes.",
        "**Marking point.** A port holds packets in three places: the queue disc, which marks, the device "
        "queue (set to one packet), and the transmitter. The RED disc acts as a step (MinTh = MaxTh = K, no "
        "average, not gentle): it marks packets that find K or more packets *in the disc*. With the one in "
        "the device more than K wait, which is our rule. The mean queue includes disc and device.",
        "**The buffer** counts packets of 1500 bytes (the disc's thresholds have the unit of its limit), ours "
        "bytes. This matters only if packets are dropped.",
        "**The window reduction** takes effect at once, and cwnd grows again within the same RTT (seen in a "
        "trace of cwnd). Ours, as Linux, reduces cwnd by PRR over one RTT without growth. Ours with "
        "`reduction = one-step` behaves as ns-3 does, and has the longer queue too.",
        "**Alpha** is a float, ours has Linux's 10 bits (`arithmetic = linux`). On an ACK with ECE ns-3 reduces "
        "cwnd by the alpha of the previous round, then updates alpha; ours (`order = estimate-first`, as "
        "Linux) updates first. Both start with alpha = 1 and have g = 1/16.",
        "**ACKs.** One for two segments, with our timer. When CE flips, ns-3 sends a pending ACK with the old "
        "echo and delays the new one as usual (ours: `flip = when-waiting` is similar). Linux and lowtide send "
        "the new one at once too, and acknowledge a segment with CWR at once (`cwr-ack = at-once`). So ns-3 has "
        "several percent fewer ACKs and receives marks later: its queue is longer.",
        "**ECT** is on data, ACKs, SYNs and retransmissions; so is ours (`ect = all`).",
        "**Loss.** ns-3 has neither RACK nor TLP. Its RTO has "
        "the same minimum and granularity. None of this matters without drops.",
        "**No jitter.** Our hosts delay a segment by up to 1 us (`host-jitter`), theirs do not. Flows start at "
        "the same picosecond in both.",
        "**Routes** are computed by our program: a table by destination and a hash of the five-tuple. ns-3's "
        "global routing has one path, or a random one for each packet, and is slower. Its Python bindings are "
        "not used.",
    )
    matched_settings: Mapping[str, str] = {
        "disturbance.host-jitter": "0 s",
        "transport.sender.reduction": "one-step",
        "transport.sender.dctcp.arithmetic": "q20",
        "transport.sender.dctcp.order": "cut-first",
        "transport.receiver.dctcp.flip": "when-waiting",
        "transport.receiver.dctcp.cwr-ack": "as-usual",
    }
    reported: Sequence[str] = (
        "An optimised build from source (development tree after 3.48, `-O3 -march=native`, asserts and logs "
        "off) reached about 175,000 packet-hops per CPU second on a similar dumbbell and about 115,000 on a "
        "similar tree, on another day. It was not measured here.",
    )

    def __init__(self) -> None:
        self.program: Path | None = None

    def install(self, cache: Path) -> str:
        home = cache / f"ns3-{VERSION}"
        package = installed(home)
        self.program = built(home, package)
        return VERSION

    def run(self, job: Job, work: Path) -> Row:
        if self.program is None:
            raise PeerError("call install before run")
        job_file = work / "job.txt"
        files.write(job_file, translate(job))
        usage = measure.run([self.program, job_file])
        answer = json.loads(usage.stdout)
        if answer.pop("unfinished"):
            raise PeerError(
                f"{job.scenario.name}: flows of ns-3 did not complete; give the run more time"
            )
        return Row(
            scenario=job.scenario.name,
            tool=self.name,
            version=VERSION,
            cpu_s=usage.cpu_s,
            peak_rss_mib=usage.peak_rss_mib,
            **answer,
        )


def installed(home: Path) -> Path:
    """Installs the package in a virtual environment; returns its folder."""
    environment, done = home / "venv", home / "installed"
    if not done.is_file():
        print(f"installing ns3 {VERSION} into {home} (70 MB, once)", file=sys.stderr)
        shutil.rmtree(environment, ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        try:
            measure.run([sys.executable, "-m", "venv", environment])
        except PeerError as e:
            raise PeerError(
                f"Python cannot make a virtual environment (Debian: apt install python3-venv)\n{e}"
            ) from e
        pip: list[str | Path] = [
            environment / "bin" / "python",
            "-m",
            "pip",
            "--disable-pip-version-check",
        ]
        try:
            # Only its libraries and headers are used, so dependencies of its bindings are omitted.
            measure.run(
                [
                    *pip,
                    "install",
                    "--quiet",
                    "--only-binary",
                    ":all:",
                    "--no-deps",
                    f"ns3=={VERSION}",
                ]
            )
        except PeerError as e:
            raise PeerError(
                "ns3 could not be installed: is there a network, and is the registry reachable "
                f"(PIP_INDEX_URL, PIP_PROXY)? It must also have a wheel for this Python and machine.\n{e}"
            ) from e
        files.write(done, VERSION + "\n")
    found = sorted(environment.glob("lib/python3*/site-packages/ns3"))
    if not found:
        raise PeerError(
            f"{environment} contains no ns3: delete {home} and start again"
        )
    return found[0]


def built(home: Path, package: Path) -> Path:
    """Compiles `ns3_cc/` against the libraries of `package`, if sources or flags changed."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise PeerError("no C++ compiler: install g++, or name one in CXX")
    libraries = package / "lib64"
    command: list[str | Path] = [compiler, *FLAGS, f"-I{package / 'include'}"]
    command += [SOURCES / "main.cc", "-Wl,--no-as-needed"]
    command += [library(libraries, module) for module in MODULES]
    command += [f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    digest = hashlib.sha256("\0".join(map(str, command)).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.read_bytes())
    key = digest.hexdigest()[:16]
    program = home / f"run-{key}"
    if not program.is_file():
        print("compiling ns3_cc", file=sys.stderr)
        part = program.with_suffix(f".{os.getpid()}.part")
        try:
            measure.run([*command, "-o", part])
            part.replace(program)
        finally:
            part.unlink(missing_ok=True)
    return program


def library(folder: Path, module: str) -> Path:
    found = [
        p
        for p in folder.glob("libns3*.so")
        if re.fullmatch(rf"libns3\.\d+-{module}\.so", p.name)
    ]
    if len(found) != 1:
        raise PeerError(f"no library for ns-3's module {module} in {folder}")
    return found[0]


def translate(job: Job) -> str:
    """Returns the file that `ns3_cc/job.h` reads. Unsupported settings are refused."""
    resolved = job.resolved
    sender, receiver, connection = (
        common_settings(resolved["hosts"], t)
        for t in ("sender", "receiver", "connection")
    )
    switch = resolved["switch"]
    mark = switch.get("mark", {})
    needed: list[tuple[str, object, object]] = [
        ("sender.cc", sender["cc"], "dctcp"),
        ("sender.dctcp.shift-g", sender["dctcp"]["shift-g"], 4),
        ("receiver.ack", receiver["ack"], "dctcp"),
        ("connection.timestamps", connection["timestamps"], True),
        ("connection.sack", connection["sack"], True),
        ("switch.mark.kind", mark.get("kind"), "step"),
        ("switch.count-in-service", switch["count-in-service"], False),
        ("topology.framing", resolved["topology"]["framing"], "ethernet"),
        ("run.end", resolved["run"]["end"] in ("duration", "done"), True),
    ]
    for key, value, known in needed:
        if value != known:
            raise PeerError(
                f"ns-3 is compared with {key} = {known!r} only, and this scenario has {value!r}"
            )
    endless = [f.size_bytes is None for f in job.flows]
    if any(endless) and not all(endless):
        raise PeerError("ns-3 is compared on flows that all have a size, or all none")
    settings = {
        "duration_ps": whole(resolved["run"]["duration"], TIME_PS),
        "warmup_ps": whole(resolved["run"]["warmup"], TIME_PS),
        "framing_bytes": ETHERNET_BYTES,
        "k_packets": whole(mark["k"], PACKETS),
        "buffer_packets": whole(switch["buffer"], BYTES) // connection["mtu"],
        "mss_bytes": job.mss_bytes,
        "initial_window": sender["initial-window"],
        "delack_segments": receiver["delack-segments"],
        "delack_timer_ps": whole(receiver["delack-timer"], TIME_PS),
        "rto_initial_ps": whole(sender["rto-initial"], TIME_PS),
        "rto_min_ps": whole(sender["rto-min"], TIME_PS),
        "rto_granularity_ps": whole(sender["rto-granularity"], TIME_PS),
        "send_buffer_bytes": whole(sender["send-buffer"], BYTES),
        "receive_buffer_bytes": whole(receiver["receive-buffer"], BYTES),
    }
    lines = [f"set {name} {value}" for name, value in settings.items()]
    lines += [f"host {host}" for host in job.hosts]
    lines += [f"link {k.a} {k.b} {k.rate_bps} {k.delay_ps}" for k in job.links]
    lines += [f"watch {a} {b}" for a, b in watched(job)]
    lines += [
        f"flow {f.source} {f.destination} {f.size_bytes or 0} {f.start_ps}"
        for f in job.flows
    ]
    return "\n".join(lines) + "\n"


def common_settings(hosts: Mapping[str, Any], table: str) -> Mapping[str, Any]:
    """Returns the settings of all host groups, which must be equal: ns-3's are global."""
    tables = [group[table] for group in hosts.values()]
    if any(t != tables[0] for t in tables):
        raise PeerError(
            f"ns-3 is compared with hosts of one kind; these differ in [{table}]"
        )
    common: Mapping[str, Any] = tables[0]
    return common


def watched(job: Job) -> list[tuple[str, str]]:
    """Returns the ports whose queues are averaged, as node and next node."""
    if job.scenario.queue is not None:
        a, b = job.scenario.queue.split("->")
        return [(a, b)]
    hosts = set(job.hosts)
    ends = [pair for k in job.links for pair in ((k.a, k.b), (k.b, k.a))]
    return [(a, b) for a, b in ends if a not in hosts]


PEER = Ns3()
