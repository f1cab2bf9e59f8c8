"""Sweeps on engines: tasks, parts, failures, with executors of this process and its children."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import lowtide as lt
import pytest
from controls import Reno

SIZES = {"traffic.pair.size": ["20 kB", "40 kB", "60 kB"]}
SCRIPT = Path(sys.executable).with_name("lowtide")


def sweep(**options: Any) -> lt.Result:
    """Two schemes, three points, two seeds: twelve runs."""
    return lt.scenario("first-light").run(2, SIZES, **options)


class InProcess:
    """An engine that runs its tasks one by one and keeps what they got and returned."""

    def __init__(self, change: Any = None) -> None:
        self.change = change
        self.requests: list[dict] = []
        self.results: list[Any] = []

    def submit(self, fn: Any, /, *args: Any) -> Future:
        future: Future = Future()
        try:
            program, version, request = self.change(*args) if self.change else args
            self.requests.append(request)
            self.results.append(fn(program, version, request))
            future.set_result(self.results[-1])
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
        return future


def fails_after(tasks: int) -> Any:
    """Lets that many tasks succeed."""
    left = iter(range(tasks))

    def change(*args: Any) -> Any:
        if next(left, None) is None:
            raise OSError("no worker is left")
        return args

    return change


@pytest.fixture(scope="module")
def one_process() -> lt.Result:
    return sweep()


@pytest.fixture
def spawned() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


def parts(out: Path) -> list[Path]:
    return sorted(out.with_name(f"{out.name}.parts").iterdir())


@pytest.mark.parametrize("shared", [False, True])
def test_results_are_those_of_one_process(tmp_path, one_process, spawned, shared) -> None:
    result = sweep(out=tmp_path / "out", on=spawned, shared=shared)
    assert result.digest == one_process.digest
    assert os.listdir(tmp_path) == ["out"], "parts are removed"
    timed = ("runs", "wall_seconds")
    ours, theirs = (
        {key: value for key, value in r.manifest.items() if key not in timed}
        for r in (result, one_process)
    )
    assert ours == theirs, "all files and settings are equal"
    again = sweep(out=tmp_path / "out", on=InProcess(fails_after(0)), shared=shared)
    assert again.digest == one_process.digest, "no task is submitted"


def test_threads_and_a_temporary_directory(one_process) -> None:
    with ThreadPoolExecutor(2) as pool:
        result = sweep(on=pool)
    directory = result.dir
    assert result.digest == one_process.digest and directory.is_dir()
    del result
    assert not directory.parent.exists()


def test_a_task_has_the_whole_scenario(tmp_path, one_process) -> None:
    """Files that a scenario names are on the client only."""
    text, _, files = lt.scenario("own-flows").to_toml().partition("\n[files]")
    (tmp_path / "own.toml").write_text(text)
    _, topology, _, flows, _ = files.split('"""')
    (tmp_path / "topology.toml").write_text(topology)
    (tmp_path / "flows.csv").write_text(flows)
    scenario = lt.Scenario.from_file(tmp_path / "own.toml").set("switch.mark.k", "30 pkt")
    expected = scenario.run(1)

    def without_files(*args: Any) -> Any:
        for path in tmp_path.iterdir():
            path.unlink()
        return args

    result = scenario.run(1, on=InProcess(without_files))
    assert result.digest == expected.digest
    # The directory runs anywhere.
    source = (result.dir / "scenario.toml").read_text()
    assert source == (expected.dir / "scenario.toml").read_text() and "web.0,db.0" in source


def test_tasks_are_plain_data(one_process) -> None:
    engine = InProcess()
    assert sweep(on=engine, tasks=5).digest == one_process.digest
    assert len(engine.requests) == 5
    assert all(request["store"] is None for request in engine.requests)
    assert all(isinstance(result.part, bytes) for result in engine.results)
    # Plain data, which every engine can send.
    assert json.loads(json.dumps(engine.requests)) == engine.requests
    runs = sorted(run for request in engine.requests for run in request["runs"])
    assert runs == list(range(12))


def test_runs_with_one_outcome_are_in_one_task() -> None:
    engine = InProcess()
    # `sack` sends no ECT packets, so it does not see K.
    marks = {"switch.mark.k": ["10 pkt", "20 pkt", "30 pkt"]}
    lt.scenario("first-light").run(1, marks, ["sack", "dctcp"], on=engine)
    assert sorted(len(request["runs"]) for request in engine.requests) == [1, 1, 1, 3]


def test_a_shared_directory_gets_the_parts(tmp_path) -> None:
    engine = InProcess()
    sweep(out=tmp_path / "out", on=engine, shared=True, tasks=3)
    assert {str(Path(made.part).parent) for made in engine.results} == {str(tmp_path / "out.parts")}


def test_a_killed_worker_costs_its_task_only(tmp_path, spawned) -> None:
    """A pool of processes is broken then; the next call makes only the missing runs."""
    out, killed = tmp_path / "out", []
    slow = lt.scenario("first-light")
    over = {"traffic.pair.size": [f"{size} MB" for size in range(5, 17)]}

    def kill(share: float, text: str) -> None:
        if share > 0.2 and not killed:
            killed.append(next(iter(spawned._processes)))
            os.kill(killed[0], signal.SIGKILL)

    with pytest.raises(lt.RunError, match="the same call makes only") as failed:
        slow.run(1, over, ["dctcp"], out=out, on=spawned, progress=kill)
    assert isinstance(failed.value.__cause__, BrokenProcessPool)
    assert not out.exists()
    kept = len(parts(out))
    assert 0 < kept < 12
    manifests = [json.loads((part / "manifest.json").read_text()) for part in parts(out)]
    assert sum(len(manifest["runs"]) for manifest in manifests) == kept
    engine = InProcess()
    result = slow.run(1, over, ["dctcp"], out=out, on=engine)
    assert sum(len(request["runs"]) for request in engine.requests) == 12 - kept
    assert result.digest == slow.run(1, over, ["dctcp"]).digest


def test_the_command_merges_the_parts_too(tmp_path, one_process) -> None:
    out = tmp_path / "out"
    with pytest.raises(lt.RunError, match="no worker is left"):
        sweep(out=out, on=InProcess(fails_after(2)), tasks=3)
    kept = parts(out)
    command = [SCRIPT, "--json", "merge", tmp_path / "merged", *kept]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    # Its remedy is a command that makes the missing runs.
    remedy = refused.stderr.split("`")[1].split()
    assert remedy[:3] == ["lowtide", "run", "first-light"] and remedy[-2] == "--part"
    over = ",".join(SIZES["traffic.pair.size"])
    options = ["--seeds", "2", "--over", f"traffic.pair.size={over}", *remedy[-4:-1]]
    made = [SCRIPT, "run", "first-light", "--quiet", *options, tmp_path / "rest"]
    subprocess.run(made, check=True)
    subprocess.run([*command, tmp_path / "rest"], check=True, capture_output=True)
    assert lt.load(tmp_path / "merged").digest == one_process.digest


def test_a_worker_of_another_program_is_refused(tmp_path) -> None:
    def older(program: str, version: str, request: dict) -> Any:
        return "0123456789abcdef", "9.9.9", request

    with pytest.raises(lt.RunError, match="install one package on all machines") as failed:
        sweep(out=tmp_path / "out", on=InProcess(older))
    assert lt.__version__ in str(failed.value) and "9.9.9" in str(failed.value)
    assert os.listdir(tmp_path) == [], "no part was made"


def test_a_half_written_part_is_never_merged(tmp_path, one_process) -> None:
    out = tmp_path / "out"
    with pytest.raises(lt.RunError):
        sweep(out=out, on=InProcess(fails_after(3)), tasks=4)
    half, damaged, whole = parts(out)
    lost = [*half.rglob("flows.parquet"), half / "manifest.json"]
    for path in lost:
        path.unlink()
    table = next(iter(damaged.rglob("flows.parquet")))
    table.write_bytes(table.read_bytes()[:-1])
    # A worker that was killed while it wrote into a shared directory.
    shutil.copytree(whole, whole.with_name(".part-0-01234567.abc"))
    engine = InProcess()
    assert sweep(out=out, on=engine, tasks=4).digest == one_process.digest
    assert sum(len(request["runs"]) for request in engine.requests) == 9
    assert os.listdir(tmp_path) == ["out"]


def test_a_part_that_arrives_damaged_is_refused(tmp_path) -> None:
    class Truncating(InProcess):
        def submit(self, fn: Any, /, *args: Any) -> Future:
            future: Future = Future()
            made = super().submit(fn, *args).result()
            future.set_result(made._replace(part=made.part[:-100]))
            return future

    with pytest.raises(lt.RunError, match="BadZipFile"):
        sweep(out=tmp_path / "out", on=Truncating(), tasks=2)
    assert os.listdir(tmp_path) == []


def test_parts_of_another_sweep_are_refused(tmp_path) -> None:
    out = tmp_path / "out"
    with pytest.raises(lt.RunError):
        sweep(out=out, on=InProcess(fails_after(1)))
    for change in ({"seeds": 3}, {"schemes": ["cubic"]}):
        with pytest.raises(lt.RunError, match="this sweep"):
            lt.scenario("first-light").run(**{"over": SIZES, **change}, out=out, on=InProcess())
    with pytest.raises(lt.RequestError, match="does not hold these results"):
        sweep(out=out.with_name("out.parts"), on=InProcess())


def test_a_task_may_run_twice(tmp_path, one_process) -> None:
    class Twice(InProcess):
        def submit(self, fn: Any, /, *args: Any) -> Future:
            super().submit(fn, *args)
            return super().submit(fn, *args)

    for shared in (False, True):
        result = sweep(out=tmp_path / f"out-{shared}", on=Twice(), shared=shared, tasks=3)
        assert result.digest == one_process.digest


def test_without_a_directory_a_failed_sweep_keeps_nothing() -> None:
    with pytest.raises(lt.RunError, match="with out= finished runs are kept"):
        sweep(on=InProcess(fails_after(1)))


def test_no_shared_directory_on_the_worker(tmp_path) -> None:
    def elsewhere(program: str, version: str, request: dict) -> Any:
        return program, version, {**request, "store": "/not/shared"}

    with pytest.raises(lt.RunError, match="leave out shared=True"):
        sweep(out=tmp_path / "out", on=InProcess(elsewhere), shared=True)


def test_an_exception_of_a_run_is_reported_after_the_other_tasks(tmp_path) -> None:
    def wrong(program: str, version: str, request: dict) -> Any:
        if 0 in request["runs"]:
            request = {**request, "scenario": "schema = 1"}
        return program, version, request

    with pytest.raises(lt.RunError, match="ScenarioError"):
        sweep(out=tmp_path / "out", on=InProcess(wrong), tasks=12)
    assert len(parts(tmp_path / "out")) == 11


def test_progress_counts_runs() -> None:
    told: list[tuple[float, str]] = []
    with ThreadPoolExecutor(2) as pool:
        sweep(on=pool, tasks=4, progress=lambda share, text: told.append((share, text)))
    assert told[0] == (0.0, "0 of 12 runs") and (1.0, "12 of 12 runs") in told
    assert [share for share, _ in told] == sorted(share for share, _ in told)


def test_ctrl_c_cancels_what_has_not_begun(tmp_path) -> None:
    code = (
        "import lowtide as lt, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1)\n"
        "dot = lambda *_: print('.', flush=True)\n"
        "try:\n"
        f"    lt.scenario('leaf-spine').run(40, out={str(tmp_path / 'out')!r}, on=pool,\n"
        "        schemes=['dctcp'], progress=dot)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    # The first task is finished.
    for _ in range(2):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    began = time.monotonic()
    assert process.wait(timeout=60) == 7
    assert time.monotonic() - began < 15, "it waits for the running task only"
    process.stdout.close()
    kept = len(parts(tmp_path / "out"))
    assert 0 < kept < 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": 7}, r"on=7 has no submit\(\)"),
        ({"on": InProcess(), "tasks": 0}, "tasks=0"),
        ({"on": InProcess(), "shared": True}, "add out="),
        ({"tasks": 4}, "add on="),
        ({"shared": True}, "add on="),
    ],
)
def test_invalid_arguments(options, message) -> None:
    with pytest.raises(lt.RequestError, match=message):
        sweep(**options)


@pytest.mark.parametrize(
    ("module", "adapter", "package"),
    [("ray", "RayExecutor", "ray"), ("slurm", "SlurmExecutor", "submitit")],
)
def test_an_engine_that_is_not_installed(monkeypatch, module, adapter, package) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    engine = getattr(__import__(f"lowtide.engines.{module}", fromlist=[adapter]), adapter)
    with pytest.raises(ImportError, match=f"pip install {package}"):
        engine()


def test_controls_in_python_run_on_workers() -> None:
    spawn = multiprocessing.get_context("spawn")
    own = {"controls": [Reno], "schemes": ["py-reno"]}
    with ProcessPoolExecutor(1, spawn) as pool:
        assert sweep(on=pool, tasks=2, **own).digest == sweep(**own).digest


def test_a_control_with_other_code_on_a_worker_is_refused() -> None:
    def other(program: str, version: str, request: dict) -> tuple[Any, ...]:
        return program, version, {**request, "controls": [(Reno, "0123456789abcdef")]}

    with pytest.raises(lt.RunError, match="other code of the control `py-reno`"):
        sweep(on=InProcess(other), controls=[Reno], schemes=["py-reno"])
