"""Data that connections share, and random numbers: equal runs are equal."""

from __future__ import annotations

import random
import threading
import time
import warnings

import lowtide as lt
import pytest

COUNTS = {"acks": 0}


def run(control, seeds: int = 1, **more) -> lt.Result:
    scenario = lt.scenario("first-light")
    return scenario.run(seeds, controls=[control], schemes=[control.name], progress=False, **more)


class OfClass(lt.CongestionControl):
    name = "of-class"
    acks = 0

    def on_ack(self, ack):
        OfClass.acks += 1
        cut(self, ack, OfClass.acks)


class OfList(lt.CongestionControl):
    name = "of-list"
    seen: list[int] = []  # noqa: RUF012

    def on_ack(self, ack):
        self.seen.append(ack.now)
        cut(self, ack, len(self.seen))


class OfGlobal(lt.CongestionControl):
    name = "of-global"

    def on_ack(self, ack):
        COUNTS["acks"] += 1
        cut(self, ack, COUNTS["acks"])


class OfDefault(lt.CongestionControl):
    name = "of-default"

    def on_ack(self, ack, seen=[]):  # noqa: B006
        seen.append(1)
        cut(self, ack, len(seen))


class OfNew(lt.CongestionControl):
    name = "of-new"

    def on_ack(self, ack):
        type(self).fresh = getattr(type(self), "fresh", 0) + 1
        cut(self, ack, type(self).fresh)


def cut(control, ack, count: int) -> None:
    if ack.ece and ack.may_reduce:
        control.cut_to(control.cwnd * (0.5 if count % 2 else 0.9))
    else:
        control.grow(ack)


def closure() -> type[lt.CongestionControl]:
    count = 0

    class OfClosure(lt.CongestionControl):
        name = "of-closure"

        def on_ack(self, ack):
            nonlocal count
            count += 1
            cut(self, ack, count)

    return OfClosure


@pytest.mark.parametrize(
    ("control", "place"),
    [
        (OfClass, "OfClass.acks"),
        (OfList, "OfList.seen"),
        (OfGlobal, "test_shared.COUNTS"),
        (OfDefault, "a default of OfDefault.on_ack"),
        (OfNew, "OfNew.fresh"),
        (closure(), "`count` around"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_change_of_shared_data_is_told_and_taken_back(control, place) -> None:
    with pytest.warns(lt.ControlWarning, match="results may depend on the order"):
        first = run(control)
    assert any(place in sentence for sentence in first.findings), first.findings
    with pytest.warns(lt.ControlWarning):
        second = run(control)
    assert first.digest == second.digest
    assert first.manifest["runs"][0]["hash"] == second.manifest["runs"][0]["hash"]


def test_what_the_user_sets_between_runs_is_kept() -> None:
    class Counts(lt.CongestionControl):
        name = "counts"
        acks = 0

        def on_ack(self, ack):
            Counts.acks += 1
            self.grow(ack)

    with pytest.warns(lt.ControlWarning):
        run(Counts)
    assert Counts.acks > 0, "it can be read after the run"
    Counts.acks = -5
    with pytest.warns(lt.ControlWarning):
        run(Counts)
    assert Counts.acks > -5
    lt.register(Counts)
    assert Counts.acks == -5


def test_executions_at_once_keep_each_other() -> None:
    """Data of a control is taken back although another control was running before it."""
    controls = (OfClass, OfList, Draws)
    names = {control: dict(vars(control)) for control in controls}
    for control in controls:
        lt.register(control)

    def work(control) -> None:
        results[control] = lt.scenario("first-light").run(2, schemes=[control.name], progress=False)

    results: dict[type, lt.Result] = {}
    threads = [threading.Thread(target=work, args=(control,)) for control in controls]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lt.ControlWarning)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lt.register(Draws)
    assert OfClass.acks == 0 and OfList.seen == []
    assert {control: dict(vars(control)) for control in controls} == names
    assert any("OfClass.acks" in text for text in results[OfClass].findings)
    assert not any("OfClass" in text for text in results[Draws].findings)


def draws(self, ack):
    if ack.ece and ack.may_reduce:
        self.cut_to(self.cwnd * self.setup.rng.uniform(0.5, 1.0))
    else:
        self.grow(ack)


class Draws(lt.CongestionControl):
    name = "draws-rng"
    on_ack = draws


def test_random_numbers_are_those_of_the_seed_and_the_flow() -> None:
    first, again = run(Draws, 2), run(Draws, 2, jobs=1)
    assert first.digest == again.digest
    digests = [entry["digest"] for entry in first.manifest["runs"]]
    assert len(set(digests)) == 2, "another seed, other numbers"


def seeds_of(scenario: lt.Scenario) -> set[int]:
    """The seeds of the connections."""
    seen: set[int] = set()

    class Looks(lt.CongestionControl):
        name = "looks"

        def __init__(self, setup):
            super().__init__(setup)
            seen.add(setup.seed)

    with pytest.warns(lt.ControlWarning):
        scenario.run(1, controls=[Looks], schemes=["looks"], progress=False)
    # The next run sets `seen` back.
    return set(seen)


def test_another_group_of_flows_changes_no_draw() -> None:
    text = lt.scenario("first-light").to_toml()
    alone = lt.Scenario.from_text(text)
    group = text[text.index("[traffic.pair]") :].split("\n\n")[0]
    other = group.replace("[traffic.pair]", "[traffic.another]")
    before = lt.Scenario.from_text(text.replace(group, f"{other}\n\n{group}"))
    few, more = seeds_of(alone), seeds_of(before)
    assert few < more, "the same numbers, and those of the other group"
    assert seeds_of(alone) == few
    assert not seeds_of(alone.set("run.first-seed", 2)) & few


def test_the_generator_is_that_of_python() -> None:
    assert lt.CcSetup(seed=7).rng.random() == random.Random(7).random()
    setup = lt.CcSetup(seed=7)
    assert setup.rng is setup.rng and lt.CcSetup().seed == 0
    # Known numbers: equal on every platform.
    assert lt.CcSetup(seed=2**63).rng.getrandbits(32) == random.Random(2**63).getrandbits(32)


def varies(body, **names) -> type[lt.CongestionControl]:
    return type("Varies", (lt.CongestionControl,), {"name": "varies", "on_ack": body, **names})


@pytest.mark.parametrize(
    ("share", "cause"),
    [
        (lambda: random.uniform(0.5, 0.6), "random.uniform"),
        (lambda: 0.5 + time.time() % 1e-3, "time.time"),
        (lambda: 0.5 + next(numbers), "numbers"),
    ],
    ids=["random", "time", "global"],
)
def test_the_kit_reports_a_control_whose_runs_differ(share, cause) -> None:
    def on_ack(self, ack):
        if ack.ece and ack.may_reduce and self.setup.ecn:
            self.cut_to(self.cwnd * share())
            return True
        self.grow(ack)
        return False

    with pytest.raises(lt.ControlError) as raised:
        lt.check_control(varies(on_ack))
    found = {violation.rule: violation.detail for violation in raised.value.violations}
    assert cause in found["repeatable"], found


def test_the_kit_allows_random_numbers_of_the_connection() -> None:
    def on_ack(self, ack):
        if ack.ece and ack.may_reduce and self.setup.ecn:
            self.cut_to(self.cwnd * self.setup.rng.uniform(0.5, 0.50001))
            return True
        self.grow(ack)
        return False

    lt.check_control(varies(on_ack))
    with pytest.raises(lt.ControlError, match="needs no exemption"):
        lt.check_control(varies(on_ack, exemptions={"repeatable": "none"}))


class _Numbers:
    def __init__(self) -> None:
        self.count = 0

    def __iter__(self):
        return self

    def __next__(self) -> float:
        self.count += 1
        return self.count * 1e-9


numbers = _Numbers()
