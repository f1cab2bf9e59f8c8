"""Figures as Matplotlib figures: without pyplot, so that they need no display and no global state.

Lengths of the built-in figures are pixels of a page, 96 to the inch; Matplotlib has points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import offset_copy

from .errors import RequestError

_Form = dict[str, Any]
# Points per pixel of a page.
_PX = 0.75
# The neutral colours of the built-in figures.
_INK, _GRID, _SHADE = "#22262b", "#e3e6ea", "#f1f3f5"
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
# Markers on a trace.
_TRACE_MARKS = 7
# Distance between the series of a class, pixels.
_ASIDE = 12
# Average width of a letter, points.
_LETTER = 5.4


def draw(form: _Form, ax: Any) -> Figure:
    """Draws a figure from its data; without `ax` into a new figure."""
    kind = form["form"]
    parts: list[_Form] = form[kind]
    if ax is None:
        axes = _new(kind, parts)
    else:
        axes = _given(ax, len(parts))
    {"panels": _panels, "lanes": _lanes, "grids": _grids}[kind](form, axes, ax is None)
    return _whole(axes[0])


def _new(kind: str, parts: list[_Form]) -> list[Axes]:
    beside = 2 if kind == "grids" and len(parts) > 1 else 1
    if kind == "grids":
        heights = [0.3 * len(grid["rows"]) + 1 for grid in parts[::beside]]
    elif kind == "lanes":
        heights = [2.4] + [1.5] * (len(parts) - 1)
    else:
        heights = [3.1] if len(parts) == 1 else [2.0] * len(parts)
    figure = Figure(figsize=(6.4, sum(heights) + 0.6), layout="constrained")
    axes = figure.subplots(len(heights), beside, squeeze=False, height_ratios=heights).ravel()
    for spare in axes[len(parts) :]:
        spare.remove()
    return list(axes[: len(parts)])


def _given(ax: Any, count: int) -> list[Axes]:
    """The axes of an argument: one, or a list or array of them."""
    axes = list(numpy.array(ax, dtype=object).flat)
    form = f"write ax=plt.subplots({'' if count == 1 else count})[1]"
    for one in axes:
        if not isinstance(one, Axes) or one.name != "rectilinear" or one.figure is None:
            shown = repr(one) if len(repr(one)) <= 60 else type(one).__name__
            raise RequestError(f"ax has {shown}, which is no Cartesian axes of a figure", form)
    if len(axes) != count:
        plots = "plot" if count == 1 else "plots"
        raise RequestError(f"ax has {len(axes)} axes for {count} {plots}", form)
    if len(set(axes)) < count:
        raise RequestError("ax has one axes several times", form)
    if len({_whole(one) for one in axes}) > 1:
        raise RequestError("ax has axes of several figures", form)
    return axes


def _whole(ax: Axes) -> Figure:
    """The figure, of axes in a subfigure too."""
    return ax.figure.figure


def _panels(form: _Form, axes: list[Axes], own: bool) -> None:
    # One artist of each style, a thin line if there is no other.
    shown: dict[int, Artist] = {}
    for ax, panel in zip(axes, form["panels"], strict=True):
        _plane(ax, panel["x"], panel["y"])
        if panel["shade"]:
            ax.axvspan(*panel["shade"], color=_SHADE, zorder=0)
        here: dict[int, Artist] = {}
        middle = (len(panel["series"]) - 1) / 2
        for number, series in enumerate(panel["series"]):
            is_class = panel["x"]["scale"] == "categorical"
            aside = _ASIDE * (number - middle) if is_class else 0
            if series["points"]:
                style = series["style"]
                artist = _series(ax, series, form["styles"][str(style)], number, aside)
                if style not in here or series["kind"] != "thin":
                    here[style] = artist
        for name, style in form["legend"]:
            if style in here:
                here[style].set_label(name)
        shown = {**here, **shown}
        for line in panel["guide_lines"]:
            _guide(ax, line)
        upright = any(line["vertical"] for line in panel["guide_lines"])
        if panel["title"]:
            ax.set_title(panel["title"], loc="left", pad=18 if upright else None)
    # An entry without a line has the reason in its name.
    handles = [
        shown[style] if style in shown else axes[0].plot([], [], " ", color=_INK, label=name)[0]
        for name, style in form["legend"]
    ]
    if handles:
        _legend(axes[0], handles, own)


def _series(ax: Axes, series: _Form, style: _Form, number: int, aside: float) -> Line2D:
    kind, dots, color = series["kind"], series["points"], style["color"]
    place = offset_copy(ax.transData, _whole(ax), x=aside * _PX, units="points")
    ends = [(dot[0], dot[2], dot[3]) for dot in dots if len(dot) == 4]
    if ends:
        xs, lows, highs = zip(*ends, strict=True)
        look: _Form = {"color": color, "transform": place, "zorder": 1.9}
        ax.vlines(xs, lows, highs, linewidth=1.5 * _PX, label="_intervals", **look)
        look |= {"markersize": 8 * _PX, "markeredgewidth": 1.5 * _PX, "label": "_ends"}
        ax.plot(xs * 2, lows + highs, "_", **look)
    every = max(len(dots) // _TRACE_MARKS, 1)
    first = min(every * (1 + 2 * (number % 4)) // 8, len(dots) - 1)
    # The white edge separates markers from lines.
    look = {
        "label": f"_{series['scheme']} {series['part']}".rstrip(),
        "marker": "" if kind in ("thin", "steps") else _MARKERS[style["marker"]],
        "markersize": (4 if kind == "scatter" else 10) * _PX,
        "markeredgewidth": (0.5 if kind == "scatter" else 2) * _PX,
        "transform": place,
    }
    looks: dict[str, _Form] = {
        "dots": {"linestyle": " "},
        "scatter": {"linestyle": " "},
        "trace": {**_line(1.5, None), "markevery": (first, every)},
        "thin": {**_line(1, (4, 3)), "alpha": 0.85},
        "steps": {"drawstyle": "steps-post"},
    }
    return _curve(ax, dots, color, **look, **{**_line(2, style["dash"]), **looks.get(kind, {})})


def _curve(ax: Axes, dots: Sequence[Any], color: str, **look: Any) -> Line2D:
    # A value that JSON does not have is null.
    ys = [math.nan if dot[1] is None else dot[1] for dot in dots]
    look = {"color": color, "markeredgecolor": "white", **look}
    return ax.plot([dot[0] for dot in dots], ys, **look)[0]


def _line(width: float, dash: tuple[float, float] | None) -> _Form:
    """The look of a line, pixels; Matplotlib multiplies dashes by the width."""
    style = "-" if dash is None else (0, [length / width for length in dash])
    return {"linewidth": width * _PX, "linestyle": style}


def _guide(ax: Axes, line: _Form) -> None:
    name, at = line["label"], line["at"]
    look: _Form = {"color": _INK, "alpha": 0.75, "label": f"_{name}", **_line(1, (2, 3))}
    text: _Form = {"color": _INK, "textcoords": "offset points"}
    if line["vertical"]:
        ax.axvline(at, **look)
        text |= {"xytext": (0, 3), "ha": "center", "va": "bottom"}
        ax.annotate(name, (at, 1), xycoords=ax.get_xaxis_transform(), **text)
    else:
        ax.axhline(at, **look)
        text |= {"xytext": (4, 0), "ha": "left", "va": "center"}
        ax.annotate(name, (1, at), xycoords=ax.get_yaxis_transform(), **text)


def _lanes(form: _Form, axes: list[Axes], own: bool) -> None:
    for ax, lane in zip(axes, form["lanes"], strict=True):
        last = ax is axes[-1]
        _plane(ax, form["x"] if last else {**form["x"], "label": ""}, lane["y"])
        ax.tick_params(labelbottom=last or not own)
        right = ax
        if lane["right"]:
            right = ax.twinx()
            _scale(right, "y", lane["right"])
            right.spines[["top", "left"]].set_visible(False)
            # The curves of the left axis are on top.
            ax.set_zorder(right.get_zorder() + 1)
            ax.patch.set_visible(False)
        strips = 0
        handles = []
        for curve in filter(lambda curve: curve["points"], lane["curves"]):
            style = form["styles"][str(curve["style"])]
            handles.append(_lane_curve(right if curve["right"] else ax, curve, style, strips))
            strips += curve["kind"] == "strokes"
        ax.set_title(lane["title"], loc="left")
        if handles:
            look: _Form = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderpad": 0}
            look |= {"handlelength": 1.4, "columnspacing": 1, "fontsize": "small"}
            ax.legend(handles=handles, ncols=len(handles), frameon=False, **look)


def _lane_curve(ax: Axes, curve: _Form, style: _Form, strips: int) -> Line2D:
    kind, dots, color = curve["kind"], curve["points"], style["color"]
    if kind == "strokes":
        dots = [(dot[0], 0) for dot in dots]
    # Strokes are above those of earlier curves.
    y = (6 + 8 * strips) * _PX
    floor = offset_copy(ax.get_xaxis_transform(), _whole(ax), y=y, units="points")
    square = {"marker": "s", "markersize": 3 * _PX, "markeredgewidth": 0}
    stroke = {"marker": "|", "markersize": 6 * _PX, "markeredgewidth": _PX}
    looks: dict[str, _Form] = {
        "steps": {**_line(1.5, None), "drawstyle": "steps-post"},
        "thin": {**_line(1.2, (5, 3)), "drawstyle": "steps-post"},
        "dots": square,
        "ranges": square,
        "marks": {"marker": _MARKERS[style["marker"]], "markersize": 7 * _PX},
        "strokes": {**stroke, "markeredgecolor": color, "transform": floor},
    }
    look = {"linestyle": " ", "markeredgewidth": 0.5 * _PX, "label": curve["name"]}
    return _curve(ax, dots, color, **{**look, **looks[kind]})


def _grids(form: _Form, axes: list[Axes], own: bool) -> None:
    legend = form["legend"]
    cells = [cell for grid in form["grids"] for cell in grid["cells"]]
    absent = next((cell["color"] for cell in cells if cell["value"] is None), "white")
    scale: Colormap
    if "kinds" in legend:
        colors = {kind["value"]: kind["color"] for kind in legend["kinds"]}
        most = max(colors, default=0)
        scale = ListedColormap([colors.get(value, absent) for value in range(most + 1)])
        norm = Normalize(-0.5, most + 0.5)
    else:
        scale = LinearSegmentedColormap.from_list("lowtide", legend["range"]["colors"], N=1024)
        low, high = legend["range"]["range"]
        norm = Normalize(low, high if high > low else low + 1)
    scale = scale.with_extremes(bad=absent)
    for ax, grid in zip(axes, form["grids"], strict=True):
        mesh = _grid(ax, grid, {"cmap": scale, "norm": norm})
        ax.set(xlabel=form["axes"][1], ylabel=form["axes"][0])
    if "kinds" in legend:
        patches = [
            Patch(color=kind["color"], label=f"{kind['name']} ({kind['code']})")
            for kind in legend["kinds"]
        ]
        _legend(axes[0], patches, own, form["title"])
        return
    # All axes have one scale.
    bar = _whole(axes[0]).colorbar(mesh, ax=axes, location="bottom", shrink=0.5, aspect=30)
    bar.set_ticks(legend["range"]["range"], labels=legend["range"]["ends"])
    bar.set_label(form["title"])


def _grid(ax: Axes, grid: _Form, colors: _Form) -> Any:
    rows, columns = grid["rows"], grid["columns"]
    values = [math.nan if cell["value"] is None else cell["value"] for cell in grid["cells"]]
    array = numpy.ma.masked_invalid(values).reshape(len(rows), len(columns))
    edges = [numpy.arange(-0.5, len(names)) for names in (columns, rows)]
    mesh = ax.pcolormesh(*edges, array, edgecolors="white", linewidth=_PX, **colors)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _turn(ax, columns, "left")
    room = _letters(ax) / len(columns) - 1
    for number, cell in enumerate(grid["cells"]):
        row, column = divmod(number, len(columns))
        text = cell["text"][0] if len(cell["text"][0]) <= room else cell["text"][1]
        look: _Form = {"color": "white" if cell["light"] else _INK, "size": "small"}
        ax.text(column, row, text, ha="center", va="center", clip_on=True, **look)
    ax.set_title(grid["title"], loc="left")
    return mesh


def _legend(ax: Axes, handles: Sequence[Artist], own: bool, title: str | None = None) -> None:
    """Above the plots of a new figure, inside of given axes; below grids."""
    if not own:
        below: _Form = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)} if title else {}
        ax.legend(handles=handles, title=title, handlelength=3, **below)
        return
    figure = _whole(ax)
    each = max(len(str(handle.get_label())) for handle in handles) * _LETTER + 60
    columns = max(1, min(len(handles), int(figure.get_figwidth() * 72 / each)))
    figure.set_figheight(figure.get_figheight() + 0.2 * ((len(handles) - 1) // columns))
    look: _Form = {"title": title, "handlelength": 3, "frameon": False, "ncols": columns}
    place: Any = "outside lower left" if title else "outside upper left"
    figure.legend(handles=handles, loc=place, **look)


def _plane(ax: Axes, x: _Form, y: _Form) -> None:
    _scale(ax, "x", x)
    _scale(ax, "y", y)
    ax.grid(True, color=_GRID, linewidth=_PX)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    # Curves along an axis remain visible.
    ax.spines[:].set_zorder(1.5)


def _scale(ax: Axes, name: str, axis: _Form) -> None:
    """Sets label, scale, limits and ticks of an axis."""
    is_log = axis["scale"] == "log"
    ax.set(**{f"{name}scale": "log" if is_log else "linear", f"{name}label": axis["label"]})
    ax.set(**{f"{name}lim": (axis["low"], axis["high"])})
    side = ax.xaxis if name == "x" else ax.yaxis
    values, names = [value for value, _ in axis["ticks"]], [name for _, name in axis["ticks"]]
    if not _is_round(values, names, is_log):
        side.set_ticks(values, labels=names)
        if name == "x":
            _turn(ax, names, "right")
    elif is_log:
        side.set_major_locator(LogLocator(subs=sorted(set(map(_mantissa, values))), numticks=12))
        side.set_major_formatter(StrMethodFormatter("{x:g}"))
    side.set_minor_locator(NullLocator())


def _is_round(values: list[float], names: list[str], is_log: bool) -> bool:
    """Whether ticks are at round numbers, which Matplotlib finds anew when the limits change."""
    try:
        numbers = [float(name.replace("\u202f", "")) for name in names]
    except ValueError:
        return False
    if len(values) < 3 or not numpy.allclose(numbers, values, 1e-3):
        return False
    if is_log:
        return set(map(_mantissa, values)) <= {1, 2, 5}
    return bool(numpy.allclose(numpy.diff(values), values[1] - values[0]))


def _mantissa(value: float) -> float:
    return float(f"{value:e}".split("e")[0])


def _letters(ax: Axes) -> float:
    """The letters that fit along the horizontal axis."""
    return ax.bbox.width / _whole(ax).dpi * 72 / _LETTER


def _turn(ax: Axes, names: Sequence[str], align: str) -> None:
    """Turns names below or above the axes that would overlap."""
    if names and (max(map(len, names)) + 1) * len(names) > _letters(ax):
        ax.tick_params("x", rotation=30)
        for label in ax.get_xticklabels():
            label.set(ha=align, rotation_mode="anchor")
