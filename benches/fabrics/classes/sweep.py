"""Sweeps K by class of ports with `lowtide run`: the judge of `lowtide advise`.

Usage: sweep.py LOWTIDE DIR NAME...   (NAME of a fabric beside this file)

Flows and ports of the utilisation tests were placed by hand; nothing is taken from `advise`.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Pipes of the tail sweep with their K in kB; then tests: lines, direction, K in kB, and for each
# number of flows their sources and destinations.
HOSTS = [10, 14, 17, 21, 24, 27, 31, 38, 60, 150, 300]
UP = [17, 24, 28, 33, 38, 44, 50, 76, 150, 400]
STORE_UP = [24, 30, 36, 42, 50, 65, 100, 200, 600]
TREE = [6, 8, 9.5, 11, 13, 15, 20, 30, 60, 150]
FABRICS = {
    "oversub": {
        "measure": ("slowdown", "web", "0 B-100 kB"),
        "tail": {
            "host": (["servers"], "down", [10, 17, 24, 27, 38, 76, 150]),
            "fabric": (["leaf-spine"], "both", [17, 27, 38, 44, 76, 150, 300]),
        },
        "tests": {
            "host": (["servers"], "down", HOSTS, {
                n: ([f"servers[8..{8 + n}]"], ["servers.0"]) for n in (2, 4, 8)}),
            "up": (["leaf-spine"], "right", UP, {
                n: ([f"servers[0..{n}]"], [f"servers[8..{8 + n}]"]) for n in (3, 5, 8)}),
            "down": (["leaf-spine"], "left", UP, {
                n: ([f"servers[8..{8 + (n + 1) // 2}]", f"servers[16..{16 + n // 2}]"],
                    [f"servers[0..{n}]"]) for n in (3, 5, 8)}),
        },
    },
    "storage": {
        "measure": ("qct_ms", "reads", None),
        "tail": {
            "host": (["clients", "servers"], "down", [10, 17, 24, 31, 40, 80, 160]),
            "fabric": (["leaf-spine"], "both", [22, 36, 42, 65, 130, 260]),
        },
        "tests": {
            "host": (["clients", "servers"], "down", HOSTS, {
                n: ([f"servers[0..{n}]"], ["clients.0"]) for n in (2, 4, 8)}),
            "up": (["leaf-spine"], "right", STORE_UP, {
                n: ([f"clients[0..{n}]"], [f"servers[0..{n}]"]) for n in (5, 6)}),
            "down": (["leaf-spine"], "left", STORE_UP, {
                n: ([f"servers[0..{(n + 1) // 2}]", f"servers[6..{6 + n // 2}]"],
                    [f"clients[0..{n}]"]) for n in (5, 6)}),
        },
    },
    "tree": {
        "measure": ("slowdown", "web", "0 B-100 kB"),
        "tail": {
            "host": (["servers"], "down", [6, 8, 9.5, 11, 15, 30, 60]),
            "fabric": (["tor-agg", "agg-core"], "both", [6, 9.5, 15, 30, 60, 120]),
        },
        "tests": {
            "host": (["servers"], "down", TREE, {
                n: ([f"servers[4..{4 + n}]"], ["servers.0"]) for n in (2, 4, 8)}),
            "tor-agg": (["tor-agg"], "right", TREE, {
                2: (["servers[0..2]"], ["servers[4..6]"])}),
            "agg-core": (["agg-core"], "right", TREE, {
                2: (["servers.0", "servers.2"], ["servers[4..6]"]),
                4: (["servers[0..4]"], ["servers[4..8]"])}),
        },
    },
}
STEP = '[switch.mark]\nkind = "step"\nk = "300 kB"\nnot-ect = "drop"\n'


def pipe(name, on, direction):
    """A pipe whose K is swept."""
    mark = STEP.replace("switch", f"pipe.{name}")
    return f'[pipe.{name}]\non = {json.dumps(on)}\ndirection = "{direction}"\n{mark}'


def swept(name, values):
    """A line of `[sweep]`."""
    return f'"pipe.{name}.mark.k" = {json.dumps([f"{k} kB" for k in values])}\n'


def run(program, folder, name, text, seeds):
    """Returns the results of a scenario."""
    file = folder / f"{name}.toml"
    file.write_text(text)
    command = [program, "run", file, "-o", folder / name, "--seeds", str(seeds), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def tails(program, folder, name, fabric):
    """Prints the 99th percentile at every pair of K, over the least one."""
    text = (HERE / f"{name}.toml").read_text()
    text += 'size-classes = ["100 kB", "1 MB", "10 MB"]\n'  # of its last table, [probes]
    text += "".join(pipe(key, on, way) for key, (on, way, _) in fabric["tail"].items())
    text += "[sweep]\n" + "".join(swept(key, ks) for key, (_, _, ks) in fabric["tail"].items())
    results = run(program, folder, f"{name}-tail", text, 8)
    wanted = fabric["measure"]
    rows = [r for r in results["tails"] if (r["metric"], r["group"], r.get("class")) == wanted]
    least = min(row["p99"]["value"] for row in rows)
    for row in rows:
        print(name, *row["point"].values(), f"{row['p99']['value'] / least:.3f}")


def lines(program, folder, name, fabric):
    """Prints the goodput that each K loses, percent of the best."""
    head = (HERE / f"{name}.toml").read_text().split("[traffic.")[0]
    head = head.replace('duration = "5 s"', 'duration = "40 ms"\nwarmup = "12 ms"')
    head = head.replace('end = "done"', 'end = "duration"').replace('"ecmp"', '"single"')
    head = head.replace("[transport]", STEP + "[transport]", 1)
    for key, (on, way, ks, tests) in fabric["tests"].items():
        for n, (sources, sinks) in tests.items():
            text = head + f"[traffic.long]\nfrom = {json.dumps(sources)}\nto = {json.dumps(sinks)}\n"
            text += f'count = {n}\nsize = "unlimited"\n[probes]\ninterval = "off"\n'
            text += pipe("x", on, way) + "[sweep]\n" + swept("x", ks)
            rates = {}
            for one in run(program, folder, f"{name}-{key}-{n}", text, 2)["runs"]:
                (k,) = one["point"].values()
                rates.setdefault(k, []).append(one["groups"][0]["goodput_mbps"])
            means = {k: statistics.mean(all) for k, all in rates.items()}
            best = max(means.values())
            print(name, key, n, *(f"{k}: {(1 - v / best) * 100:.1f}" for k, v in means.items()))


if __name__ == "__main__":
    to = Path(sys.argv[2])
    to.mkdir(parents=True, exist_ok=True)
    for fabric in sys.argv[3:]:
        tails(sys.argv[1], to, fabric, FABRICS[fabric])
        lines(sys.argv[1], to, fabric, FABRICS[fabric])
