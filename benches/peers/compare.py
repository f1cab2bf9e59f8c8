#!/usr/bin/env python3
"""Runs the same scenarios on lowtide and on other simulators, and compares speed and results.

    python3 benches/peers/compare.py            three runs of each, medians; about ten minutes
    python3 benches/peers/compare.py --quick    shorter scenarios, one run; under two minutes

Writes results.json and results.md, and prints the page. Exit 0: the results agree where they must;
3: they do not; 1: something is missing or failed; 2: bad usage.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

if sys.version_info < (3, 11):
    sys.exit("this needs Python 3.11 or newer (tomllib)")
sys.dont_write_bytecode = True

import files
import page
import peers
import scenarios
from model import Peer, PeerError, Row, Scenario
from lowtide import Lowtide

ROOT = Path(__file__).resolve().parents[2]


def registered(package: Any, attribute: str) -> list[Any]:
    """Returns `attribute` of every module of `package`."""
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    return [
        getattr(importlib.import_module(f"{package.__name__}.{name}"), attribute)
        for name in names
    ]


def chosen(known: Sequence[Any], names: Sequence[str], what: str) -> list[Any]:
    """Returns the named ones of `known`; all if `names` is empty."""
    by_name = {k.name: k for k in known}
    for name in names:
        if name not in by_name:
            raise PeerError(f"there is no {what} `{name}`: {', '.join(by_name)}")
    return [by_name[name] for name in names] if names else list(known)


def compare(
    lowtide: Lowtide, scenario: Scenario, others: Sequence[Peer], quick: bool, runs: int
) -> page.Comparison:
    """Runs the tools in turn, `runs` times, so that other load affects all of them."""
    version = lowtide.version()
    settings = scenario.settings(quick)
    own_rows: list[Row] = []
    peer_rows: dict[str, list[Row]] = {peer.name: [] for peer in others}
    for i in range(runs):
        with tempfile.TemporaryDirectory(prefix="lowtide-peers-") as folder:
            row, directory = lowtide.run(scenario, settings, version, Path(folder))
            log(f"{scenario.name} {i + 1}/{runs}: lowtide {row.cpu_s:.2f} CPU s")
            own_rows.append(row)
            job = lowtide.job(scenario, directory)
        for peer in others:
            with tempfile.TemporaryDirectory(prefix="lowtide-peers-") as folder:
                row = peer.run(job, Path(folder))
                log(
                    f"{scenario.name} {i + 1}/{runs}: {peer.name} {row.cpu_s:.2f} CPU s"
                )
                peer_rows[peer.name].append(row)
    matched_runs = []
    for peer in others:
        with tempfile.TemporaryDirectory(prefix="lowtide-peers-") as folder:
            row, _ = lowtide.run(
                scenario, {**settings, **peer.matched_settings}, version, Path(folder)
            )
            matched_runs.append(replace(row, tool=page.matched_name(peer.name)))
    return page.Comparison(
        scenario,
        page.median(own_rows),
        [page.median(r) for r in peer_rows.values()],
        matched_runs,
    )


def facts(quick: bool, runs: int, load_before: float) -> dict[str, str]:
    """Returns the facts that the numbers depend on."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "machine": f"{os.cpu_count()} CPUs, {model}",
        "load average": f"{load_before:.1f} before, {os.getloadavg()[0]:.1f} after",
        "mode": f"{'quick' if quick else 'full'}, {runs} run(s) of each, in turn; medians, with the extremes",
        "time": "CPU seconds, user and system, of the whole process: start, run, results",
        "packet-hop": "one packet fully serialised by one output queue, including hosts' queues and ACKs",
        "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "scenarios", nargs="*", help="scenarios to run; default: all"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        help="peers to run; default: all",
    )
    parser.add_argument(
        "--quick", action="store_true", help="shorter scenarios, one run of each"
    )
    parser.add_argument(
        "-n", "--runs", type=int, help="number of runs of each (3, quick: 1)"
    )
    parser.add_argument(
        "--lowtide",
        type=Path,
        metavar="PATH",
        help="the binary; default: target/release/lowtide",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=ROOT / "target" / "peers" / "cache",
        help="folder for installed peers",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=ROOT / "target" / "peers",
        help="folder for results",
    )
    parser.add_argument(
        "--json", action="store_true", help="print the JSON instead of the page"
    )
    options = parser.parse_args(arguments)
    if options.runs is not None and options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    # SIGTERM acts as Ctrl-C does: the running simulator must not be left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        which = chosen(registered(scenarios, "SCENARIO"), options.scenarios, "scenario")
        others = chosen(registered(peers, "PEER"), options.peer, "peer")
        lowtide = Lowtide.find(options.lowtide, ROOT)
        for peer in others:
            log(f"{peer.name} {peer.install(options.cache.resolve())} is ready")
        runs = options.runs or (1 if options.quick else 3)
        load = os.getloadavg()[0]
        compared = [
            compare(lowtide, scenario, others, options.quick, runs)
            for scenario in which
        ]
        known = facts(options.quick, runs, load)
        text = page.markdown(compared, others, known)
        data = json.dumps(page.to_json(compared, known), indent=2) + "\n"
        files.write(options.out / "results.md", text)
        files.write(options.out / "results.json", data)
    except (PeerError, OSError) as e:
        log(f"error: {e}")
        return 1
    except KeyboardInterrupt:
        log("interrupted; nothing was written")
        return 1
    print(data if options.json else text, end="")
    log(f"results.md and results.json are in {options.out}")
    return 0 if all(a.agrees for c in compared for a in c.agreements()) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
