"""Slurm: the tasks of a sweep are one job array, which submitit submits."""

from __future__ import annotations

from typing import Any

from .._library import needs


class SlurmExecutor:
    """Collects calls; asking for one result submits all of them as a job array."""

    def __init__(self, folder: str = "submitit", cluster: str = "slurm", **options: Any) -> None:
        """folder: calls, results and logs of submitit, on a file system of all nodes
        cluster: "slurm", or "local" for processes of this machine
        options: of submitit: timeout_min, cpus_per_task, mem_gb, slurm_partition
        """
        submitit = needs("submitit", "lowtide.engines.slurm")
        self._executor = submitit.AutoExecutor(folder, cluster=cluster)
        self._executor.update_parameters(**options)
        self._calls: list[tuple[Any, ...]] = []
        self.jobs: list[Any] = []

    def submit(self, fn: Any, /, *args: Any) -> SlurmTask:
        self._calls.append((fn, *args))
        return SlurmTask(self, len(self.jobs) + len(self._calls) - 1)

    def job(self, number: int) -> Any:
        """Returns a job of submitit."""
        if self._calls:
            calls, self._calls = self._calls, []
            self.jobs += self._executor.map_array(_call, calls)
        return self.jobs[number]


class SlurmTask:
    """The result of a task of the array, in the future."""

    def __init__(self, executor: SlurmExecutor, number: int) -> None:
        self._executor, self._number = executor, number

    def done(self) -> bool:
        return bool(self._executor.job(self._number).done())

    def result(self) -> Any:
        result = self._executor.job(self._number).result()
        if isinstance(result, Exception):
            raise result
        return result

    def cancel(self) -> None:
        self._executor.job(self._number).cancel(check=False)


def _call(call: tuple[Any, ...]) -> Any:
    try:
        return call[0](*call[1:])
    except Exception as error:  # noqa: BLE001 - submitit returns the text of exceptions only
        return error
