"""Results: tables with units, percentiles, comparisons, figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import lowtide as lt
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

SCRIPT = Path(sys.executable).with_name("lowtide")


def test_every_table_is_read_by_every_library(first_light) -> None:
    assert {"runs", "flows", "queues", "links"} <= set(first_light.tables)
    for name, rows in first_light.tables.items():
        arrow = rows.arrow()
        frames = (rows.pandas(), rows.polars(), pl.DataFrame(rows), pa.table(rows))
        counts = {len(frame) for frame in frames}
        # DuckDB finds the variable by its name.
        counts.add(duckdb.sql("select count(*) from rows").fetchall()[0][0])
        assert counts == {arrow.num_rows}, name
        assert list(frames[0].columns) == [column.name for column in rows.columns]


def test_units_are_in_the_fields_and_in_attrs(first_light) -> None:
    flows = first_light.flows
    frame = flows.pandas()
    assert frame.attrs["units"] == flows.units
    timed = [name for name in frame.columns if name.endswith("_ps")]
    assert timed and all(flows.units[name] == "ps" for name in timed)
    schema = pa.schema(flows)
    assert schema.field(timed[0]).metadata[b"unit"] == b"ps"
    assert all(column.description for column in flows.columns)


def test_an_absent_table_says_why(first_light) -> None:
    with pytest.raises(lt.RequestError, match="no queries"):
        first_light.queries.pandas()
    with pytest.raises(lt.RequestError, match="flowz"):
        first_light.table("flowz")


ESTIMATE = ["value", "least", "most", "low", "high", "seeds_low", "seeds_high"]


def estimate(of: dict) -> list:
    """The columns of an estimate in the JSON of the command."""
    ends = (of["between"], of["ci95"], of["seed_range"])
    return [of["value"], *(end for pair in ends for end in pair or (None, None))]


# Two seeds have a range and five an interval; 30 ms cut flows off.
RUNS = {"two seeds": (2, {}), "five seeds": (5, {}), "cut off": (2, {"run.duration": "30 ms"})}


@pytest.mark.parametrize("name", RUNS)
def test_percentiles_are_those_of_the_command(name, tmp_path) -> None:
    seeds, keys = RUNS[name]
    scenario = lt.scenario("leaf-spine")
    for key, value in keys.items():
        scenario = scenario.set(key, value)
    result = scenario.run(seeds=seeds, schemes=["cubic", "dctcp"], out=tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = {
        (row["scheme"], row["group"], row["size"], row["q"]): row
        for row in result.slowdown(by="size", q=[0.5, 0.99])
    }
    wanted = [
        row for row in summary["tails"] if row["metric"] == "slowdown" and row["class"] is not None
    ]
    assert wanted
    for row in wanted:
        for q, percentile in ((0.5, "p50"), (0.99, "p99")):
            found = rows[row["scheme"], row["group"], row["class"], q]
            assert [found[column] for column in ESTIMATE] == estimate(row[percentile])
            assert found["note"] == row[percentile]["note"]
    has = {column for row in rows.values() for column in ESTIMATE if row[column] is not None}
    assert ("low" in has) == (seeds >= 5) and ("seeds_low" in has) == (seeds < 5)
    assert ("least" in has) == bool(keys)
    whole = result.slowdown(by=None).pandas()
    assert whole["size"].isna().all() and set(whole["q"]) == {0.5, 0.95, 0.99, 0.999}
    assert result.tails("fct_ms").pandas().attrs["units"]["value"] == "ms"
    for wrong in ({"by": "colour"}, {"q": [0.42]}):
        with pytest.raises(lt.RequestError):
            result.slowdown(**wrong)
    means = result.summary()
    assert [[row[column] for column in ESTIMATE] for row in means] == [
        estimate(row) for row in summary["summary"]
    ]
    assert [row["note"] for row in means] == [row["note"] for row in summary["summary"]]


def test_the_headline_has_its_comparisons(tmp_path) -> None:
    result = lt.scenario("queue-buildup").run(
        seeds=5,
        over={"traffic.short.size": ["20 kB"]},
        schemes=["sack", "dctcp"],
        out=tmp_path / "out",
    )
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    rows = result.comparisons()
    assert [row["sentence"] for row in rows] == [row["sentence"] for row in summary["comparisons"]]
    assert [row["verdict"] for row in rows] == [row["verdict"] for row in summary["comparisons"]]
    first = rows[0]
    assert (first["a_scheme"], first["b_scheme"], first["group"]) == ("sack", "dctcp", "short")
    assert first["sentence"] in result.verdict.splitlines()
    # numpy computes the values from the flows of all seeds, of which none was cut off.
    flows = result.flows.pandas()
    statistics = {row["statistic"]: row for row in rows if row["group"] == "short"}
    assert statistics.keys() == {"mean", "p50"}
    for statistic, row in statistics.items():
        for side, scheme in (("a", "sack"), ("b", "dctcp")):
            of = flows[(flows["scheme"] == scheme) & (flows["group"] == "short")]
            times = of["fct_ps"].astype("int64") / 1e9
            if statistic == "mean":
                wanted = times.groupby(of["seed"]).mean().mean()
            else:
                wanted = np.percentile(times, 50, method="inverted_cdf")
            assert row[side] == pytest.approx(wanted, rel=1e-12)
        assert row["ratio"] == pytest.approx(row["b"] / row["a"], rel=1e-12)
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        assert row["verdict"] == "better" and row["ratio_seeds_low"] is None
    alone = lt.scenario("first-light").run(schemes=["dctcp"]).comparisons()
    assert len(alone) == 0 and list(alone.pandas().columns) == alone.columns


def test_rows_are_one_type_for_every_library(first_light) -> None:
    for rows in (first_light.summary(), first_light.slowdown(), first_light.tails("qct_ms")):
        assert isinstance(rows, lt.Rows) and len(rows) == len(list(rows))
        frames = (rows.pandas(), rows.polars(), rows.arrow())
        assert {len(frame) for frame in frames} == {len(rows)}
        assert [list(frames[0].columns), frames[1].columns, frames[2].column_names] == [
            rows.columns
        ] * 3
        if rows:
            assert list(rows[0]) == rows.columns and rows[:1][0] == rows[0]
            assert str(rows).count("\n") == len(rows) and "<table>" in rows._repr_html_()
    assert first_light.compare("sack", "dctcp").polars().height > 0


def test_rows_are_no_data_frame(first_light) -> None:
    summary = first_light.summary()
    with pytest.raises(TypeError, match=r"\.pandas\(\)\['metric'\]"):
        summary["metric"]
    with pytest.raises(AttributeError, match="pandas"):
        summary.query("metric == 'drops'")


@pytest.mark.parametrize("seeds", [3, 5])
def test_a_comparison_is_that_of_the_command(seeds, tmp_path) -> None:
    result = lt.scenario("first-light").run(
        seeds=seeds, schemes=["cubic", "dctcp"], out=tmp_path / "out"
    )
    found = result.compare("cubic", "dctcp")
    done = subprocess.run(
        [SCRIPT, "--json", "compare", "out", "out", "--pair", "cubic=dctcp"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    rows = [row for row in json.loads(done.stdout)["rows"] if row["scheme"] == "cubic"]
    for mine, row in zip(found.rows, rows, strict=True):
        assert [mine[side] for side in ("a", "b")] == [row[side]["value"] for side in ("a", "b")]
        bounds = [mine[f"ratio_{end}"] for end in ("low", "high", "seeds_low", "seeds_high")]
        ends = (row["ratio_ci95"], row["ratio_seed_range"])
        assert bounds == [end for pair in ends for end in pair or (None, None)]
        assert (mine["ratio"], mine["verdict"]) == (row["ratio"], row["verdict"])
        absent = [row[side]["note"] for side in ("a", "b") if row[side]["value"] is None]
        assert mine["note"] == (absent or [row["ratio_note"]])[0]
    # A difference is decided by an interval, or because it does not depend on the seed.
    decided = [row for row in found.rows if row["verdict"] not in ("same", "undecided")]
    assert all(row["ratio_seeds_low"] is None for row in decided)
    assert any(row["ratio_low"] is not None for row in decided) == (seeds >= 5)
    assert len(found.pandas()) == len(rows) > 0 and "<table>" in found._repr_html_()
    assert repr(found).count("\n") == len(rows) - 1
    with pytest.raises(lt.RequestError, match="no scheme `reno`"):
        result.compare("reno", "dctcp")


def test_figures_are_saved_for_papers(tmp_path, first_light) -> None:
    assert first_light.figures
    figure = next(iter(first_light.figures.values()))
    for extension, start in ((".pdf", b"%PDF"), (".svg", b"<svg"), (".png", b"\x89PNG")):
        path = figure.save(tmp_path / f"f{extension}", width="84mm", grey=True)
        assert path.read_bytes().startswith(start)
    assert figure.svg.startswith("<svg") and figure._repr_svg_() == figure.svg
    assert figure.csv.count("\n") > 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.pdf", "f.png", "f.svg"]
    # The first words of a name are enough; a part of a word is not.
    assert first_light.figure("queue").name.startswith("queue-")
    with pytest.raises(lt.RequestError, match="no figure is named `queu`"):
        first_light.figure("queu")
    with pytest.raises(lt.RequestError, match="format"):
        figure.save(tmp_path / "f.gif")
    with pytest.raises(lt.RequestError, match="width"):
        figure.save(tmp_path / "f.pdf", width="3.3")


def test_a_notebook_shows_verdict_and_figure(first_light) -> None:
    page = first_light._repr_html_()
    assert "<svg" in page and "<figcaption>" in page
    for sentence in first_light.verdict.splitlines():
        assert sentence[:20].replace("&", "&amp;") in page
    assert first_light.digest in repr(first_light)


def test_the_package_needs_no_other_library(tmp_path) -> None:
    """Without pandas, frames are lists; a library that is asked for is named."""
    code = """
import sys
for name in ("pandas", "polars", "pyarrow", "numpy", "tqdm", "matplotlib"):
    sys.modules[name] = None
import lowtide as lt
r = lt.scenario("first-light").run()
assert r.slowdown()[0]["scheme"] and dict(r.summary()[0]) and len(r.summary()) > 0
try:
    r.flows.pandas()
except ImportError as error:
    assert "pip install pandas" in str(error), error
else:
    raise AssertionError("pandas was found")
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_the_first_import_is_quick() -> None:
    """The import loads no other library; its time is measured by hand on an idle machine."""
    code = "import sys, lowtide; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    optional = {"pandas", "numpy", "pyarrow", "polars", "tqdm", "matplotlib"}
    assert not optional & set(done.stdout.split())
