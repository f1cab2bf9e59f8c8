"""Sweeps on Dask, Ray and Slurm of this machine. Each test is skipped without its engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lowtide as lt
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "sweeps"
SLURM = Path(__file__).with_name("slurm.sh")
SCRIPT = Path(sys.executable).with_name("lowtide")


def sweep(**options: Any) -> lt.Result:
    """Twelve runs of about 0.5 s in a debug build."""
    sizes = [f"{size} MB" for size in range(10, 22)]
    return lt.scenario("first-light").run(1, {"traffic.pair.size": sizes}, ["dctcp"], **options)


@pytest.fixture(scope="module")
def digest() -> str:
    return sweep().digest


@pytest.fixture(scope="module")
def example_digest() -> str:
    marks = {"switch.mark.k": ["20 pkt", "65 pkt", "160 pkt"]}
    return lt.scenario("leaf-spine").run(2, marks, ["dctcp"]).digest


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Slurm of one node."""
    pytest.importorskip("submitit")
    missing = [name for name in ("slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and {', '.join(missing) or 'nothing else'} (packages slurm-wlm)")
    directory = tmp_path_factory.mktemp("slurm")
    subprocess.run(["bash", SLURM, "up", directory], check=True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SLURM_CONF", str(directory / "slurm.conf"))
            yield directory
    finally:
        subprocess.run(["bash", SLURM, "down", directory], check=True)


@contextmanager
def dask(directory: Path) -> Iterator[tuple[Any, Callable[[], bool]]]:
    """Two worker processes; the function kills one. Functions return whether they found one."""
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, distributed.Client(cluster) as client:

        def kill() -> bool:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return True

        yield client.get_executor(), kill


@contextmanager
def ray(directory: Path) -> Iterator[tuple[Any, Callable[[], bool]]]:
    """Two CPUs; the function kills the process of a running task."""
    library = pytest.importorskip("ray")
    from lowtide.engines.ray import RayExecutor

    def kill() -> bool:
        found = [pid for pid in children(os.getpid()) if b"ray::make_part" in command_line(pid)]
        for pid in found[:1]:
            os.kill(pid, signal.SIGKILL)
        return bool(found)

    library.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield RayExecutor(), kill
    finally:
        library.shutdown()


@contextmanager
def job_array(directory: Path) -> Iterator[tuple[Any, Callable[[], bool]]]:
    """A job array; the function lets Slurm kill a running task, which it starts again."""
    from lowtide.engines.slurm import SlurmExecutor

    executor = SlurmExecutor(str(directory / "submitit"), timeout_min=10)

    def requeue() -> bool:
        listed = ["squeue", "-h", "-r", "-t", "RUNNING", "-o", "%i"]
        running = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
        # A task may end meanwhile.
        return any(subprocess.call(["scontrol", "requeue", job]) == 0 for job in running)

    yield executor, requeue


def children(pid: int) -> list[int]:
    """All processes below `pid`."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("engine", [dask, ray, job_array])
def test_a_lost_worker_costs_its_task_only(engine, shared, tmp_path, digest, request) -> None:
    if engine is job_array:
        request.getfixturevalue("slurm")
    with engine(tmp_path) as (executor, lose_worker):
        lost = []

        def progress(share: float, text: str) -> None:
            # Between two tasks none is running.
            for _ in range(50 if 0.2 < share < 0.9 and not lost else 0):
                if lose_worker():
                    lost.append(text)
                    break
                time.sleep(0.1)

        options = {"tasks": 6, "shared": shared, "progress": progress}
        result = sweep(out=tmp_path / "out", on=executor, **options)
    assert lost and result.digest == digest
    assert not (tmp_path / "out.parts").exists()


@pytest.mark.parametrize("engine", [dask, ray, job_array])
def test_an_error_of_a_worker_is_reported(engine, tmp_path, monkeypatch, request) -> None:
    if engine is job_array:
        request.getfixturevalue("slurm")
    import lowtide._sweep as client

    monkeypatch.setattr(client._lowtide, "version", lambda: "9.9.9")
    monkeypatch.setattr(client._lowtide, "program", lambda: "0123456789abcdef")
    with (
        engine(tmp_path) as (executor, _),
        pytest.raises(lt.RunError, match=r"this machine lowtide 9\.9\.9"),
    ):
        sweep(out=tmp_path / "out", on=executor, tasks=1)
    assert not list(tmp_path.glob("out*"))


MPI_PROGRAM = """
from mpi4py.futures import MPIPoolExecutor
from test_clusters import sweep

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        print(sweep(on=executor).digest)
"""


def test_an_executor_of_mpi(tmp_path, digest) -> None:
    pytest.importorskip("mpi4py")
    if shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec (package openmpi-bin)")
    (tmp_path / "program.py").write_text(MPI_PROGRAM)
    # Open MPI asks twice before it runs as root, and counts CPUs.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        ["mpiexec", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
        + ["program.py"],
        cwd=tmp_path,
        env={**os.environ, **root, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [digest], done.stderr


@pytest.mark.parametrize("engine", ["dask", "ray", "slurm"])
def test_the_file_of_the_page(engine, tmp_path, example_digest, request) -> None:
    pytest.importorskip({"dask": "distributed", "slurm": "submitit"}.get(engine, engine))
    if engine == "slurm":
        request.getfixturevalue("slurm")
    file = EXAMPLES / f"{engine}_sweep.py"
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == example_digest
    print(f"{engine}: {time.monotonic() - began:.1f} s")


def test_the_job_array_of_the_page(slurm, tmp_path, example_digest, monkeypatch) -> None:
    """Its scripts, with four tasks, two seeds and one scheme."""
    monkeypatch.setenv("PATH", f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}")
    page = (ROOT / "docs" / "howto" / "sweeps.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    array, merge = blocks[:2]
    for large, small in [
        ("array=0-31", "array=0-3"),
        ("--cpus-per-task=4", "--cpus-per-task=1"),
        ("--seeds 20", "--seeds 2 -s compare.schemes=dctcp"),
        ("--of 32", "--of 4"),
        ("/shared/", f"{tmp_path}/"),
    ]:
        assert large in array
        array = array.replace(large, small)
    (tmp_path / "array.sh").write_text(array)

    def merged() -> subprocess.CompletedProcess[str]:
        command = merge.replace("/shared/", f"{tmp_path}/").replace("0..31", "0..3").strip()
        command = ["bash", "-c", f"{command} --json"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    def submit(*options: str) -> None:
        subprocess.run(["sbatch", "--wait", *options, "array.sh"], cwd=tmp_path, check=True)

    submit("--array=0,3")
    refused = merged()
    assert refused.returncode == 2 and not (tmp_path / "out").exists()
    for task in (1, 2):
        assert f"parts/{task} holds no part" in refused.stderr
    assert "3 of 6 runs are in no finished part" in refused.stderr
    assert "for I = 1, 2" in refused.stderr
    submit("--array=1,2")
    assert json.loads(merged().stdout)["digest"] == example_digest


@pytest.mark.parametrize("engine", ["dask", "ray", "slurm"])
def test_the_page_has_the_file(engine) -> None:
    page = (ROOT / "docs" / "howto" / f"sweeps-{engine}.md").read_text()
    file = (EXAMPLES / f"{engine}_sweep.py").read_text()
    assert f"```python\n{file}```\n" in page
