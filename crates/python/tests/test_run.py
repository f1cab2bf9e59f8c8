"""Runs: digests, directories, progress, interrupts."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import lowtide as lt
import pytest

SCRIPT = Path(sys.executable).with_name("lowtide")


def command(*args: str, cwd: Path) -> dict:
    done = subprocess.run([SCRIPT, "--json", *args], cwd=cwd, check=True, capture_output=True)
    return json.loads(done.stdout)


def test_the_digest_is_that_of_the_command(tmp_path, first_light) -> None:
    answer = command("run", "first-light", "--seeds", "3", "-o", "out", cwd=tmp_path)
    assert answer["digest"] == first_light.digest
    assert lt.load(tmp_path / "out").digest == first_light.digest


def test_swept_values_and_schemes(tmp_path) -> None:
    sizes = ["20 kB", "40 kB"]
    result = lt.scenario("first-light").run(
        1, over={"traffic.pair.size": sizes}, schemes=["cubic", "dctcp"]
    )
    runs = result.runs.pandas()
    assert len(runs) == 4 and set(runs["scheme"]) == {"cubic", "dctcp"}
    assert set(runs["traffic.pair.size"]) == set(sizes)
    # The command of the manifest repeats the results.
    words = shlex.split(result.manifest["command"])
    assert words[:3] == ["lowtide", "run", "first-light"]
    assert command(*words[1:], "-o", "again", cwd=tmp_path)["digest"] == result.digest


def test_a_temporary_directory_is_removed_with_its_result() -> None:
    result = lt.scenario("first-light").run()
    directory, table = result.dir, result.flows
    del result
    assert directory.is_dir(), "the table keeps it"
    assert len(table.pandas()) > 0
    del table
    assert not directory.exists()


def test_finished_runs_are_kept(tmp_path) -> None:
    scenario = lt.scenario("first-light")
    first = scenario.run(seeds=2, out=tmp_path / "out")
    began = (tmp_path / "out" / "flows.parquet").stat().st_mtime_ns
    second = scenario.run(seeds=2, out=tmp_path / "out")
    assert second.digest == first.digest
    assert (tmp_path / "out" / "flows.parquet").stat().st_mtime_ns == began


def test_another_scenario_in_the_directory_is_refused(tmp_path) -> None:
    lt.scenario("first-light").run(out=tmp_path / "out")
    with pytest.raises(lt.RunError, match="out"):
        lt.scenario("first-light").set("traffic.pair.size", "40 kB").run(out=tmp_path / "out")
    with pytest.raises(lt.RunError):
        lt.load(tmp_path)


def test_progress_ends_near_one() -> None:
    told = []
    lt.scenario("leaf-spine").run(progress=lambda share, text: told.append((share, text)))
    assert told and all(0.0 <= share <= 1.0 for share, _ in told)
    assert [share for share, _ in told] == sorted(share for share, _ in told)


def test_an_exception_in_progress_stops_the_run(tmp_path) -> None:
    class Enough(Exception):
        pass

    def stop(share: float, text: str) -> None:
        raise Enough

    began = time.monotonic()
    with pytest.raises(Enough):
        lt.scenario("leaf-spine").run(seeds=200, progress=stop, out=tmp_path / "out")
    assert time.monotonic() - began < 10
    with pytest.raises(lt.RunError, match="interrupted run"):
        lt.load(tmp_path / "out")


def test_the_gil_is_released() -> None:
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    lt.scenario("leaf-spine").run(seeds=2)
    took = time.monotonic() - began
    ended.set()
    thread.join()
    assert counted > took * 50, (counted, took)


def test_ctrl_c_ends_a_run_at_once(tmp_path) -> None:
    code = (
        "import lowtide as lt, sys\n"
        "try:\n"
        "    dot = lambda *_: print('.', flush=True)\n"
        "    lt.scenario('leaf-spine').run(seeds=1000, progress=dot)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    began = time.monotonic()
    assert process.wait(timeout=30) == 7
    assert time.monotonic() - began < 5
    process.stdout.close()


def test_the_command_of_the_package(tmp_path) -> None:
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert lt.__version__ in done.stdout
    wrong = subprocess.run(
        [SCRIPT, "run", "leaf-spin"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2 and "leaf-spine" in wrong.stderr
    module = [sys.executable, "-m", "lowtide", "list", "scenarios"]
    assert "leaf-spine" in subprocess.run(module, capture_output=True, text=True, check=True).stdout
    flags = subprocess.run([SCRIPT, "--nothing"], capture_output=True, text=True, check=False)
    assert flags.returncode == 2 and "--nothing" in flags.stderr
