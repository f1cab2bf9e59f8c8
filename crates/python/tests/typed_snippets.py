"""Forty uses of the package with their types: they run, and mypy --strict and pyright accept them.

A line with `# WRONG` is a mistake that both must find; it does not run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import lowtide as lt
import pandas as pd
import polars as pl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        return value


class Half(lt.CongestionControl):
    """Halves its window at a mark."""

    name = "snippet-half"
    scheme = "ecn"
    exemptions: ClassVar = {}
    share = lt.Param(0.5, doc="Share of the window that is kept.")
    count = lt.Param(4, max=10)
    on = lt.Param(True)
    target = lt.Param("20 us")
    mode = lt.Param("fast", choices=["fast", "slow"])

    def __init__(self, setup: lt.CcSetup) -> None:
        super().__init__(setup)
        self.alpha = 1.0
        self.cuts: list[int] = []

    def on_ack(self, ack: lt.AckSample) -> bool | None:
        if ack.ece and ack.may_reduce and self.setup.ecn:
            self.cuts.append(ack.now)
            self.cut_to(self.cwnd * self.share)
            return True
        self.grow(ack)
        return None

    def on_rto(self, rto: lt.Rto) -> None:
        super().on_rto(rto)


@functools.cache
def result() -> lt.Result:
    return lt.scenario("first-light").run(2, schemes=["ecn", "dctcp"], progress=False)


def connected() -> tuple[lt.Connection, lt.Connection]:
    client, server = lt.Connection.client("dctcp"), lt.Connection.server("dctcp", seed=7)
    for end, other in ((client, server), (server, client), (client, server)):
        for segment in end.transmit():
            other.receive(segment)
    return client, server


def snippet_01_names() -> None:
    assert_type(lt.scenarios(), dict[str, str])
    assert_type(lt.schemes()["dctcp"], str)


def snippet_02_scenario_is_immutable() -> None:
    scenario = lt.scenario("first-light")
    assert_type(scenario.set("switch.mark.k", "20 pkt"), lt.Scenario)


def snippet_03_values() -> None:
    scenario = lt.scenario("first-light").set("run.seeds", 2).set("transport.sender.nagle", True)
    scenario.set("compare.schemes", ["ecn", "dctcp"])


def snippet_04_sweep_of_a_list() -> None:
    values: list[str] = ["20 pkt", "65 pkt"]
    lt.scenario("first-light").sweep("switch.mark.k", values)


def snippet_05_sweep_of_a_range() -> None:
    ends: dict[str, str] = {"from": "10 pkt", "to": "30 pkt", "step": "10 pkt"}
    assert lt.scenario("first-light").sweep("switch.mark.k", ends).check().points == 3


def snippet_06_check() -> None:
    check = lt.scenario("first-light").check()
    assert_type(check.runs, int)
    assert_type(check.warnings, list[str])
    assert_type(check.cpu_s, float)


def snippet_07_over() -> None:
    over: dict[str, list[str]] = {"traffic.pair.size": ["20 kB", "40 kB"]}
    swept = lt.scenario("first-light").run(1, over=over, schemes=["ecn"], progress=False)
    assert_type(swept, lt.Result)


def snippet_08_over_numbers() -> None:
    over: dict[str, list[int]] = {"traffic.long.count": [1, 2]}
    lt.scenario("queue-buildup").sweep("run.seeds", over["traffic.long.count"])


def snippet_09_schemes_of_a_tuple() -> None:
    schemes: tuple[str, ...] = ("ecn",)
    lt.scenario("first-light").run(1, schemes=schemes, progress=False)


def snippet_10_progress() -> None:
    shares: list[float] = []

    def told(share: float, text: str) -> None:
        shares.append(share)

    lt.scenario("first-light").run(1, schemes=["ecn"], progress=told)


def snippet_11_directory() -> None:
    assert_type(result().dir, Path)
    assert_type(lt.load(result().dir).digest, str)


def snippet_12_manifest() -> None:
    manifest: dict[str, Any] = result().manifest
    assert manifest["runs"]


def snippet_13_words() -> None:
    assert_type(result().verdict, str)
    assert_type(result().findings, list[str])
    assert_type(result().labels, dict[str, str])


def snippet_14_table() -> None:
    flows = result().flows
    assert_type(flows, lt.Table)
    assert_type(flows.units, dict[str, str])
    assert_type(flows.columns[0].name, str)


def snippet_15_pandas() -> None:
    frame = result().flows.pandas()
    assert_type(frame, pd.DataFrame)
    frame.groupby("scheme")


def snippet_16_polars() -> None:
    assert_type(result().flows.polars(), pl.DataFrame)
    pl.DataFrame(result().flows)


def snippet_17_tables_by_name() -> None:
    tables: dict[str, lt.Table] = result().tables
    assert "flows" in tables and result().table("queues").name == "queues"


def snippet_18_slowdown() -> None:
    tail = result().slowdown(by="size", q=[0.5, 0.99])
    assert_type(tail, lt.Rows)
    frame = tail.pandas()
    assert len(frame[frame["q"] == 0.99]) <= len(frame)


def snippet_19_slowdown_polars() -> None:
    frame = result().slowdown(by=None).polars()
    assert_type(frame, pl.DataFrame)
    frame.filter(pl.col("q") == 0.5)


def snippet_20_tails() -> None:
    for row in result().tails("fct_ms", by=None, q=(0.5,)):
        assert_type(row, dict[str, Any])
        assert row["unit"] == "ms"


def snippet_21_summary() -> None:
    summary: lt.Rows = result().summary()
    assert len(summary.pandas().query("metric == 'marks'")) >= 0
    assert_type(summary.columns, list[str])


def snippet_22_rows_are_a_sequence() -> None:
    rows: Sequence[dict[str, Any]] = result().summary()
    first: dict[str, Any] = rows[0]
    assert first and len(rows[:2]) == 2


def snippet_23_compare() -> None:
    found = result().compare("ecn", "dctcp", same_within=0.02)
    assert_type(found, lt.Comparison)
    assert_type(found.pandas(), pd.DataFrame)
    assert_type(found.polars(), pl.DataFrame)
    assert_type(result().comparisons(), lt.Rows)


def snippet_24_compare_results() -> None:
    other: lt.Result | None = result()
    result().compare("ecn", other=other, metrics=["marks"])


def snippet_25_figures() -> None:
    figures: dict[str, lt.Figure] = result().figures
    figure = next(iter(figures.values()))
    assert_type(figure.svg, str)
    assert_type(figure.save("f.pdf", width="3.3in", grey=True, dpi=200), Path)
    drawn = figure.matplotlib()
    assert_type(drawn, Figure)
    figure.matplotlib(Figure().subplots())
    figure.matplotlib(ax=[drawn.add_subplot()])


def snippet_26_register() -> None:
    assert_type(lt.register(Half), type[Half])


def snippet_27_decorator() -> None:
    @lt.register
    class Same(lt.CongestionControl):
        name = "snippet-same"

    assert_type(Same.name, str)


def snippet_28_parameters() -> None:
    control = Half(lt.CcSetup(mss=1000))
    assert_type(control.share, float)
    assert_type(control.count, int)
    assert_type(control.on, bool)
    assert_type(control.target, int)
    assert_type(control.mode, str)


def snippet_29_parameter_of_the_class() -> None:
    assert_type(Half.share, lt.Param[float])
    assert Half.share.default == 0.5


def snippet_30_check_control() -> None:
    lt.check_control(Half, share=0.5)


def snippet_31_controls() -> None:
    controls: list[type[lt.CongestionControl]] = [Half]
    lt.scenario("first-light").run(1, controls=controls, schemes=["snippet-half"], progress=False)


def snippet_32_facts() -> None:
    ack = lt.AckSample(ece=True, may_reduce=True, acked_bytes=1448)
    assert_type(ack.rtt, int | None)
    if ack.rtt is not None and ack.rtt < Half(lt.CcSetup()).target:
        raise AssertionError


def snippet_33_window() -> None:
    control = Half(lt.CcSetup())
    assert_type(control.cwnd, float)
    assert_type(control.pacing_rate, float | None)
    assert control.on_ack(lt.AckSample(ece=True, may_reduce=True)) is True


def snippet_34_random_numbers() -> None:
    rng: Random = lt.CcSetup(seed=5).rng
    assert_type(rng.random(), float)
    assert rng.random() != rng.random()


def snippet_35_connection() -> None:
    client, server = connected()
    client.write(1000)
    assert_type(client.info.cwnd, int)
    assert_type(client.next_timeout, int | None)
    assert_type(server.state, str)


def snippet_36_segments() -> None:
    segment = lt.Segment(flags="ACK", seq=5, sack=[(1, 2)])
    assert_type(segment.replace(ack=7).to_bytes(), bytes)
    assert_type(segment.flags, tuple[str, ...])


def snippet_37_settings() -> None:
    settings: dict[str, str] = {"rto-min": "5 ms"}
    lt.Connection.client("dctcp", profile="linux", settings=settings).advance("1 ms")


def snippet_38_errors() -> None:
    try:
        lt.scenario("first-light").set("switch.mark.kk", "1 pkt")
    except lt.ScenarioError as error:
        assert_type(error.line, int | None)
        assert_type(error.help, str | None)
    try:
        result().figure("nothing")
    except lt.RequestError as error:
        assert_type(error.help, str | None)


def snippet_39_pickle() -> None:
    import pickle

    scenario: lt.Scenario = pickle.loads(pickle.dumps(lt.scenario("first-light")))
    scenario.check()


def snippet_40_progress_argument() -> None:
    progress: bool | Callable[[float, str], object] | None = False
    lt.scenario("first-light").run(1, schemes=["ecn"], progress=progress)


def mistakes() -> Iterator[object]:
    """Mistakes that the type checkers find."""
    ack = lt.AckSample()
    yield ack.rtt < 5  # WRONG: rtt may be None
    yield lt.scenario("x").run(seeds="ten")  # WRONG
    yield result().figure("x").matplotlib(ax=5)  # WRONG
    yield lt.scenario("x").run(schemes=5)  # WRONG
    yield lt.scenario("x").run(jobs="2")  # WRONG
    yield lt.scenario("x").run(controls=[Half(lt.CcSetup())])  # WRONG: an object
    yield lt.scenario("x").set("switch.mark.k", None)  # WRONG
    yield result().slowdown()["size"]  # WRONG: rows are no data frame
    yield result().summary().query("metric == 'x'")  # WRONG
    yield result().flow  # WRONG: flows
    yield lt.Param(4, maximum=10)  # WRONG
    yield Half(lt.CcSetup()).on_ack(lt.Loss())  # WRONG
    yield lt.analyze(5)  # WRONG
    yield lt.advise(racks=[2])  # WRONG
