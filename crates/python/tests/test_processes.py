"""Forks, threads and interrupts, judged by the operating system: programs run in processes of their
own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PRELUDE = """
import gc, multiprocessing, os, pickle, signal, sys, threading, time
import lowtide as lt
S = lt.scenario("first-light").set("run.seeds", 1)
class Mine(lt.CongestionControl):
    name = "mine"
"""


def start(program: str, cwd: Path) -> subprocess.Popen[str]:
    path = cwd / "program.py"
    path.write_text(PRELUDE + textwrap.dedent(program))
    return subprocess.Popen(
        [sys.executable, path],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(cwd)},
    )


def run(program: str, cwd: Path, timeout: float = 120) -> str:
    process = start(program, cwd)
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    return out


def left(cwd: Path) -> list[Path]:
    """Temporary folders of results."""
    return [path for path in cwd.iterdir() if path.name.startswith("lowtide-")]


@pytest.mark.parametrize(
    "end",
    [
        "sys.exit(0)",
        "raise SystemExit",
        "del r; gc.collect(); sys.exit(0)",
        "r.flows.arrow(); sys.exit(0)",
        "os._exit(0)",
        "raise KeyError",
        "r2 = S.run(schemes=['dctcp']); assert r2.digest == r.digest; sys.exit(0)",
    ],
)
def test_the_end_of_a_forked_child_keeps_the_results_of_its_parent(end, tmp_path) -> None:
    program = f"""
    r = S.run(schemes=["dctcp"])
    pid = os.fork()
    if pid == 0:
        {end}
    os.waitpid(pid, 0)
    assert r.dir.exists() and r.flows.arrow().num_rows > 0
    print("kept")
    """
    assert run(program, tmp_path).strip() == "kept"
    assert left(tmp_path) == [], "the parent removes them"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_keep_the_results(method, tmp_path) -> None:
    program = f"""
    def rows(result):
        return result.flows.arrow().num_rows, result.digest
    if __name__ == "__main__":
        r = S.run(schemes=["dctcp"])
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            found = set(pool.map(rows, [r, r]))
        assert found == {{rows(r)}}, found
        assert r.dir.exists()
        print("kept")
    """
    assert run(program, tmp_path).strip() == "kept"
    assert left(tmp_path) == []


def test_a_fork_during_a_run_of_another_thread(tmp_path) -> None:
    program = """
    t = threading.Thread(target=lambda: lt.scenario("leaf-spine").run(1, schemes=["dctcp"]))
    t.start(); time.sleep(0.5)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if S.run(schemes=["dctcp"]).digest else 1)
    assert os.waitpid(pid, 0)[1] == 0
    t.join(); print("ended")
    """
    assert run(program, tmp_path).strip() == "ended"


def test_threads_have_the_digest_of_one(tmp_path) -> None:
    program = """
    def work(): found.append(S.run(controls=[Mine], schemes=["mine"]).digest)
    found = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert len(found) == 4 and len(set(found)) == 1, found
    print("equal")
    """
    assert run(program, tmp_path).strip() == "equal"


RUNS = {
    "a long run": 'lt.scenario("leaf-spine").run(seeds=1000, out="out")',
    "an endless hook": 'S.run(controls=[Endless], schemes=["endless"], out="out")',
    "an endless constructor": 'S.run(controls=[Never], schemes=["never"], out="out")',
    "an endless function of a hook": 'S.run(controls=[Calls], schemes=["calls"], out="out")',
    "an endless hook of a connection": "drive()",
    "an endless hook of the kit": "lt.check_control(Endless)",
}
CONTROLS = """
def forever():
    while True: pass
class Endless(lt.CongestionControl):
    name = "endless"
    def on_ack(self, ack):
        while True: pass
class Never(lt.CongestionControl):
    name = "never"
    def __init__(self, setup):
        while True: pass
class Calls(lt.CongestionControl):
    name = "calls"
    def on_ack(self, ack):
        try: forever()
        finally: self.grow(ack)
def drive():
    lt.register(Endless)
    c, s = lt.Connection.client("endless"), lt.Connection.server("dctcp")
    c.write(10**6)
    for _ in range(50):
        for e, o in ((c, s), (s, c)):
            c.advance("50 us"); s.advance("50 us")
            for g in e.transmit(): o.receive(g)
"""


def interrupt(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(1.5)
    os.kill(process.pid, signal.SIGINT)


@pytest.mark.parametrize("what", RUNS)
def test_ctrl_c_ends(what, tmp_path) -> None:
    program = f"""
    try:
        {RUNS[what]}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    process = start(CONTROLS + "print('begins', flush=True)" + textwrap.dedent(program), tmp_path)
    interrupt(process)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and out == "interrupted\n", err


@pytest.mark.parametrize("what", ["a long run", "an endless hook"])
@pytest.mark.parametrize("daemon", [True, False])
def test_ctrl_c_ends_a_run_of_another_thread(what, daemon, tmp_path) -> None:
    program = f"""
    def work():
        try:
            {RUNS[what]}
        except KeyboardInterrupt:
            print("run interrupted", flush=True)
    t = threading.Thread(target=work, daemon={daemon}); t.start()
    print("begins", flush=True)
    try:
        t.join()
    except KeyboardInterrupt:
        t.join()
        print("main interrupted", flush=True)
    """
    process = start(CONTROLS + textwrap.dedent(program), tmp_path)
    interrupt(process)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert sorted(out.splitlines()) == ["main interrupted", "run interrupted"]


def test_ctrl_c_ends_the_runs_of_a_pool(tmp_path) -> None:
    program = f"""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        future = pool.submit(lambda: {RUNS["a long run"]})
        print("begins", flush=True)
        future.result()
    """
    process = start(program, tmp_path)
    interrupt(process)
    _, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err


DEAF = {
    "sleeps": "time.sleep(1000)",
    "swallows": """
        while True:
            try: time.sleep(0.01)
            except BaseException: pass""",
}


@pytest.mark.parametrize("how", DEAF)
def test_a_further_ctrl_c_ends_a_hook_that_cannot_be_interrupted(how, tmp_path) -> None:
    program = (
        "class Deaf(lt.CongestionControl):\n    name = 'deaf'\n"
        f"    def on_ack(self, ack): {DEAF[how]}\n"
        "print('begins', flush=True)\n"
        "S.run(controls=[Deaf], schemes=['deaf'], out='out')\n"
    )
    process = start(program, tmp_path)
    interrupt(process)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert "the next Ctrl-C ends the process" in said
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
