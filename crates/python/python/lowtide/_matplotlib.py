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
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import offset_copy

from .errors import RequestError

# Points per pixel of a page.
_PX = 0.75
# The neutral colours of the built-in figures.
_INK, _GRID, _SHADE = "#22262b", "#e3e6ea", "#f1f3f5"
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
# Widths of lines, pixels; others have two.
_WIDTHS = {"trace": 1.5, "thin": 1.0, "steps": 2.0}
# Markers on a trace.
_TRACE_MARKS = 7
# Distance between the series of a class, pixels.
_ASIDE = 12
# Average width of a letter over its font size.
_LETTER = 0.54


def draw(form: dict[str, Any], ax: Any) -> Figure:
    """Draws a figure from its data; without `ax` into a new figure."""
    kind = form["form"]
    parts: list[dict[str, Any]] = form[kind]
    beside = 2 if kind == "grids" and len(parts) > 1 else 1
    if ax is not None:
        axes = _given(ax, len(parts))
    else:
        if kind == "grids":
            heights = [0.3 * len(grid["rows"]) + 1 for grid in parts[::beside]]
        elif kind == "lanes":
            heights = [2.4] + [1.5] * (len(parts) - 1)
        else:
            heights = [3.1] if len(parts) == 1 else [2.0] * len(parts)
        new = Figure(figsize=(6.4, sum(heights) + 0.6), layout="constrained")
        grid = new.subplots(len(heights), beside, squeeze=False, height_ratios=heights)
        axes = list(grid.flat)
        for spare in axes[len(parts) :]:
            spare.remove()
        axes = axes[: len(parts)]
    {"panels": _panels, "lanes": _lanes, "grids": _grids}[kind](form, axes, ax is None)
    return _whole(axes[0])


def _whole(ax: Axes) -> Figure:
    """The figure, of axes in a subfigure too."""
    return ax.figure.figure


def _given(ax: Any, count: int) -> list[Any]:
    """The axes of an argument: one, or a list or array of them."""
    axes = list(numpy.array(ax, dtype=object).flat)
    form = "write ax=plt.subplots()[1]" if count == 1 else f"write ax=plt.subplots({count})[1]"
    for one in axes:
        if not isinstance(one, Axes) or one.name != "rectilinear" or one.figure is None:
            shown = repr(one) if len(repr(one)) <= 60 else type(one).__name__
            raise RequestError(f"ax has {shown}, which is no Cartesian axes of a figure", form)
    if len(axes) != count:
        plots = "plot" if count == 1 else "plots"
        raise RequestError(f"ax has {len(axes)} axes for {count} {plots}", form)
    if len(set(axes)) < count:
        raise RequestError("ax has one axes several times", form)
    if len({one.figure.figure for one in axes}) > 1:
        raise RequestError("ax has axes of several figures", form)
    return axes


def _panels(form: dict[str, Any], axes: list[Axes], own: bool) -> None:
    names = {style: name for name, style in form["legend"]}
    # One artist of each style, a thin line if there is no other.
    shown: dict[tuple[int, bool], Artist] = {}
    for ax, panel in zip(axes, form["panels"], strict=True):
        _plane(ax, panel["x"], panel["y"])
        if panel["shade"]:
            ax.axvspan(*panel["shade"], color=_SHADE, zorder=0)
        here: dict[tuple[int, bool], Artist] = {}
        count = len(panel["series"])
        for number, series in enumerate(panel["series"]):
            if series["points"]:
                aside = 0.0
                if panel["x"]["scale"] == "categorical":
                    aside = _ASIDE * (2 * number - (count - 1)) / 2
                artist = _series(ax, series, form["styles"][str(series["style"])], number, aside)
                here.setdefault((series["style"], series["kind"] == "thin"), artist)
        for style, name in names.items():
            named = here.get((style, False)) or here.get((style, True))
            if named:
                named.set_label(name)
        shown = {**here, **shown}
        for line in panel["guide_lines"]:
            _guide(ax, line)
        upright = any(line["vertical"] for line in panel["guide_lines"])
        if panel["title"]:
            ax.set_title(panel["title"], loc="left", pad=18 if upright else None)
    handles = []
    for name, style in form["legend"]:
        handle = shown.get((style, False)) or shown.get((style, True))
        # An entry without a line has the reason in its name.
        handles.append(handle or axes[0].plot([], [], " ", label=name)[0])
    if handles and own:
        figure = _whole(axes[0])
        columns = _columns(figure, list(names.values()))
        figure.legend(handles=handles, loc="outside upper left", ncols=columns, frameon=False)
    elif handles:
        axes[0].legend(handles=handles, loc="best")


def _series(
    ax: Axes, series: dict[str, Any], style: dict[str, Any], number: int, aside: float
) -> Line2D:
    kind, dots = series["kind"], series["points"]
    place = offset_copy(ax.transData, _whole(ax), x=aside * _PX, units="points")
    ends = [(x, low, high) for x, _, low, high in (dot for dot in dots if len(dot) == 4)]
    if ends:
        xs, lows, highs = zip(*ends, strict=True)
        look: dict[str, Any] = {"color": style["color"], "transform": place, "zorder": 1.9}
        ax.vlines(xs, lows, highs, linewidth=1.5 * _PX, label="_intervals", **look)
        for end in (lows, highs):
            ax.plot(xs, end, "_", ms=8 * _PX, mew=1.5 * _PX, label="_ends", **look)
    width = _WIDTHS.get(kind, 2.0)
    dash = {"trace": None, "thin": (4, 3)}.get(kind, style["dash"])
    line = " " if kind in ("dots", "scatter") else _dashed(dash, width)
    every = max(len(dots) // _TRACE_MARKS, 1)
    first = min(every * (1 + 2 * (number % 4)) // 8, len(dots) - 1)
    return _curve(
        ax,
        series,
        style["color"],
        linestyle=line,
        linewidth=width * _PX,
        drawstyle="steps-post" if kind == "steps" else "default",
        alpha=0.85 if kind == "thin" else None,
        marker="" if kind in ("thin", "steps") else _MARKERS[style["marker"]],
        # The white edge separates markers from lines.
        markersize=(4.5 if kind == "scatter" else 10) * _PX,
        markeredgewidth=(0.5 if kind == "scatter" else 2) * _PX,
        markevery=(first, every) if kind == "trace" else None,
        transform=place,
        label=f"_{series['scheme']} {series['part']}".rstrip(),
    )


def _curve(ax: Axes, of: dict[str, Any], color: str, **look: Any) -> Line2D:
    # A value that JSON does not have is null.
    ys = [math.nan if dot[1] is None else dot[1] for dot in of["points"]]
    look = {"color": color, "markeredgecolor": "white", **look}
    return ax.plot([dot[0] for dot in of["points"]], ys, **look)[0]


def _guide(ax: Axes, line: dict[str, Any]) -> None:
    look: dict[str, Any] = {
        "color": _INK,
        "alpha": 0.75,
        "linewidth": _PX,
        "linestyle": (0, (2, 3)),
        "label": f"_{line['label']}",
    }
    if line["vertical"]:
        ax.axvline(line["at"], **look)
        at: tuple[float, float] = (line["at"], 1)
        end, place, text = ax.get_xaxis_transform(), (0, 3), ("center", "bottom")
    else:
        ax.axhline(line["at"], **look)
        at = (1, line["at"])
        end, place, text = ax.get_yaxis_transform(), (4, 0), ("left", "center")
    ax.annotate(line["label"], at, place, end, "offset points", color=_INK, ha=text[0], va=text[1])


def _lanes(form: dict[str, Any], axes: list[Axes], own: bool) -> None:
    for ax, lane in zip(axes, form["lanes"], strict=True):
        last = lane is form["lanes"][-1]
        _plane(ax, form["x"] if last else {**form["x"], "label": ""}, lane["y"])
        if own and not last:
            ax.tick_params(labelbottom=False)
        right = None
        if lane["right"]:
            right = ax.twinx()
            _scale(right, "y", lane["right"])
            right.spines[["top", "left"]].set_visible(False)
            ax.set_zorder(right.get_zorder() + 1)
            ax.patch.set_visible(False)
        strips = 0
        handles = []
        for curve in lane["curves"]:
            if curve["points"]:
                target = right if right is not None and curve["right"] else ax
                style = form["styles"][str(curve["style"])]
                handles.append(_lane_curve(target, curve, style, strips))
                strips += curve["kind"] == "strokes"
        ax.set_title(lane["title"], loc="left")
        if handles:
            ax.legend(
                handles=handles,
                loc="lower right",
                bbox_to_anchor=(1, 1),
                ncols=len(handles),
                frameon=False,
                borderpad=0,
            )


def _lane_curve(ax: Axes, curve: dict[str, Any], style: dict[str, Any], strips: int) -> Line2D:
    kind = curve["kind"]
    look: dict[str, Any] = {"linestyle": " ", "label": curve["name"]}
    if kind in ("steps", "thin"):
        width, dash = (1.5, None) if kind == "steps" else (1.2, (5, 3))
        look |= {"linestyle": _dashed(dash, width), "linewidth": width * _PX}
        look |= {"drawstyle": "steps-post"}
    elif kind == "marks":
        marker = _MARKERS[style["marker"]]
        look |= {"marker": marker, "markersize": 7 * _PX, "markeredgewidth": 0.5 * _PX}
    elif kind == "strokes":
        # Times without values, above the strokes of earlier curves.
        floor = offset_copy(
            ax.get_xaxis_transform(), _whole(ax), y=(6 + 8 * strips) * _PX, units="points"
        )
        look |= {"marker": "|", "markersize": 6 * _PX, "markeredgewidth": _PX}
        look |= {"markeredgecolor": style["color"], "transform": floor}
        curve = {"points": [(x, 0.0) for x, *_ in curve["points"]]}
    else:
        look |= {"marker": "s", "markersize": 3 * _PX, "markeredgewidth": 0}
    return _curve(ax, curve, style["color"], **look)


def _grids(form: dict[str, Any], axes: list[Axes], own: bool) -> None:
    legend = form["legend"]
    cells = [cell for grid in form["grids"] for cell in grid["cells"]]
    absent = next((cell["color"] for cell in cells if cell["value"] is None), "white")
    kinds = legend.get("kinds")
    scale: Colormap
    if kinds is not None:
        colors = {kind["value"]: kind["color"] for kind in kinds}
        most = max(colors, default=0)
        listed = [colors.get(value, absent) for value in range(most + 1)]
        scale, norm = ListedColormap(listed), Normalize(-0.5, most + 0.5)
    else:
        listed = legend["range"]["colors"]
        scale = LinearSegmentedColormap.from_list("lowtide", listed, N=1024)
        norm = Normalize(*legend["range"]["range"])
    scale.set_bad(absent)
    for ax, grid in zip(axes, form["grids"], strict=True):
        rows, columns = grid["rows"], grid["columns"]
        values = [math.nan if cell["value"] is None else cell["value"] for cell in grid["cells"]]
        mesh = ax.pcolormesh(
            numpy.arange(-0.5, len(columns)),
            numpy.arange(-0.5, len(rows)),
            numpy.ma.masked_invalid(values).reshape(len(rows), len(columns)),
            cmap=scale,
            norm=norm,
            edgecolors="white",
            linewidth=_PX,
        )
        ax.set_xticks(range(len(columns)), columns)
        ax.set_yticks(range(len(rows)), rows)
        ax.set(xlabel=form["axes"][1], ylabel=form["axes"][0])
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        _turned(ax, columns)
        room = _letters(ax) / len(columns)
        for number, cell in enumerate(grid["cells"]):
            row, column = divmod(number, len(columns))
            wide, narrow = cell["text"]
            ax.text(
                column,
                row,
                wide if len(wide) <= room - 1 else narrow,
                color="white" if cell["light"] else _INK,
                ha="center",
                va="center",
                size="small",
                clip_on=True,
            )
        ax.set_title(grid["title"], loc="left")
    figure = _whole(axes[0])
    if kinds is None:
        # All axes have one scale.
        bar = figure.colorbar(mesh, ax=axes, location="bottom", shrink=0.5, aspect=30)
        bar.set_ticks(legend["range"]["range"], labels=legend["range"]["ends"])
        bar.set_label(form["title"])
        return
    names = {f"{kind['name']} ({kind['code']})": kind["color"] for kind in kinds}
    handles = [Patch(color=color, label=name) for name, color in names.items()]
    if own:
        look: dict[str, Any] = {"loc": "outside lower left", "frameon": False}
        look |= {"ncols": _columns(figure, list(names))}
        figure.legend(handles=handles, title=form["title"], **look)
    else:
        axes[0].legend(handles=handles, title=form["title"], loc="upper left")


def _plane(ax: Axes, x: dict[str, Any], y: dict[str, Any]) -> None:
    _scale(ax, "x", x)
    _scale(ax, "y", y)
    ax.grid(True, color=_GRID, linewidth=_PX)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _scale(ax: Axes, name: str, axis: dict[str, Any]) -> None:
    """Sets label, scale, limits and ticks of an axis."""
    is_log = axis["scale"] == "log"
    ax.set(**{f"{name}scale": "log" if is_log else "linear"})
    ax.set(**{f"{name}lim": (axis["low"], axis["high"]), f"{name}label": axis["label"]})
    side: Axis = ax.xaxis if name == "x" else ax.yaxis
    values, names = zip(*axis["ticks"], strict=True) if axis["ticks"] else ((), ())
    if not _is_round(axis):
        side.set_ticks(values, labels=names)
        if name == "x":
            _turned(ax, names)
    elif is_log:
        side.set_major_locator(LogLocator(subs=sorted({_mantissa(value) for value in values})))
        side.set_major_formatter(StrMethodFormatter("{x:g}"))
    side.set_minor_locator(NullLocator())


def _is_round(axis: dict[str, Any]) -> bool:
    """Whether ticks are at round numbers, which Matplotlib finds anew when the limits change."""
    if axis["scale"] == "categorical" or len(axis["ticks"]) < 3:
        return False
    values = [value for value, _ in axis["ticks"]]
    for value, name in axis["ticks"]:
        try:
            named = float(name.replace("\u202f", ""))
        except ValueError:
            return False
        if not math.isclose(named, value, rel_tol=1e-3):
            return False
    if axis["scale"] == "log":
        return {_mantissa(value) for value in values} <= {1, 2, 5}
    steps = numpy.diff(values)
    return bool(numpy.allclose(steps, steps[0]))


def _mantissa(value: float) -> float:
    return float(f"{value:e}".split("e")[0])


def _dashed(dash: tuple[float, float] | None, width: float) -> Any:
    """A line style; Matplotlib multiplies dashes by the width of the line."""
    return "-" if dash is None else (0, tuple(length / width for length in dash))


def _letters(ax: Axes) -> float:
    """The letters that fit along the horizontal axis."""
    return ax.bbox.width / _whole(ax).dpi * 72 / (10 * _LETTER)


def _turned(ax: Axes, names: Sequence[str]) -> None:
    """Turns names that would overlap."""
    if names and (max(map(len, names)) + 1) * len(names) > _letters(ax):
        side = "left" if ax.xaxis.get_ticks_position() == "top" else "right"
        ax.tick_params("x", rotation=30)
        for label in ax.get_xticklabels():
            label.set(ha=side, rotation_mode="anchor")


def _columns(figure: Figure, names: Sequence[str]) -> int:
    """Columns of a legend of the width of a figure."""
    each = max(map(len, names), default=1) * 10 * _LETTER + 50
    return max(1, min(len(names), int(figure.get_figwidth() * 72 / each)))
