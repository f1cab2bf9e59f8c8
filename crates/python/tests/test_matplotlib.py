"""Figures of Matplotlib. The CSV file judges their values, the SVG file their texts and colours."""

from __future__ import annotations

import csv
import io
import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import lowtide as lt
import numpy as np
import pytest
from lowtide._matplotlib import draw
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread

SCRIPT = Path(sys.executable).with_name("lowtide")
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]


@pytest.fixture(scope="module")
def results(first_light, tmp_path_factory) -> dict[str, lt.Result]:
    """Results whose figures have every form: over time, over a sweep, of a flow, of pairs."""
    light = lt.scenario("first-light")
    over = {"switch.mark.k": ["5 pkt", "20 pkt", "80 pkt"]}
    root = tmp_path_factory.mktemp("figures")
    words = ["--senders", "dctcp,sack", "--receivers", "dctcp,ecn", "--seeds", "1"]
    words += ["--neighbours", "sack", "--quiet"]
    words += ["-s", "run.duration=200 ms", "-s", "run.warmup=100 ms", "-o", str(root / "pairs")]
    subprocess.run([SCRIPT, "matrix", *words], check=True, capture_output=True)
    return {
        "point": first_light,
        "sweep": light.run(seeds=3, over=over, progress=False),
        "flow": light.set("probes.trace", 0).run(1, progress=False),
        "pairs": lt.load(root / "pairs"),
    }


@pytest.fixture(scope="module")
def figures(results) -> dict[str, lt.Figure]:
    return {f"{kind} {name}": f for kind, r in results.items() for name, f in r.figures.items()}


def rows(figure: lt.Figure) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(figure.csv)))


def texts(figure: lt.Figure, path: Path) -> set[str]:
    """The texts of the built-in drawing, wide enough that none has two lines."""
    svg = figure.save(path / "f.svg", width="30in", title=True).read_text()
    found = re.findall(r"<text[^>]*>\s*(.*?)\s*</text>", svg, re.DOTALL)
    return {text.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&") for text in found}


def test_values_are_those_of_the_csv_file(figures) -> None:
    forms = set()
    for name, figure in figures.items():
        drawn = figure.matplotlib()
        table = rows(figure)
        head = list(table[0])
        if "plot" in head:
            check_lanes(drawn, table, head)
        elif "text" in head:
            check_grids(drawn, table)
        else:
            check_panels(drawn, table, head, name)
        forms.add(head[0] + head[1])
    assert forms == {"panelscheme", "plotcurve", "panelsender"}


def check_panels(drawn: Figure, table: list[dict[str, str]], head: list[str], name: str) -> None:
    x, y = head[3:5]
    groups = [(key, list(of)) for key, of in itertools.groupby(table, lambda r: r["panel"])]
    assert groups
    for title, of_panel in groups:
        axes = next(ax for ax in drawn.axes if ax.get_title("left") == title)
        places = {t.get_text(): at for t, at in zip(axes.get_xticklabels(), axes.get_xticks())}
        lines = [line for line in axes.lines if line.get_label() not in ("_intervals", "_ends")]
        ends = []
        for (scheme, part), dots in itertools.groupby(
            of_panel, lambda r: (r["scheme"], r["series"])
        ):
            dots = list(dots)
            wanted = [[at(d[x], places), float(d[y])] for d in dots]
            found = [np.column_stack(line.get_data()).tolist() for line in lines]
            risen = [[wanted[0][0], 0.0], *wanted]
            assert wanted in found or risen in found, (name, title, scheme, part)
            ends += [
                [(at(d[x], places), float(d[f"{y}_ci95_{side}"])) for side in ("low", "high")]
                for d in dots
                if d[f"{y}_ci95_low"]
            ]
        drawn_ends = [
            [tuple(point) for point in segment]
            for c in axes.collections
            if isinstance(c, LineCollection)
            for segment in c.get_segments()
        ]
        assert sorted(drawn_ends) == sorted(ends), (name, title)


def at(text: str, places: dict[str, float]) -> float:
    """A number, or the position of a class."""
    return float(places.get(text, text)) if text in places else float(text)


def check_lanes(drawn: Figure, table: list[dict[str, str]], head: list[str]) -> None:
    right = [ax for ax in drawn.axes if ax.yaxis.get_label_position() == "right"]
    assert len(right) == 1
    kinds = itertools.groupby(table, lambda r: (r["plot"], r["curve"]))
    for (title, name), dots in kinds:
        left = next(ax for ax in drawn.axes if ax.get_title("left") == title)
        legend = [text.get_text() for text in left.get_legend().get_texts()]
        assert name in legend
        places = [left, *(ax for ax in right if ax.bbox.bounds == left.bbox.bounds)]
        line = next(line for ax in places for line in ax.lines if line.get_label() == name)
        dots = list(dots)
        assert [float(d[head[2]]) for d in dots] == list(line.get_xdata())
        if line.get_marker() != "|":
            assert [float(d["value"]) for d in dots] == list(line.get_ydata())


def check_grids(drawn: Figure, table: list[dict[str, str]]) -> None:
    for title, of_grid in itertools.groupby(table, lambda r: r["panel"]):
        cells = list(of_grid)
        axes = next(ax for ax in drawn.axes if ax.get_title("left") == title and ax.get_xlabel())
        mesh = next(c for c in axes.collections if isinstance(c, QuadMesh))
        values = np.ma.filled(mesh.get_array().astype(float), np.nan).ravel()
        wanted = [float(cell["value"] or "nan") for cell in cells]
        np.testing.assert_array_equal(values, wanted)
        senders = [text.get_text() for text in axes.get_yticklabels()]
        receivers = [text.get_text() for text in axes.get_xticklabels()]
        pairs = [(s, r) for s in senders for r in receivers]
        assert pairs == [(cell["sender"], cell["receiver"]) for cell in cells]
        shown = [text.get_text() for text in axes.texts]
        assert len(shown) == len(cells)
        for text, cell in zip(shown, cells, strict=True):
            assert text == cell["text"] or len(text) == 2, "the short name of a kind"


def test_texts_are_those_of_the_built_in_figure(figures, tmp_path) -> None:
    notes = 0
    for name, figure in figures.items():
        drawn = figure.matplotlib()
        known = texts(figure, tmp_path)
        legends = [*drawn.legends, *(ax.get_legend() for ax in drawn.axes if ax.get_legend())]
        shown = {text.get_text() for legend in legends for text in legend.get_texts()}
        notes += sum(": " in text for text in shown)
        for ax in drawn.axes:
            shown |= {ax.get_title("left"), ax.get_ylabel(), *(t.get_text() for t in ax.texts)}
            if "text" not in figure.csv.partition("\n")[0]:
                shown |= {ax.get_xlabel()}
        shown -= {"", "sender"}
        missing = {text for text in shown if text not in known}
        # The title of a heat map is the label of its colours; cells may have the longer name.
        missing -= {figure.title, *(row.get("text") for row in rows(figure))}
        assert not missing, name
    assert notes > 0, "a scheme without values is in a legend"


def test_colours_are_those_of_the_built_in_figure(figures, tmp_path) -> None:
    for name, figure in figures.items():
        svg = figure.save(tmp_path / "f.svg", width="12in").read_text().lower()
        cells = []
        for ax in figure.matplotlib().axes:
            for line in filter(lambda line: len(line.get_xdata()), ax.lines):
                assert to_hex(line.get_color()) in svg, name
            for mesh in ax.collections:
                if isinstance(mesh, QuadMesh) and ax.get_ylabel():
                    cells += map(to_hex, mesh.to_rgba(mesh.get_array().ravel()))
        # The cells are drawn last, row by row.
        fills = re.findall(r'<rect[^>]* fill="([^"]*)"', svg)
        for cell, fill in zip(reversed(cells), reversed(fills), strict=False):
            assert distance(cell, fill) <= 1, f"{name}: the table of Matplotlib has 1024 colours"
        assert len(cells) <= len(fills)


def distance(a: str, b: str) -> int:
    return max(abs(int(a[i : i + 2], 16) - int(b[i : i + 2], 16)) for i in (1, 3, 5))


AXIS = {"column": "c", "ticks": [[0, "0"], [1, "1"], [2, "2"]]}
LINEAR = {**AXIS, "label": "Time (ms)", "scale": "linear", "low": 0, "high": 2}
LOG = {
    **LINEAR,
    "label": "Queue (packets)",
    "scale": "log",
    "low": 0.5,
    "high": 200,
    "ticks": [[v, str(v)] for v in (0.5, 1, 2, 5, 10, 20, 50, 100, 200)],
}
STYLES = {
    "0": {"color": COLOURS[0], "dash": None, "marker": "circle"},
    "1": {"color": COLOURS[1], "dash": [8, 4], "marker": "square"},
}
POINTS = [[0.5, 1.0], [1.0, None], [1.5, 100.0, 80.0, 120.0]]


def panel(kind: str, style: int = 1, **more: Any) -> dict[str, Any]:
    series = {"scheme": "a", "part": "", "style": style, "kind": kind, "points": POINTS}
    return {
        "title": "",
        "x": LINEAR,
        "y": LOG,
        "series": [series],
        "guide_lines": [],
        "shade": None,
        **more,
    }


def panels(*all: dict[str, Any]) -> dict[str, Any]:
    return {"form": "panels", "legend": [["a", 1]], "panels": list(all), "styles": STYLES}


@pytest.mark.parametrize(
    ("kind", "line", "marker", "step"),
    [
        ("measured", "--", "s", False),
        ("dots", "None", "s", False),
        ("scatter", "None", "s", False),
        ("trace", "-", "s", False),
        ("thin", "--", "", False),
        ("steps", "--", "", True),
    ],
)
def test_each_kind_of_series_has_its_look(kind, line, marker, step) -> None:
    ax = draw(panels(panel(kind)), None).axes[0]
    drawn = next(one for one in ax.lines if one.get_label() == "a")
    assert drawn.get_linestyle() == line and drawn.get_marker() in (marker, marker or "None")
    assert drawn.get_color() == COLOURS[1]
    assert (drawn.get_drawstyle() == "steps-post") == step
    assert drawn.get_ydata().tolist()[::2] == [1.0, 100.0] and np.isnan(drawn.get_ydata()[1])
    assert [s.tolist() for c in ax.collections for s in c.get_segments()] == [
        [[1.5, 80.0], [1.5, 120.0]]
    ]


@pytest.mark.parametrize(
    ("kind", "line", "marker"),
    [
        ("steps", "-", ""),
        ("thin", "--", ""),
        ("dots", "None", "s"),
        ("ranges", "None", "s"),
        ("marks", "None", "o"),
        ("strokes", "None", "|"),
    ],
)
def test_each_kind_of_curve_has_its_look(kind, line, marker) -> None:
    curve = {"name": "a", "style": 0, "kind": kind, "right": False, "points": POINTS}
    lane = {"title": "Window", "y": LOG, "right": None, "curves": [curve, {**curve, "right": True}]}
    form = {"form": "lanes", "x": LINEAR, "lanes": [lane, {**lane, "right": LOG}], "styles": STYLES}
    first, second, right = draw(form, None).axes
    assert [line.get_label() for line in second.lines + right.lines] == ["a", "a"]
    assert not first.get_xlabel() and second.get_xlabel() == "Time (ms)"
    drawn = first.lines[0]
    shown = drawn.get_marker()
    assert (drawn.get_linestyle(), "" if shown == "None" else shown) == (line, marker)
    assert list(drawn.get_xdata()) == [0.5, 1.0, 1.5]


def test_limits_scales_and_marks_are_those_of_the_data() -> None:
    lines = [
        {"label": "K = 1", "at": 1.0, "vertical": True},
        {"label": "before", "at": 20.0, "vertical": False},
    ]
    ax = draw(panels(panel("dots", guide_lines=lines, shade=[0, 0.5])), None).axes[0]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 2), (0.5, 200))
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Time (ms)", "Queue (packets)")
    assert [text.get_text() for text in ax.texts] == ["K = 1", "before"]
    shade = ax.patches[0].get_path().vertices[:, 0]
    shade = ax.patches[0].get_patch_transform().transform([(x, 0) for x in shade])[:, 0]
    assert (min(shade), max(shade)) == (0, 0.5)
    assert {line.get_label() for line in ax.lines} >= {"_K = 1", "_before"}
    inside = [v for v in ax.get_yticks() if 0.5 <= v <= 200]
    np.testing.assert_allclose(inside, [0.5, 1, 2, 5, 10, 20, 50, 100, 200])


def test_ticks_follow_new_limits_and_named_ones_stay() -> None:
    ax = draw(panels(panel("dots")), None).axes[0]
    ax.set_xlim(0.5, 0.6)
    ax.set_ylim(1000, 5000)
    assert sum(0.5 <= value <= 0.6 for value in ax.get_xticks()) >= 3
    assert sum(1000 <= value <= 5000 for value in ax.get_yticks()) >= 3
    named = {**LINEAR, "ticks": [[0, "5 pkt"], [2, "80 pkt"]]}
    ax = draw(panels(panel("dots", x=named)), None).axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5 pkt", "80 pkt"]


def test_classes_are_side_by_side_at_their_position() -> None:
    classes = {**LINEAR, "scale": "categorical", "low": -0.5, "high": 2.5}
    form = panels(panel("dots", x=classes))
    one = form["panels"][0]["series"][0]
    form["panels"][0]["series"].append({**one, "style": 0, "scheme": "b"})
    form["legend"].append(["b", 0])
    ax = draw(form, None).axes[0]
    a, b = (next(li for li in ax.lines if li.get_label() == name) for name in "ab")
    assert list(a.get_xdata()) == list(b.get_xdata()) == [0.5, 1.0, 1.5]
    left, right = (line.get_transform().transform((1, 1)) for line in (a, b))
    assert right[0] > left[0] and right[1] == left[1]


def test_equal_values_have_the_colour_of_the_low_end() -> None:
    cell = {"value": 0.0, "interval": None, "text": ["0", "0"], "color": "#fdf4e8", "light": False}
    none = {**cell, "value": None, "text": ["–", "–"], "color": "#eceef0"}
    grid = {"title": "", "rows": ["a"], "columns": ["b", "c"], "cells": [cell, none]}
    ends = {"range": [0, 0], "ends": ["0", "0"], "colors": ["#fdf4e8", "#8a3104"], "factor": 1}
    form = {"form": "grids", "title": "Bytes (%)", "axes": ["sender", "receiver"]}
    drawn = draw({**form, "legend": {"range": ends}, "grids": [grid]}, None)
    mesh = drawn.axes[0].collections[0]
    colors = mesh.to_rgba(mesh.get_array().ravel())
    assert [to_hex(color) for color in colors] == ["#fdf4e8", "#eceef0"]
    assert [text.get_text() for text in drawn.axes[0].texts] == ["0", "–"]


def test_a_user_can_change_the_axes(figures, tmp_path) -> None:
    figure = figures["sweep " + next(n[6:] for n in figures if n.startswith("sweep "))]
    drawn = figure.matplotlib()
    before = pixels(drawn)
    ax = drawn.axes[0]
    ax.set(xlim=(1, 200), yscale="linear", ylabel="mine", title="mine")
    ax.lines[-1].set_color("red")
    drawn.legends[0].remove()
    assert not np.array_equal(before, pixels(drawn))
    drawn.set_size_inches(3.3, 2.5)
    drawn.savefig(tmp_path / "f.pdf")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    assert np.array_equal(before, pixels(figure.matplotlib())), "the figure itself is as before"


def pixels(figure: Figure) -> Any:
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return imread(io.BytesIO(stream.getvalue()))


def test_it_draws_into_given_axes(figures) -> None:
    for figure in figures.values():
        count = len({row.get("panel", row.get("plot")) for row in rows(figure)})
        mine = Figure()
        axes = mine.subplots(count, squeeze=False)
        mine.add_axes((0.9, 0.9, 0.1, 0.1)).set_title("mine")
        given = axes[0, 0] if count == 1 else axes
        assert figure.matplotlib(given) is mine
        assert all(ax.has_data() for ax in axes.flat)
        if count > 1:
            assert figure.matplotlib(list(Figure().subplots(count))) is not mine
        nested = Figure().subfigures(1, 2)[1]
        found = figure.matplotlib(ax=nested.subplots(count))
        assert found is nested.figure and isinstance(found, Figure)
        found.canvas.draw()


def wrong_axes() -> list[Any]:
    gone = Figure().subplots()
    gone.remove()
    two = Figure().subplots(2)
    other = [Figure().add_subplot(projection=name) for name in ("polar", "3d")]
    return ["x", 5, Figure(), [], {}, [None], gone, two, *other]


@pytest.mark.parametrize("wrong", wrong_axes(), ids=str)
def test_wrong_axes_are_one_sentence(figures, wrong) -> None:
    figure = next(iter(figures.values()))
    with pytest.raises(lt.RequestError, match="ax has") as raised:
        figure.matplotlib(wrong)
    assert "write ax=plt.subplots(" in str(raised.value) and len(str(raised.value)) < 200


def test_the_number_of_axes_is_that_of_the_panels(figures) -> None:
    figure = next(figure for name, figure in figures.items() if name.startswith("flow flow-"))
    with pytest.raises(lt.RequestError, match="ax has 1 axes for 4 plots"):
        figure.matplotlib(Figure().subplots())
    with pytest.raises(lt.RequestError, match="several times"):
        figure.matplotlib([Figure().subplots()] * 4)
    several = [Figure().subplots() for _ in range(4)]
    with pytest.raises(lt.RequestError, match="several figures"):
        figure.matplotlib(several)


def test_threads_draw_without_pyplot_and_display(results) -> None:
    """Also with a backend that is not there; each thread gets the pixels of the others."""
    code = """
import io, sys, threading
import lowtide as lt
r = lt.load(sys.argv[1])
found = []
def work():
    for figure in r.figures.values():
        stream = io.BytesIO()
        figure.matplotlib().savefig(stream, format="png")
        found.append((figure.name, stream.getvalue()))
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(found) == 3 * len(r.figures) and len(set(found)) == len(r.figures), len(found)
assert "matplotlib.pyplot" not in sys.modules
"""
    env = {"MPLBACKEND": "qtagg", "PATH": ""}
    words = [sys.executable, "-c", code, str(results["point"].dir)]
    subprocess.run(words, check=True, env=env)


def test_a_figure_can_be_pickled(figures) -> None:
    import pickle

    for figure in figures.values():
        copy = pickle.loads(pickle.dumps(figure.matplotlib()))
        assert isinstance(copy, Figure)


def test_without_matplotlib_the_error_names_it(results) -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import lowtide as lt
figure = next(iter(lt.load(sys.argv[1]).figures.values()))
try:
    figure.matplotlib()
except lt.LibraryError as error:
    assert "pip install matplotlib" in str(error) and "\\n" not in str(error), error
else:
    raise AssertionError("matplotlib was found")
"""
    subprocess.run([sys.executable, "-c", code, str(results["point"].dir)], check=True)
