"""Scenarios: experiments as data."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from . import _arguments, _lowtide
from ._code import Code
from ._control import CongestionControl
from ._files import OwnedFolder
from ._interrupt import interruptible
from ._progress import Progress, checked, reporting
from ._registry import named_in, refresh, register_all, reported
from ._result import Result
from ._sweep import Engine, Sweep
from .errors import RequestError, ScenarioError

# A change: name of the method, key, value.
Change = tuple[str, str, Any]
Value = str | int | float | bool | Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """What a scenario would do, before it runs."""

    scenario: str
    """Name."""
    title: str
    """Title."""
    scenario_hash: str
    """Hash of all runs without their seeds."""
    schemes: list[str]
    """Compared schemes."""
    labels: list[str]
    """Their labels: transports that differ from the name are listed."""
    points: int
    """Points of the sweep."""
    runs: int
    """Runs: schemes x points x seeds."""
    hosts: int
    """Hosts of a run."""
    flows: int
    """Flows of a run."""
    packet_hops: int
    """Packet-hops of all runs, estimated."""
    simulated_s: float
    """Longest simulated time of all runs together, seconds."""
    cpu_s: float
    """CPU time of all runs, seconds, estimated."""
    memory_mb: float
    """Memory of a run, MB, estimated."""
    disk_mb: float
    """Tables on disk, MB, estimated."""
    tiers: list[dict[str, Any]]
    """Links between two levels: `name`, `offered_load` (share of the lines), `oversubscription`."""
    warnings: list[str]
    """Sentences about load that the network cannot carry."""

    def _repr_html_(self) -> str:
        tiers = ", ".join(
            f"{tier['name']}: {tier['offered_load']:.0%} of the lines"
            for tier in self.tiers
            if tier["offered_load"] is not None
        )
        rows = {
            "scenario": f"{self.scenario}: {self.title}",
            "runs": f"{self.runs} of {', '.join(self.labels)}, {self.points} points",
            "hosts, flows of a run": f"{self.hosts}, {self.flows}",
            "offered load": tiers,
            "estimated cost": f"{self.cpu_s:.3g} s of CPU time, {self.memory_mb:.0f} MB a run, "
            f"{self.disk_mb:.3g} MB of tables",
            "notes": "; ".join(self.warnings),
        }
        cells = ((escape(name), escape(text)) for name, text in rows.items() if text)
        return f"<table>{''.join(f'<tr><th>{n}</th><td>{t}</td></tr>' for n, t in cells)}</table>"


class Scenario:
    """A scenario. It does not change: `set` and `sweep` return another one.

    `lt.scenario(name)` has the embedded ones, `Scenario.from_file` and `Scenario.from_text` your
    own.
    Keys and their units: `docs/reference/scenario.md`, or `lowtide explain KEY`.
    """

    __slots__ = ("_changes", "_native", "_source")

    def __init__(self, source: tuple[str, ...], changes: tuple[Change, ...] = ()) -> None:
        """Use `lt.scenario`, `Scenario.from_file` or `Scenario.from_text`."""
        kind, *args = source
        load: dict[str, Callable[..., _lowtide.Scenario]] = {
            "name": _lowtide.Scenario.load,
            "file": _lowtide.Scenario.from_file,
            "text": _lowtide.Scenario.from_text,
        }
        native = load[kind](*args)
        for change, key, value in changes:
            native = getattr(native, change)(key, value)
        self._source = source
        self._changes = changes
        self._native = native

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file (TOML) and the files that it names."""
        return cls(("file", _arguments.path("path", path)))

    @classmethod
    def from_text(cls, text: str, name: str = "scenario") -> Scenario:
        """Parses TOML text; the scenario is called `name`, errors name the file `name.toml`."""
        _arguments.text("name", name, '"mine"')
        return cls(("text", _arguments.text("text", text, '"title = ..."'), f"{name}.toml"))

    @property
    def name(self) -> str:
        """Name of the embedded scenario, or of the file without its ending."""
        return self._native.name

    def set(self, key: str, value: Value) -> Scenario:
        """Returns the scenario with a dotted key set, as `lowtide run -s KEY=VALUE` does.

        The value is text with its unit ("65 pkt", "10 Gbit/s", "2 us"), a number, a bool, or a
        list. A `*` in a table's name matches all such tables: "traffic.long-*.size".

        Raises `ScenarioError` for an unknown key, with the nearest one; an invalid value is
        reported by `check` and `run`.
        """
        return self._with("set", _key(key), _toml(key, value))

    def sweep(self, key: str, values: Sequence[Value] | Mapping[str, Value]) -> Scenario:
        """Returns the scenario with a dotted key swept over values, as `--over KEY=A,B` does.

        A mapping is a range: {"from": "10 pkt", "to": "100 pkt", "step": "10 pkt"}.
        """
        return self._sweep("values", key, values)

    def _sweep(
        self, argument: str, key: str, values: Sequence[Value] | Mapping[str, Value]
    ) -> Scenario:
        _key(key)
        if isinstance(values, Mapping):
            return self._with("sweep", key, [_toml(key, values)])
        if isinstance(values, str):
            raise RequestError(
                f"{argument}={values!r} of `{key}` is one text where a list belongs",
                f"write [{values!r}]",
            )
        listed = _arguments.items(argument, values, '["20 pkt", "65 pkt"]')
        if not listed:
            raise RequestError(
                f"{argument}=[] of `{key}` has no value", "give at least one value, or leave it out"
            )
        return self._with("sweep", key, [_toml(key, value) for value in listed])

    def to_toml(self) -> str:
        """Returns the scenario as a file, with all changes.

        Raises `ScenarioError` if it is invalid.
        """
        return self._native.to_toml()

    def check(self) -> Check:
        """Checks the scenario without running it, as `lowtide check` does.

        Raises `ScenarioError` with all errors, and if its runs do not fit into memory.
        """
        return Check(**json.loads(self._native.check()))

    def run(
        self,
        seeds: int | None = None,
        over: Mapping[str, Sequence[Value] | Mapping[str, Value]] | None = None,
        schemes: Sequence[str] | None = None,
        *,
        out: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        progress: Progress = None,
        controls: Sequence[type[CongestionControl]] = (),
        on: Engine | None = None,
        tasks: int | None = None,
        shared: bool | None = None,
    ) -> Result:
        """Runs the scenario on all CPUs, as `lowtide run` does, or on the workers of an engine, and
        returns its results.

        seeds: runs of each point; default: those of the scenario. Intervals need at least two
        over: swept keys with their values, as `Scenario.sweep`
        schemes: compared schemes (`lt.schemes()`)
        out: the run directory; finished runs in it are kept and not repeated. Default: a temporary
            directory that is removed with the result
        jobs: concurrent runs; default: one per CPU, with `on` one per task
        progress: True or False for a bar (needs tqdm), or a function of the share done (0 to 1) and
            a text; default: a bar in a notebook or on a terminal, if tqdm is installed
        controls: congestion controls in Python, which are registered (`lt.register`)
        on: an engine with workers, which all have this version of lowtide: an executor of
            `concurrent.futures`, `client.get_executor()` of Dask, `MPIPoolExecutor` of mpi4py, or
            an adapter of `lowtide.engines`
        tasks: number of tasks that the engine gets; default: one per simulation, at most 100. A
            lost worker costs its task only
        shared: whether workers see `out`, so parts are not sent; default: they are sent

        Ctrl-C ends the runs at once; `out` keeps the finished ones. With `on` it cancels the tasks
        that have not begun; finished parts are in `OUT.parts`, and the same call continues.

        Raises `ScenarioError` for an invalid scenario, `RunError` if a run failed or a worker has
        another version of lowtide, or the exception of a control in Python.
        """
        if on is None and (tasks, shared) != (None, None):
            raise RequestError("tasks= and shared= are of sweeps on an engine", "add on=")
        jobs = None if jobs is None else _arguments.whole("jobs", jobs)
        tasks = None if tasks is None else _arguments.whole("tasks", tasks, example=100)
        checked(progress)
        out = None if out is None else _arguments.path("out", out)
        sweep = None if on is None else Sweep(on, tasks, bool(shared), jobs or 1)
        if sweep is not None:
            sweep.check(out)
        changed = self._changed(seeds, over, schemes)
        register_all(controls)
        refresh()
        owned, command = None, changed._command(out)
        if out is None:
            owned = OwnedFolder()
            # The run directory is created by the run.
            out = owned.path / "run"
        used = changed._controls()
        # Runs need it once in a process. It is computed here with the GIL held: a fork during it
        # would leave a child that waits for it forever.
        _lowtide.program()
        with reporting(progress) as report, interruptible(), reported(used) as notes:
            if sweep is not None:
                text, is_kept = changed._command(None), owned is None
                native, of_workers = sweep.run(changed._native, text, Path(out), report, is_kept)
                notes += of_workers
            else:
                native = _lowtide.run(changed._native, out, command, jobs, report)
        return Result(native, owned, notes)

    def _changed(
        self,
        seeds: int | None,
        over: Mapping[str, Sequence[Value] | Mapping[str, Value]] | None,
        schemes: Sequence[str] | None,
    ) -> Scenario:
        """The scenario with the arguments of `run`."""
        changed = self
        if seeds is not None:
            changed = changed.set("run.seeds", _arguments.whole("seeds", seeds, example=10))
        if over is not None and not isinstance(over, Mapping):
            raise RequestError(
                f"over={over!r} is no mapping", 'write over={"switch.mark.k": ["20 pkt", "65 pkt"]}'
            )
        for key, values in (over or {}).items():
            changed = changed._sweep("over", key, values)
        if schemes is not None:
            listed = _arguments.names("schemes", schemes, "dctcp")
            if not listed:
                raise RequestError(
                    "schemes=[] has no scheme", 'write schemes=["dctcp"], or leave it out'
                )
            changed = changed.set("compare.schemes", listed)
        return changed

    def _controls(self) -> list[tuple[type[CongestionControl], Code]]:
        """Controls in Python that it may use."""
        try:
            return named_in(self.to_toml())
        except ScenarioError:
            # The run raises it.
            return []

    def _with(self, change: str, key: str, value: Any) -> Scenario:
        made = object.__new__(Scenario)
        made._source = self._source
        made._changes = (*self._changes, (change, key, value))
        made._native = getattr(self._native, change)(key, value)
        return made

    def _command(self, out: str | os.PathLike[str] | None) -> str:
        """The command that gives the same results."""
        kind, *args = self._source
        words = ["lowtide", "run", args[1] if kind == "text" else args[0]]
        for change, key, value in self._changes:
            if change == "set":
                words += ["-s", f"{key}={value}"]
            else:
                words += ["--over", f"{key}={','.join(value)}"]
        if out is not None:
            words += ["-o", os.fspath(out)]
        return shlex.join(words)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Scenario, (self._source, self._changes))

    def __repr__(self) -> str:
        changes = "".join(f".{change}({key!r}, {value!r})" for change, key, value in self._changes)
        return f"<lowtide.Scenario {self.name}{changes}>"


def scenario(name: str | os.PathLike[str]) -> Scenario:
    """Returns an embedded scenario by its name (`lt.scenarios()`), or a file by its path.

    Raises `ScenarioError` for an unknown name, with the nearest one.
    """
    return Scenario(("name", _arguments.path("name", name)))


def _key(key: str) -> str:
    return _arguments.text("key", key, '"switch.mark.k"')


def _toml(key: str, value: Value) -> str:
    """Returns a value as TOML; text is as on the command line."""
    return value if isinstance(value, str) else _literal(key, value)


def _literal(key: str, value: Value) -> str:
    if isinstance(value, Mapping):
        items = ", ".join(f"{json.dumps(str(k))} = {_literal(key, v)}" for k, v in value.items())
        return f"{{{items}}}"
    if isinstance(value, float) and not math.isfinite(value):
        raise RequestError(f"{value!r} is no value of `{key}`", "use a finite number with its unit")
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False)
    if hasattr(value, "tolist"):
        # Scalars and arrays of NumPy.
        return _literal(key, value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return f"[{', '.join(_literal(key, v) for v in value)}]"
    raise RequestError(
        f"{value!r} is no value of `{key}`", "use text with its unit, a number, a bool or a list"
    )
