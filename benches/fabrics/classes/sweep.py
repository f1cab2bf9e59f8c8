"""Sweeps K by class of ports with `lowtide run`, and judges the advice of `lowtide advise` by it.

Usage: sweep.py sweep LOWTIDE DIR NAME...    (NAME of a fabric beside this file)
       sweep.py judge LOWTIDE DIR NAME...    (after it: asks for advice, and judges it)

Flows and ports of the utilisation tests were placed by hand; nothing is taken from `advise`.
"""

import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
SEEDS = 8


def hosts(*counts, first=8):
    """Flows from `n` servers of other racks to one."""
    return {n: ([f"servers[{first}..{first + n}]"], ["servers.0"]) for n in counts}


def up(*counts, to=8):
    """Flows from `n` servers of the first rack to as many of another one."""
    return {n: ([f"servers[0..{n}]"], [f"servers[{to}..{to + n}]"]) for n in counts}


def down(*counts, a=8, b=16):
    """Flows from two racks, whose first servers are `a` and `b`, to `n` of the first one."""
    return {n: ([f"servers[{a}..{a + (n + 1) // 2}]", f"servers[{b}..{b + n // 2}]"],
                [f"servers[0..{n}]"]) for n in counts}


# By fabric: the measure; three loads; of the tail sweep the lines, direction and K in kB of two
# classes; of each utilisation test the same, and by number of flows the sources and destinations.
# `rest` is K of all others in kB, `span` the duration and warm-up of these tests.
WEB = ("slowdown", "web", "0 B-100 kB")
HOST = (["servers"], "down")
FABRIC = (["leaf-spine"], "both")
UP = (["leaf-spine"], "right")
DOWN = (["leaf-spine"], "left")
HOSTS_25G = [10, 14, 17, 21, 24, 27, 31, 38, 60, 150, 300]
UP_50G = [17, 24, 28, 33, 38, 44, 50, 76, 150, 400]
UP_100G = [24, 30, 36, 42, 50, 65, 100, 200, 600]
TREE = [6, 8, 9.5, 11, 13, 15, 20, 30, 60, 150]
HOSTS_10G = [6, 8, 9.5, 11, 13, 15, 20, 30, 60, 150]
UP_20G = [8, 11, 15, 20, 25, 32, 40, 60, 120, 300]
HOSTS_100G = [15, 20, 27, 35, 45, 55, 70, 90, 150, 400]
UP_200G = [30, 40, 55, 70, 90, 110, 140, 180, 300, 800]
HOSTS_200G = [40, 60, 80, 100, 130, 160, 200, 260, 400, 800]
UP_400G = [80, 110, 150, 200, 250, 320, 400, 600, 1000, 2000]
JUMBO = [36, 45, 54, 64, 75, 90, 110, 150, 300]
JUMBO_UP = [36, 45, 54, 64, 75, 90, 110, 150, 200, 400]
FABRICS = {
    "oversub": {
        "measure": WEB, "load": ("web.load", ["15 %", "22 %", "30 %"]),
        "tail": [(*HOST, [10, 17, 24, 27, 38, 76, 150]), (*FABRIC, [17, 27, 38, 44, 76, 150])],
        "tests": {
            "leaf-host": (*HOST, HOSTS_25G, hosts(2, 4, 8)),
            "leaf-spine": (*UP, UP_50G, up(3, 5, 8)),
            "spine-leaf": (*DOWN, UP_50G, down(3, 5, 8)),
        },
    },
    "oversub4": {
        "measure": WEB, "load": ("web.load", ["8 %", "12 %", "18 %"]),
        "tail": [(*HOST, [6, 9.5, 13, 20, 40, 80]), (*FABRIC, [8, 13, 20, 32, 60, 120])],
        "tests": {
            "leaf-host": (*HOST, HOSTS_10G, hosts(2, 4, 8)),
            "leaf-spine": (*UP, UP_20G, up(3, 5, 8)),
            "spine-leaf": (*DOWN, UP_20G, down(3, 4)),
        },
    },
    "jumbo": {
        "measure": WEB, "load": ("web.load", ["15 %", "22 %", "30 %"]),
        "tail": [(*HOST, [36, 54, 75, 110, 180]), (*FABRIC, [36, 54, 75, 110, 180, 300])],
        "tests": {
            "leaf-host": (*HOST, JUMBO, hosts(2, 4, 8)),
            "leaf-spine": (*UP, JUMBO_UP, up(3, 5, 8)),
            "spine-leaf": (*DOWN, JUMBO_UP, down(3, 4)),
        },
    },
    "hundred": {
        "measure": WEB, "load": ("web.load", ["20 %", "30 %", "45 %"]),
        "seeds": 5, "rest": 800, "span": ("10 ms", "3 ms"),
        "tail": [(*HOST, [35, 55, 90, 200]), (*FABRIC, [55, 90, 140, 300])],
        "tests": {
            "leaf-host": (*HOST, HOSTS_100G, hosts(2, 4, 8, first=6)),
            "leaf-spine": (*UP, UP_200G, up(3, 5, 6, to=6)),
            "spine-leaf": (*DOWN, UP_200G, down(3, 4, a=6, b=12)),
        },
    },
    "storage": {
        "measure": ("qct_ms", "reads", None), "load": ("background.load", ["10 %", "20 %", "40 %"]),
        "tail": [(["clients", "servers"], "down", [10, 17, 24, 31, 40, 80, 160]),
                 (*FABRIC, [22, 36, 42, 65, 130, 260])],
        "tests": {
            "leaf-host": (["clients", "servers"], "down", HOSTS_25G, {
                n: ([f"servers[0..{n}]"], ["clients.0"]) for n in (2, 4, 8)}),
            "leaf-spine": (*UP, UP_100G, {
                n: ([f"clients[0..{n}]"], [f"servers[0..{n}]"]) for n in (5, 6)}),
            "spine-leaf": (*DOWN, UP_100G, {
                n: ([f"servers[0..{(n + 1) // 2}]", f"servers[6..{6 + n // 2}]"],
                    [f"clients[0..{n}]"]) for n in (5, 6)}),
        },
    },
    "rack": {
        "measure": ("qct_ms", "reads", None), "load": ("background.load", ["10 %", "20 %", "40 %"]),
        "tail": [(["clients", "servers"], "down", [6, 10, 14, 17, 21, 24, 31, 40, 60, 80, 160])],
        "tests": {
            "switch-host": (["clients", "servers"], "down", HOSTS_25G, {
                n: ([f"servers[0..{n}]"], ["clients.0"]) for n in (2, 4, 8)}),
        },
    },
    "training": {
        "measure": ("step_ms", "train", None), "load": ("train.data", ["1 MB", "4 MB", "16 MB"]),
        "rest": 2000, "span": ("10 ms", "3 ms"),
        "tail": [(*HOST, [60, 100, 160, 260, 500]), (*FABRIC, [110, 200, 320, 600, 1200])],
        "tests": {
            "leaf-host": (*HOST, HOSTS_200G, hosts(2, 4, 8)),
            "leaf-spine": (*UP, UP_400G, up(3, 5, 8)),
        },
    },
    "tree": {
        "measure": WEB, "load": ("web.load", ["20 %", "35 %", "50 %"]),
        "tail": [(*HOST, [6, 8, 9.5, 11, 15, 30, 60]),
                 (["tor-agg", "agg-core"], "both", [6, 9.5, 15, 30, 60, 120])],
        "tests": {
            "tor-host": (*HOST, TREE, {n: ([f"servers[4..{4 + n}]"], ["servers.0"]) for n in (2,)}),
            "tor-agg": (["tor-agg"], "right", TREE, {2: (["servers[0..2]"], ["servers[4..6]"])}),
            "agg-core": (["agg-core"], "right", TREE, {
                2: (["servers.0", "servers.2"], ["servers[4..6]"]),
                4: (["servers[0..4]"], ["servers[4..8]"])}),
        },
    },
}
STEP = '[switch.mark]\nkind = "step"\nk = "{} kB"\nnot-ect = "drop"\n'
CLASSES = 'size-classes = ["100 kB", "1 MB", "10 MB"]\n'  # of the last table, [probes]


def kilobytes(text):
    """A size as results have it, as `24 kB` or `9500 B`."""
    number, unit = text.split()
    return float(number) * {"B": 1e-3, "kB": 1, "MB": 1e3}[unit]


def pipe(name, on, direction, k):
    """A pipe with a threshold."""
    mark = STEP.format(k).replace("switch", f"pipe.{name}")
    return f'[pipe.{name}]\non = {json.dumps(on)}\ndirection = "{direction}"\n{mark}'


def swept(name, values):
    """A line of `[sweep]`."""
    return f'"pipe.{name}.mark.k" = {json.dumps([f"{k} kB" for k in values])}\n'


def run(program, folder, name, text, seeds):
    """Returns the results of a scenario."""
    file = folder / f"{name}.toml"
    file.write_text(text)
    shutil.rmtree(folder / name, ignore_errors=True)
    command = [program, "run", file, "-o", folder / name, "--seeds", str(seeds), "--json", "-q"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def scenario(name, load):
    """The fabric with one of its loads."""
    text = (HERE / f"{name}.toml").read_text()
    key, _ = FABRICS[name]["load"]
    group, key = key.split(".")
    own = tomllib.loads(text)["traffic"][group][key]
    head, rest = text.split(f"[traffic.{group}]")
    return head + f"[traffic.{group}]" + rest.replace(f'{key} = "{own}"', f'{key} = "{load}"', 1)


def tail(fabric, results):
    """The measure by point of the sweep."""
    of = [r for r in results["tails"]
          if (r["metric"], r["group"], r.get("class")) == fabric["measure"]]
    statistic = next(s for s in ("p99", "p95", "p50") if all(r[s]["value"] for r in of))
    return {",".join(row["point"].values()): row[statistic]["value"] for row in of}


def tails(program, folder, name, load):
    """The measure at every pair of K."""
    fabric = FABRICS[name]
    pipes = [(f"t{i}", *rest) for i, rest in enumerate(fabric["tail"])]
    text = scenario(name, load) + CLASSES
    text += "".join(pipe(key, on, way, "300") for key, on, way, _ in pipes)
    text += "[sweep]\n" + "".join(swept(key, ks) for key, _, _, ks in pipes)
    label = f"{name}-tail-{load.replace(' ', '')}"
    return tail(fabric, run(program, folder, label, text, fabric.get("seeds", SEEDS)))


def line(program, folder, name, key, n, ks):
    """The goodput of a number of flows at each K of a class, Mbit/s."""
    fabric = FABRICS[name]
    on, way, _, tests = fabric["tests"][key]
    sources, sinks = tests[n]
    duration, warmup = fabric.get("span", ("40 ms", "12 ms"))
    table = (HERE / f"{name}.toml").read_text().split("[traffic.")[0]
    table = "\n".join(row for row in table.splitlines() if not row.startswith("warmup")) + "\n"
    table = table.replace('duration = "5 s"', f'duration = "{duration}"\nwarmup = "{warmup}"')
    table = table.replace('end = "done"', 'end = "duration"').replace('"ecmp"', '"single"')
    rest = fabric.get("rest", 300)
    table = table.replace("[transport]", STEP.format(rest) + "[transport]", 1)
    table += f"[traffic.long]\nfrom = {json.dumps(sources)}\nto = {json.dumps(sinks)}\n"
    table += f'count = {n}\nsize = "unlimited"\n[probes]\ninterval = "off"\n'
    table += pipe("x", on, way, rest) + "[sweep]\n" + swept("x", ks)
    rates = {}
    for one in run(program, folder, f"{name}-{key}-{n}", table, 2)["runs"]:
        (k,) = one["point"].values()
        rates.setdefault(k, []).append(one["groups"][0]["goodput_mbps"])
    return {k: statistics.mean(all) for k, all in rates.items()}


def sweep(program, folder, name):
    """Writes the results of both sweeps."""
    fabric = FABRICS[name]
    out = {"tails": {}, "lines": {}}
    for load in fabric["load"][1]:
        out["tails"][load] = tails(program, folder, name, load)
        print(name, load, out["tails"][load], flush=True)
    for key, (_, _, ks, tests) in fabric["tests"].items():
        for n in tests:
            rates = line(program, folder, name, key, n, ks)
            best = max(rates.values())
            print(name, key, n, *(f"{k}: {(1 - v / best) * 100:.1f}" for k, v in rates.items()),
                  flush=True)
            out["lines"][f"{key} {n}"] = rates
    (folder / f"{name}.json").write_text(json.dumps(out))


def judge(program, folder, name):
    """Asks for advice at each load, and prints what it loses."""
    fabric = FABRICS[name]
    known = json.loads((folder / f"{name}.json").read_text())
    # The best tail is among the values of K at which no test of the sweep loses more than a point.
    least = {}
    for test, rates in known["lines"].items():
        key = test.split()[0]
        best = max(rates.values())
        low = max([kilobytes(k) for k, v in rates.items() if v < 0.99 * best], default=0)
        least[key] = max(least.get(key, 0), low)
    for load in fabric["load"][1]:
        text = scenario(name, load)
        file = folder / f"{name}-advise.toml"
        file.write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        begin = time.monotonic()
        to = folder / f"{name}-{load.replace(' ', '')}-advice"
        subprocess.run([program, "advise", file, "-q", "-o", to], capture_output=True, check=True)
        wall = time.monotonic() - begin
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        advice = json.loads((to / "advice.json").read_text())
        ks = {row["name"]: row["k_bytes"] / 1000 for row in advice["classes"]}
        lost = {}
        for key, (_, _, _, tests) in fabric["tests"].items():
            for n in tests:
                rates = known["lines"][f"{key} {n}"]
                (own,) = line(program, folder, name, key, n, [ks[key]]).values()
                best = max(own, *rates.values())
                lost[f"{key} {n}"] = round((1 - own / best) * 100, 2)
        ends = [{key for key in fabric["tests"] if ("host" in key) == to_hosts}
                for to_hosts in (True, False)]
        fills = []
        for point, value in known["tails"][load].items():
            of = [kilobytes(k) for k in point.split(",")]
            if all(k > least[key] for k, keys in zip(of, ends) for key in keys):
                fills.append(value)
        advised = (to / "advised.toml").read_text()
        if "size-classes" not in advised:
            advised = advised.replace("[probes]\n", "[probes]\n" + CLASSES, 1)
        (own,) = tail(fabric, run(program, folder, f"{name}-own", advised,
                               fabric.get("seeds", SEEDS))).values()
        ratio = own / min(fills)
        verdict = "right" if ratio <= 1.10 and max(lost.values()) <= 1.0 else "MISS"
        print(name, load, verdict, ks, f"tail {ratio:.3f} of {len(fills)} tables, lost {lost},"
              f" {advice['confidence']}, wall {wall:.0f} s, CPU {cpu:.0f} s", flush=True)


if __name__ == "__main__":
    step, program, to, *names = sys.argv[1:]
    Path(to).mkdir(parents=True, exist_ok=True)
    for fabric in names:
        {"sweep": sweep, "judge": judge}[step](program, Path(to), fabric)
