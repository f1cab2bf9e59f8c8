"""A sweep of 500 points on Dask, Ray and Slurm of this machine, with and without a lost worker.

python benches/engines/measure.py [one-2] [one-1] [dask] [dask-lost] [ray] [ray-lost] [slurm] ...
prints a line of JSON for each, with the load average before it. Needs two idle CPUs; Slurm needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "crates" / "python" / "tests"
sys.path.insert(0, str(TESTS))

import lowtide as lt
from test_clusters import dask, job_array, ray

ENGINES = {"dask": dask, "ray": ray, "slurm": job_array}
POINTS = 500
TASKS = 100


def sweep(**options: Any) -> lt.Result:
    """Two transfers of 100 MB for each point, about 0.2 s in a debug build."""
    sizes = [f"{100_000 + point} kB" for point in range(POINTS)]
    scenario = lt.scenario("first-light").set("probes.interval", "10 ms")
    return scenario.run(1, {"traffic.pair.size": sizes}, ["dctcp"], **options)


def measure(name: str, directory: Path) -> dict[str, Any]:
    """`one-N` is one process with N concurrent runs; `-lost` loses a worker half-way."""
    engine, _, loss = name.partition("-")
    with ExitStack() as stack:
        options: dict[str, Any] = {"jobs": int(loss)} if engine == "one" else {"tasks": TASKS}
        lost: list[float] = []
        if engine != "one":
            executor, lose_worker = stack.enter_context(ENGINES[engine](directory))

            def progress(share: float, text: str) -> None:
                if loss and not lost and share >= 0.5 and lose_worker():
                    lost.append(share)

            options |= {"on": executor, "progress": progress}
        load = round(os.getloadavg()[0], 1)
        began = time.monotonic()
        result = sweep(out=directory / "out", **options)
        wall = time.monotonic() - began
    if loss == "lost" and not lost:
        sys.exit(f"{name}: no worker was lost")
    runs = len(result.manifest["runs"])
    measured = {"name": name, "wall_s": round(wall, 1), "load": load, "runs": runs}
    return measured | {"digest": result.digest} | ({"lost_at": lost[0]} if lost else {})


def main() -> None:
    both = [engine + lost for engine in ENGINES for lost in ("", "-lost")]
    names = sys.argv[1:] or ["one-2", "one-1", *both]
    with tempfile.TemporaryDirectory() as temporary:
        slurm = Path(temporary) / "slurm"
        script = ["bash", TESTS / "slurm.sh"]
        if any(name.startswith("slurm") for name in names):
            subprocess.run([*script, "up", slurm], check=True)
            os.environ["SLURM_CONF"] = str(slurm / "slurm.conf")
        try:
            for number, name in enumerate(names):
                # A separate directory: a repeated name would find the earlier result.
                print(json.dumps(measure(name, Path(temporary) / f"{number}-{name}")), flush=True)
        finally:
            if slurm.exists():
                subprocess.run([*script, "down", slurm], check=True)


if __name__ == "__main__":
    main()
