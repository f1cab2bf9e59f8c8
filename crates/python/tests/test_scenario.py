"""Scenarios: keys, checks, errors."""

from __future__ import annotations

import pickle

import lowtide as lt
import pytest


def test_a_scenario_does_not_change() -> None:
    scenario = lt.scenario("leaf-spine")
    other = scenario.set("switch.mark.k", "20 pkt")
    assert "65 pkt" in scenario.to_toml()
    assert "20 pkt" in other.to_toml() and "65 pkt" not in other.to_toml()
    assert lt.Scenario.from_text(other.to_toml()).check().runs == other.check().runs


def test_check_counts_runs_and_states_units() -> None:
    swept = lt.scenario("first-light").sweep("traffic.pair.size", ["20 kB", "40 kB"])
    check = swept.set("run.seeds", 3).check()
    assert check.points == 2
    assert check.runs == check.points * len(check.schemes) * 3
    assert check.memory_mb > 0 and check.cpu_s > 0
    assert check.tiers[0]["name"] and not check.warnings
    assert f"<td>{check.runs} of sack, dctcp, 2 points</td>" in check._repr_html_()


def test_values_of_all_types() -> None:
    scenario = lt.scenario("leaf-spine")
    assert "nagle = true" in scenario.set("transport.sender.nagle", True).to_toml()
    assert (
        scenario.set("run.seeds", 3).check().runs == 3 * scenario.set("run.seeds", 1).check().runs
    )
    schemes = scenario.set("compare.schemes", ["cubic", "dctcp"]).check().schemes
    assert schemes == ["cubic", "dctcp"]
    swept = scenario.sweep("switch.mark.k", {"from": "10 pkt", "to": "30 pkt", "step": "10 pkt"})
    assert swept.check().points == 3
    with pytest.raises(lt.RequestError, match="text with its unit"):
        scenario.set("run.seeds", object())


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(lt.ScenarioError) as raised:
        lt.scenario("leaf-spine").set("switch.mark.kk", "65 pkt")
    error = raised.value
    assert isinstance(error, lt.LowtideError) and isinstance(error, ValueError)
    assert error.file == "set()" and error.line == 1
    assert "`k`" in (error.help or "") or "switch.mark.k" in (error.help or ""), error.help
    assert "switch.mark.kk" in str(error) and "^" in str(error)


def test_an_unknown_unit_scheme_or_scenario_is_named() -> None:
    with pytest.raises(lt.ScenarioError, match="65 furlongs"):
        lt.scenario("leaf-spine").set("switch.mark.k", "65 furlongs").check()
    with pytest.raises(lt.ScenarioError, match="dctcp"):
        lt.scenario("leaf-spine").set("compare.schemes", ["dctpc"]).check()
    with pytest.raises(lt.ScenarioError, match="leaf-spine"):
        lt.scenario("leaf-spin")


def test_an_error_in_a_file_has_its_place(tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("schema = 1\ntitle = 'x'\n\n[switch]\nbufer = 3\n")
    with pytest.raises(lt.ScenarioError) as raised:
        lt.Scenario.from_file(path).run()
    fault = next(f for f in raised.value.faults if "bufer" in f.message)
    assert (fault.file, fault.line, fault.column) == (str(path), 5, 1)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value) and copy.faults == raised.value.faults


def test_a_scenario_can_be_pickled() -> None:
    scenario = lt.scenario("first-light").set("run.seeds", 2).sweep("traffic.pair.size", ["20 kB"])
    copy = pickle.loads(pickle.dumps(scenario))
    assert copy.check() == scenario.check() and repr(copy) == repr(scenario)


def test_lists_of_names() -> None:
    assert lt.scenarios()["leaf-spine"]
    assert {"cubic", "dctcp"} <= set(lt.schemes())
