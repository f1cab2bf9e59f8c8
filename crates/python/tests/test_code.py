"""The digest of a control: changes of everything of the user's own that it uses give new results."""

from __future__ import annotations

import importlib
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path

import lowtide as lt
import pytest

# A package of the user: the control is in one module, what it uses in others.
FILES = {
    "mine/__init__.py": "",
    "mine/control.py": """
        import functools
        import lowtide as lt
        from . import rules, tables as t
        from .base import Base
        from .rules import Law

        def outer(share):
            def cut(window):
                return window * share
            return cut

        closure = outer(0.5)

        class Mine(Base):
            name = "mine"
            law = Law()
            partial = functools.partial(rules.times, 0.5)

            def on_ack(self, ack):
                from .lazy import late
                import mine.absolute
                if ack.ece and ack.may_reduce:
                    kept = rules.cut(self.cwnd), closure(self.cwnd), self.law.cut(self.cwnd)
                    share = t.SHARES["mark"][0] * late() * mine.absolute.one() * self.unused
                    self.cut_to(min(kept) * share)
                    return True
                self.grow(ack)
    """,
    "mine/base.py": """
        import lowtide as lt

        class Base(lt.CongestionControl):
            unused = 1.0

            def grow(self, ack):
                super().grow(ack)
    """,
    "mine/rules.py": """
        from .deep import half

        def cut(window):
            return half(window)

        def times(share, window):
            return share * window

        def never(window):
            return 1

        class Law:
            share = 0.5

            def cut(self, window):
                return window * self.share
    """,
    "mine/deep.py": "def half(window):\n    return window * 0.5\n",
    "mine/lazy.py": "def late():\n    return 1.0\n",
    "mine/absolute.py": "def one():\n    return 1.0\n",
    "mine/tables.py": "SHARES = {'mark': [1.0, 2.0]}\nOTHER = 5\n",
}
CHANGES = {
    "a function": ("mine/rules.py", "half(window)\n", "half(window) + 0\n"),
    "a function of a function": ("mine/deep.py", "0.5", "0.6"),
    "an attribute of a class": ("mine/rules.py", "share = 0.5", "share = 0.75"),
    "a method of a class": ("mine/rules.py", "* self.share", "* self.share + 1"),
    "a base class": ("mine/base.py", "super().grow(ack)", "super().grow(ack); self.cwnd += 1"),
    "an attribute of a base class": ("mine/base.py", "unused = 1.0", "unused = 0.9"),
    "an import inside of a function": ("mine/lazy.py", "1.0", "0.9"),
    "an absolute import inside of a function": ("mine/absolute.py", "1.0", "0.9"),
    "data": ("mine/tables.py", "[1.0, 2.0]", "[1.0, 3.0]"),
    "a closure": ("mine/control.py", "outer(0.5)", "outer(0.6)"),
    "a partial function": ("mine/rules.py", "share * window", "share * window + 0"),
}
NO_CHANGES = {
    "a comment": ("mine/rules.py", "def never", "# a remark\ndef never"),
    "an unused function": ("mine/rules.py", "return 1", "return 2"),
    "unused data": ("mine/tables.py", "OTHER = 5", "OTHER = 6"),
}


@pytest.fixture
def package(tmp_path, monkeypatch) -> Callable[..., str]:
    """Writes the package with a change, loads it, and returns the digest of its control."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(file: str | None = None, old: str = "", new: str = "") -> str:
        for name, text in FILES.items():
            content = textwrap.dedent(text)
            if name == file:
                assert old in content
                content = content.replace(old, new)
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        control = importlib.import_module("mine.control").Mine
        lt.register(control)
        scenario = lt.scenario("first-light").set("transport.sender.cc", "mine")
        text = scenario.set("compare.schemes", ["ecn"]).run(1, progress=False).manifest["settings"]
        return next(setting["values"][0] for setting in text if setting["name"] == "code")

    yield load
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        del sys.modules[name]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_a_control_uses_changes_its_digest(package, change) -> None:
    assert package() != package(*CHANGES[change])


@pytest.mark.parametrize("change", NO_CHANGES)
def test_other_changes_keep_the_digest(package, change) -> None:
    assert package() == package(*NO_CHANGES[change])


def test_results_of_a_changed_module_are_not_returned(tmp_path, monkeypatch) -> None:
    """A directory of the earlier version is refused; without it the new version runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "cutting.py").write_text("def cut(w): return w * 0.5\n")
    import cutting

    class Uses(lt.CongestionControl):
        name = "uses"

        def on_ack(self, ack):
            if ack.ece and ack.may_reduce:
                self.cut_to(cutting.cut(self.cwnd))
                return True
            self.grow(ack)

    def run(**more):
        scenario = lt.scenario("first-light")
        return scenario.run(1, controls=[Uses], schemes=["uses"], progress=False, **more)

    before = run(out=tmp_path / "out")
    (tmp_path / "cutting.py").write_text("def cut(w): return w * 0.95  # changed\n")
    importlib.reload(cutting)
    with pytest.raises(lt.RunError, match=r"sender\.uses\.code"):
        run(out=tmp_path / "out")
    assert run().digest != before.digest
    del sys.modules["cutting"]


def control(body, name: str = "tells") -> type[lt.CongestionControl]:
    return type("Tells", (lt.CongestionControl,), {"name": name, "on_ack": body})


def test_a_run_says_what_the_digest_does_not_cover(tmp_path) -> None:
    path = tmp_path / "share.txt"
    path.write_text("0.5")

    def reads(self, ack):
        with open(path) as file:
            self.share = float(file.read())
        self.grow(ack)

    with pytest.warns(lt.ControlWarning, match=r"`tells` reads files with open\(\)"):
        lt.scenario("first-light").run(
            1, controls=[control(reads)], schemes=["tells"], progress=False
        )


def test_a_run_names_clocks_and_random_numbers_of_python() -> None:
    import random
    import time

    def draws(self, ack):
        self.noise = random.random() + time.time()
        self.grow(ack)

    with pytest.warns(lt.ControlWarning) as told:
        lt.scenario("first-light").run(
            1, controls=[control(draws, "draws")], schemes=["draws"], progress=False
        )
    texts = " ".join(str(warning.message) for warning in told)
    assert "random.random" in texts and "time.time" in texts and "self.setup.rng" in texts


def test_installed_packages_count_by_their_version(monkeypatch) -> None:
    import numpy as np

    def uses_numpy(self, ack):
        self.cwnd = np.float64(self.cwnd)
        self.grow(ack)

    def code() -> str:
        used = control(uses_numpy, "uses-numpy")
        result = lt.scenario("first-light").run(
            1, controls=[used], schemes=["uses-numpy"], progress=False
        )
        return next(s["values"][0] for s in result.manifest["settings"] if s["name"] == "code")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = code()
        assert code() == first
    monkeypatch.setattr(np, "__version__", "0.0")
    assert code() != first


def test_the_digest_is_that_of_another_process(tmp_path) -> None:
    """Workers compare it: it depends on no address, no order of a set, no hash of a text."""
    import subprocess

    program = textwrap.dedent(
        """
        import re
        import lowtide as lt
        from lowtide._code import code_digest
        WORDS = {"a", "bb", "ccc", "dddd"}
        PATTERN = re.compile("a+")
        class Mine(lt.CongestionControl):
            name = "mine"
            things = {1: object, "x": frozenset({(1, 2), (3, 4)})}
            def on_ack(self, ack):
                if ack.ece in {True, "x"} and PATTERN.match("a") and "a" in WORDS:
                    self.cut_to(self.cwnd / 2)
        print(code_digest(Mine))
        """
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    digests = {
        subprocess.run(
            [sys.executable, path],
            env={"PYTHONHASHSEED": str(seed), "PATH": "", "HOME": str(Path.home())},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(digests) == 1 and len(digests.pop().strip()) == 16
