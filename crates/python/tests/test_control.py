"""Congestion controls in Python: twins of those in Rust, errors, versions, the conformance kit."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import lowtide as lt
import pandas as pd
import pytest
from controls import Dctcp, Reno


def digests(result: lt.Result, scheme: str) -> list[str]:
    """The digests of a scheme's runs. They cover packets and timers, and no names."""
    return [run["digest"] for run in result.manifest["runs"] if run["scheme"] == scheme]


def rows(table: lt.Table, runs: list[int]) -> pd.DataFrame:
    """The rows of runs, without the columns that name the run and its control."""
    frame = table.pandas()
    frame = frame[frame["run"].isin(runs)]
    named = [c for c in ("run", "scheme", "cc", "cc_used") if c in frame.columns]
    return frame.drop(columns=named).reset_index(drop=True)


@pytest.mark.parametrize(
    ("scenario", "seeds"), [("first-light", 3), ("queue-buildup", 1), ("incast", 1)]
)
@pytest.mark.parametrize(("twin", "control"), [("ecn", Reno), ("dctcp", Dctcp)])
def test_a_control_has_the_packets_of_its_twin(scenario, seeds, twin, control) -> None:
    changed = lt.scenario(scenario)
    if scenario == "first-light":
        # A short buffer: losses, recovery and timeouts.
        changed = changed.set("switch.buffer", "20 kB").set("switch.mark.k", "10 pkt")
    # The base class grows and restarts by the RFCs, not by the rules of Linux.
    changed = changed.set("transport.sender.growth-counts", "bytes")
    changed = changed.set("transport.sender.idle-decay", "at-once")
    schemes = [twin, control.name]
    result = changed.run(seeds, controls=[control], schemes=schemes, progress=False)
    rust, python = (digests(result, scheme) for scheme in schemes)
    assert rust == python and len(set(rust)) > 1
    runs = result.manifest["runs"]
    of = {s: [run["run"] for run in runs if run["scheme"] == s] for s in schemes}
    for table in (result.flows, result.queues):
        pd.testing.assert_frame_equal(rows(table, of[twin]), rows(table, of[control.name]))
    flows = result.flows.pandas()
    assert control.name in set(flows["cc_used"])
    if scenario != "queue-buildup":
        assert flows["fast_retransmits"].sum() + flows["rto_count"].sum() > 0


def test_the_alpha_of_a_control_is_recorded() -> None:
    result = (
        lt.scenario("first-light")
        .set("probes.interval", "100 us")
        .run(1, controls=[Dctcp], schemes=["dctcp", "py-dctcp"], progress=False)
    )
    frame = result.probes.pandas()
    alphas = [list(frame[frame["run"] == run]["dctcp_alpha_q20"].dropna()) for run in (0, 1)]
    assert alphas[0] == alphas[1] and len(set(alphas[0])) > 1


def test_the_variables_of_a_control_are_recorded_in_their_units() -> None:
    class Counting(Reno):
        """Counts its ACKs."""

        name = "counting"
        variables = {"share": "", "target": "bytes", "wait": "ns"}
        share = target = wait = None

        def on_ack(self, ack):
            self.share, self.target, self.wait = 0.5, 14_480.5, None
            super().on_ack(ack)

    scenario = lt.scenario("first-light").set("probes.interval", "100 us")
    result = scenario.run(1, controls=[Counting], schemes=["counting"], progress=False)
    frame = result.variables.pandas()
    assert set(zip(frame["variable"], frame["unit"], frame["value"], strict=True)) == {
        ("share", "", 0.5),
        ("target", "bytes", 14_480),
    }
    broken_unit = type("Wrong", (Counting,), {"name": "wrong", "variables": {"share": "%"}})
    with pytest.raises(lt.ControlError, match=r"units are bytes, packets, ns, bit/s and"):
        scenario.run(1, controls=[broken_unit], schemes=["wrong"], progress=False)


def test_a_scenario_knows_the_name_and_its_parameters() -> None:
    lt.register(Dctcp)
    scenario = lt.scenario("first-light").set("compare.schemes", ["ecn"])
    own = scenario.set("transport.sender.cc", "py-dctcp")
    assert own.check().labels == ["ecn (cc=py-dctcp)"]
    assert lt.schemes()["py-dctcp"].startswith("DCTCP with the arithmetic of Linux")
    swept = {"transport.sender.py-dctcp.shift-g": [0, 10]}
    result = lt.scenario("first-light").run(1, swept, ["py-dctcp"], progress=False)
    assert len(set(digests(result, "py-dctcp"))) == 2
    with pytest.raises(lt.ScenarioError, match="0 to 10"):
        own.set("transport.sender.py-dctcp.shift-g", 11).check()
    with pytest.raises(lt.ScenarioError, match="did you mean `py-dctcp`"):
        scenario.set("transport.sender.cc", "py-dctpc").check()
    with pytest.raises(lt.ScenarioError, match="py-dctcp"):
        scenario.set("compare.schemes", ["py-dctpc"]).check()


def test_parameters_of_all_kinds() -> None:
    seen = {}

    class Many(lt.CongestionControl):
        name = "many"
        on = lt.Param(True)
        count = lt.Param(3, min=1, max=9)
        ratio = lt.Param(0.0625)
        mode = lt.Param("fast", choices=["fast", "slow"])
        target = lt.Param("20 us", doc="Queueing delay.", source="the test")
        size = lt.Param("30 kB")
        rate = lt.Param("10 Gbit/s")

        def __init__(self, setup):
            super().__init__(setup)
            values = ("on", "count", "ratio", "mode", "target", "size", "rate")
            seen.update({name: getattr(self, name) for name in values})

    defaults = {
        "on": True,
        "count": 3,
        "ratio": 0.0625,
        "mode": "fast",
        "target": 20_000_000,
        "size": 30_000,
        "rate": 10_000_000_000,
    }
    Many(lt.CcSetup())
    assert seen == defaults
    seen.clear()
    scenario = lt.scenario("first-light")
    lt.register(Many)
    scenario.run(1, schemes=["many"], progress=False)
    assert seen == defaults
    changed = scenario.set("transport.sender.many.ratio", 0.5)
    changed.set("transport.sender.many.on", False).run(1, schemes=["many"], progress=False)
    assert seen == {**defaults, "ratio": 0.5, "on": False}
    for wrong in (-1, 0.0, "fast", None):
        with pytest.raises(lt.RequestError):
            lt.Param(wrong)
    with pytest.raises(lt.RequestError, match="1 to 9"):
        lt.Param(10, min=1, max=9)


class Unlike(lt.CongestionControl):
    """Has the name of another class."""

    name = "py-reno"


def test_a_name_belongs_to_one_class() -> None:
    lt.register(Reno)
    with pytest.raises(lt.RequestError, match=r"controls\.Reno.*\n.*test_control\.Unlike"):
        lt.register(Unlike)
    for name in ("dctcp", "sack"):
        with pytest.raises(lt.RequestError, match=f"`{name}` is a part of lowtide"):
            lt.register(type("Own", (lt.CongestionControl,), {"name": name}))
    for name in ("My Control", "", None, "-a"):
        with pytest.raises(lt.RequestError, match="lower-case"):
            lt.register(type("Own", (lt.CongestionControl,), {"name": name}))
    with pytest.raises(lt.RequestError, match="no subclass"):
        lt.register(dict)
    with pytest.raises(lt.RequestError, match="did you mean `dctcp`"):
        lt.register(type("Own", (lt.CongestionControl,), {"name": "x", "scheme": "dctpc"}))
    with pytest.raises(lt.RequestError, match="attribute of every"):
        lt.register(type("Own", (lt.CongestionControl,), {"name": "x", "mss": lt.Param(1)}))


CELL = """
class Cell(lt.CongestionControl):
    name = "cell"
    share = lt.Param({default})
    def on_ack(self, ack):  {comment}
        if ack.ece and ack.may_reduce:
            self.cut_to(self.cwnd * {keep})
            return True
        self.grow(ack)
"""


def cell(keep: str, default: int = 1, comment: str = "", **names: object) -> type:
    """Executes the cell of a notebook."""
    shell = {"lt": lt, "__name__": "__main__", **names}
    exec(CELL.format(keep=keep, default=default, comment=comment), shell)  # noqa: S102
    return shell["Cell"]


def test_a_cell_can_be_executed_again(tmp_path) -> None:
    """The new version runs; results and directories of the old one are not mixed with it."""
    scenario = lt.scenario("first-light")

    def run(control: type, **more: object) -> lt.Result:
        return scenario.run(1, controls=[control], schemes=["cell"], progress=False, **more)

    def code(result: lt.Result) -> str:
        return next(s["values"][0] for s in result.manifest["settings"] if s["name"] == "code")

    old = run(cell("0.5"), out=tmp_path / "out")
    again = run(cell("0.5", comment="# halves"), out=tmp_path / "out")
    assert code(again) == code(old) and again.manifest["runs"] == old.manifest["runs"]
    new = run(cell("0.9"))
    assert code(new) != code(old) and new.digest != old.digest
    with pytest.raises(lt.RunError, match=r"sender\.cell\.code"):
        run(cell("0.9"), out=tmp_path / "out")
    assert run(cell("0.5"), out=tmp_path / "out").digest == old.digest
    # Another default is another version too.
    assert code(run(cell("0.5", default=2))) != code(old)


def test_a_global_constant_is_part_of_the_code() -> None:
    control = cell("KEEP", KEEP=0.5)
    scenario = lt.scenario("first-light")
    first = scenario.run(1, controls=[control], schemes=["cell"], progress=False)
    control.on_ack.__globals__["KEEP"] = 0.9
    second = scenario.run(1, schemes=["cell"], progress=False)
    hashes = [result.manifest["runs"][0]["hash"] for result in (first, second)]
    assert first.digest != second.digest and hashes[0] != hashes[1]


def test_a_control_is_not_redefined_during_a_run() -> None:
    entered, refused = threading.Event(), []

    class Slow(lt.CongestionControl):
        name = "slow"
        version = 1

        def on_ack(self, ack):
            entered.set()
            time.sleep(0.01)
            return super().on_ack(ack)

    def redefine() -> None:
        entered.wait(30)
        Slow.version = 2
        try:
            lt.register(Slow)
        except lt.RequestError as error:
            refused.append(str(error))

    thread = threading.Thread(target=redefine)
    thread.start()
    lt.scenario("first-light").run(1, controls=[Slow], schemes=["slow"], progress=False)
    thread.join()
    assert refused and "while a run uses it" in refused[0]
    lt.register(Slow)


def broken(hook: str, body) -> type[lt.CongestionControl]:
    return type("Broken", (lt.CongestionControl,), {"name": "broken", hook: body})


def run_broken(control: type, **more: object) -> None:
    scenario = lt.scenario("first-light").set("switch.buffer", "20 kB")
    scenario = scenario.set("switch.mark.k", "10 pkt")
    scenario.run(4, controls=[control], schemes=["broken"], progress=False, **more)


@pytest.mark.parametrize("hook", ["__init__", "on_ack", "on_loss"])
def test_an_exception_of_a_hook_ends_the_run(hook, tmp_path) -> None:
    def fails(self, fact):
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        run_broken(broken(hook, fails), out=tmp_path / "out")
    frames = [frame.name for frame in traceback.extract_tb(raised.tb)]
    assert frames[-1] == "fails" and "run" in frames, frames
    if sys.version_info >= (3, 11):
        assert any("broken" in note for note in raised.value.__notes__)
    with pytest.raises(lt.RunError, match="interrupted run"):
        lt.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("cwnd", -1),
        ("cwnd", None),
        ("cwnd", 0),
        ("cwnd", "many"),
        ("cwnd", True),
        ("cwnd", math.nan),
        ("cwnd", math.inf),
        ("ssthresh", -1),
        ("ssthresh", math.nan),
        ("pacing_rate", 0),
        ("pacing_rate", "fast"),
    ],
)
def test_nonsense_is_an_error_with_the_name_of_the_hook(attribute, value) -> None:
    def spoils(self, ack):
        setattr(self, attribute, value)

    with pytest.raises(lt.ControlError) as raised:
        run_broken(broken("on_ack", spoils))
    assert f"Broken.on_ack left {attribute} = {value!r}: it must be" in str(raised.value)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(lt.ControlError, match=r"on_ack returned 14480: set `self\.cwnd`"):
        run_broken(broken("on_ack", lambda self, ack: 14480))
    with pytest.raises(lt.ControlError, match=r"super\(\)\.__init__\(setup\)"):
        run_broken(broken("__init__", lambda self, setup: None))
    with pytest.raises(lt.ControlError, match=r"alpha is 2: it must be from 0 to 1"):
        control = broken("alpha", 2)
        scenario = lt.scenario("first-light").set("probes.interval", "1 ms")
        scenario.run(1, controls=[control], schemes=["broken"], progress=False)


def test_floats_and_large_numbers_are_windows() -> None:
    def grows(self, ack):
        self.cwnd += 0.25 * ack.acked_bytes
        self.ssthresh = 2**80

    run_broken(broken("on_ack", grows))


def test_runs_on_several_threads_equal_those_on_one() -> None:
    scenario = lt.scenario("first-light")
    results = [
        scenario.run(6, controls=[Reno], schemes=["ecn", "py-reno"], jobs=jobs, progress=False)
        for jobs in (1, 4)
    ]
    assert results[0].digest == results[1].digest


def test_two_executions_at_once_fail_separately() -> None:
    """An exception ends its own execution only."""
    caught = []

    def fails(self, ack):
        raise LookupError("mine")

    control = broken("on_ack", fails)
    lt.register(control)
    lt.register(Reno)

    def fail() -> None:
        try:
            run_broken(control)
        except LookupError as error:
            caught.append(error)

    threads = [threading.Thread(target=fail) for _ in range(2)]
    for thread in threads:
        thread.start()
    result = lt.scenario("first-light").run(4, schemes=["py-reno"], progress=False)
    for thread in threads:
        thread.join()
    assert len(caught) == 2 and len(result.manifest["runs"]) == 4


@pytest.mark.parametrize("body", ["return super().on_ack(ack)", "while True: pass"])
def test_ctrl_c_ends_a_run_with_a_control_in_python(body, tmp_path) -> None:
    code = f"""
import lowtide as lt, sys
class Mine(lt.CongestionControl):
    name = "mine"
    def on_ack(self, ack):
        {body}
dot = lambda *_: print(".", flush=True)
try:
    lt.scenario("leaf-spine").run(1000, controls=[Mine], schemes=["mine"], progress=dot)
except KeyboardInterrupt:
    sys.exit(7)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    for _ in range(20):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    began = time.monotonic()
    assert process.wait(timeout=30) == 7
    assert time.monotonic() - began < 10
    process.stdout.close()


def test_the_conformance_kit() -> None:
    lt.check_control(Reno)
    lt.check_control(Dctcp, shift_g=6)

    class Greedy(lt.CongestionControl):
        """Ignores marks, and grows while it must not."""

        name = "greedy"

        def on_ack(self, ack):
            self.cwnd += ack.acked_bytes

    with pytest.raises(lt.ControlError) as raised:
        lt.check_control(Greedy)
    rules = {violation.rule for violation in raised.value.violations}
    assert {"frozen", "ecn-halves", "signals"} <= rules
    assert all(rule in str(raised.value) for rule in rules)
    with pytest.raises(lt.ControlError, match="parameters: there is no parameter `speed`"):
        lt.check_control(Greedy, speed=1)
    with pytest.raises(ZeroDivisionError):
        lt.check_control(broken("on_rto", lambda self, rto: 1 / 0))


def test_a_control_is_tested_without_a_run() -> None:
    control = Dctcp(lt.CcSetup(mss=1000, initial_window=10_000))
    assert control.shift_g == 4 and control.cwnd == 10_000 and control.alpha == 1
    marked = lt.AckSample(ece=True, may_reduce=True, delivered_segments=1, ce_segments=1)
    assert control.on_ack(marked) is True
    assert control.cwnd == 5000
    assert repr(marked).startswith("lowtide.AckSample(now=0, ")
    with pytest.raises(AttributeError):
        marked.ece = False


def test_the_files_of_the_package_are_beside_it() -> None:
    assert (Path(lt.__file__).parent / "py.typed").is_file()
