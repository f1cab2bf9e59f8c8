"""A sweep on an engine: its workers make parts, the client merges them.

An engine has `submit(function, *arguments)`, which returns a future with `done()` and `result()`.
`cancel()` of a future is called if it exists. Retries, transport and memory are the engine's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import _lowtide
from ._progress import Report
from ._registry import named_in
from ._task import Made, Request, make_part, unpack
from .errors import RequestError, RunError

# Tasks of a sweep without `tasks=`: a lost worker costs a hundredth of the sweep.
_TASKS = 100
# Seconds between two looks at the futures.
_FIRST_WAIT, _LONGEST_WAIT = 0.01, 0.5


class Future(Protocol):
    """The result of a task, in the future."""

    def done(self) -> bool:
        """Whether `result` returns at once."""
        ...

    def result(self) -> Any:
        """Returns the result of the task, or raises its exception."""
        ...


class Engine(Protocol):
    """An executor of `concurrent.futures`, Dask's `client.get_executor()`, `MPIPoolExecutor`, or an
    adapter of `lowtide.engines`."""

    def submit(self, fn: Any, /, *args: Any) -> Future:
        """Starts a call of `fn` on a worker."""
        ...


@dataclass(frozen=True)
class Sweep:
    """A sweep on an engine."""

    engine: Engine
    """Where its tasks run."""
    tasks: int | None
    """Number of tasks; None: one for each simulation, at most a hundred."""
    shared: bool
    """Whether workers write their parts into a directory that all machines share."""
    jobs: int
    """Concurrent runs of a task."""

    def check(self, out: str | os.PathLike[str] | None) -> None:
        """Raises `RequestError` for an invalid argument."""
        if not callable(getattr(self.engine, "submit", None)):
            raise RequestError(
                f"on={self.engine!r} has no submit()",
                "use an executor of concurrent.futures, client.get_executor() of Dask, or "
                "lowtide.engines",
            )
        if self.shared and out is None:
            raise RequestError(
                "shared=True needs the run directory", "add out=, on a file system of all machines"
            )

    def run(
        self,
        scenario: _lowtide.Scenario,
        command: str,
        out: Path,
        report: Report | None,
        is_kept: bool,
    ) -> tuple[_lowtide.Experiment, list[str]]:
        """Makes all missing runs and merges them into `out`. Finished parts are in `OUT.parts`
        until then, also after a failure if the directory is kept.

        Returns the notes of the workers too.
        """
        plan = _lowtide.Plan(scenario)
        merged = plan.merged(out)
        if merged is not None:
            return merged, []
        store = out.absolute().with_name(f"{out.name}.parts")
        store.mkdir(parents=True, exist_ok=True)
        outcomes = plan.outcomes
        finished = set(_finished_runs(plan, store))
        progress = _Progress(len(outcomes), len(finished), report)
        text, source = plan.text, plan.source
        controls = [(control, code.digest) for control, code in named_in(text)]
        requests = [
            Request(
                scenario=text,
                source=source,
                name=scenario.name,
                command=command,
                controls=controls,
                runs=runs,
                jobs=self.jobs,
                part=_part_name(runs),
                store=str(store) if self.shared else None,
            )
            for runs in _split(outcomes, finished, self.tasks or _TASKS)
        ]
        try:
            notes = self._collect(requests, store, progress)
        except _TaskError as error:
            remedy = f"the same call makes only the runs whose parts are not in {store}"
            if not is_kept:
                remedy = "with out= finished runs are kept"
            raise RunError(f"{error}; {remedy}") from error.__cause__
        finally:
            _remove_empty(store)
        progress.say("tables, figures, report")
        experiment = _lowtide.merge(out, _parts(store))
        # Workers that were believed lost may still write.
        for path in [*_parts(store), *store.glob(".part-*")]:
            shutil.rmtree(path, ignore_errors=True)
        _remove_empty(store)
        return experiment, notes

    def _collect(self, requests: list[Request], store: Path, progress: _Progress) -> list[str]:
        """Submits the tasks and stores their parts as they arrive. After a failure it cancels the
        tasks that have not begun, waits for the others and raises the first error. Returns the
        notes of the tasks, each once."""
        notes: dict[str, None] = {}
        pending: list[tuple[Future, Request]] = []
        error: _TaskError | None = None
        try:
            for request in requests:
                version = _lowtide.version()
                future = self.engine.submit(make_part, _lowtide.program(), version, request)
                pending.append((future, request))
            wait = _FIRST_WAIT
            while pending:
                state = [(entry, entry[0].done()) for entry in pending]
                arrived = [entry for entry, done in state if done]
                pending = [entry for entry, done in state if not done]
                for future, request in arrived:
                    try:
                        made: Made = future.result()
                        _store(made.part, request, store)
                        notes.update(dict.fromkeys(made.notes))
                    except Exception as cause:  # noqa: BLE001 - every one ends the sweep
                        if error is None:
                            error = _TaskError.of(cause, request)
                            pending = [entry for entry in pending if not _cancel(entry[0])]
                        continue
                    progress.add(len(request["runs"]))
                wait = _FIRST_WAIT if arrived else min(wait * 1.5, _LONGEST_WAIT)
                if pending and not arrived:
                    time.sleep(wait)
        except BaseException:
            # Ctrl-C, an exception of the caller's progress, or an engine that takes no task.
            for future, _ in pending:
                _cancel(future)
            raise
        if error is not None:
            raise error
        return list(notes)


class _TaskError(Exception):
    """A task failed; its cause is the exception of the task."""

    @classmethod
    def of(cls, cause: Exception, request: Request) -> _TaskError:
        first, count = request["runs"][0], len(request["runs"])
        runs = f"run {first}" if count == 1 else f"{count} runs from run {first} on"
        reason = str(cause) if isinstance(cause, RunError) else f"{type(cause).__name__}: {cause}"
        error = cls(f"the task of {runs} failed: {reason}")
        error.__cause__ = cause
        return error


class _Progress:
    """The share of finished runs, for `report`."""

    def __init__(self, total: int, done: int, report: Report | None) -> None:
        self._total, self._done, self._report = total, done, report
        self.add(0)

    def add(self, runs: int) -> None:
        self._done += runs
        self.say(f"{self._done} of {self._total} runs")

    def say(self, text: str) -> None:
        if self._report is not None:
            self._report(self._done / max(self._total, 1), text)


def _parts(store: Path) -> list[Path]:
    return sorted(store.glob("part-*"))


def _finished_runs(plan: _lowtide.Plan, store: Path) -> Iterator[int]:
    """Yields the runs of the parts that an earlier call has left. Half-written and damaged parts
    are removed, so their runs are made again."""
    for part in _parts(store):
        runs = plan.part_runs(part)
        if runs is None:
            shutil.rmtree(part)
        else:
            yield from runs


def _split(outcomes: list[tuple[str, str]], finished: set[int], tasks: int) -> Iterator[list[int]]:
    """Yields the runs of each task. Runs with one outcome are in one task, which simulates them
    once."""
    groups: dict[tuple[str, str], list[int]] = {}
    for run, outcome in enumerate(outcomes):
        if run not in finished:
            groups.setdefault(outcome, []).append(run)
    listed = list(groups.values())
    for task in range(min(tasks, len(listed))):
        yield sorted(run for group in listed[task::tasks] for run in group)


def _part_name(runs: list[int]) -> str:
    digest = hashlib.sha256(repr(runs).encode()).hexdigest()
    return f"part-{runs[0]}-{digest[:8]}"


def _store(result: str | bytes, request: Request, store: Path) -> None:
    """Stores what a task returned."""
    if isinstance(result, bytes):
        unpack(result, request["part"], store)
    elif not Path(result).is_dir():
        raise RunError(f"{result} is on the worker but not on this machine: leave out shared=True")


def _cancel(future: Future) -> bool:
    """Cancels a task if the engine can. Returns whether nothing more comes of it."""
    cancel = getattr(future, "cancel", None)
    # Jobs of submitit return None.
    return cancel is not None and cancel() is not False


def _remove_empty(store: Path) -> None:
    try:
        store.rmdir()
    except OSError:
        # It has parts, which the next call uses.
        pass
