"""A figure of results."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _arguments
from ._files import write_whole
from ._library import needs

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    from ._result import Result

# Defaults of `lowtide figure`.
_STYLE = {
    "height": None,
    "font": None,
    "font_size": "8pt",
    "title": False,
    "grey": False,
    "outlines": False,
    "dpi": 300,
}


class Figure:
    """A figure, laid out at its width, so that text keeps its size."""

    def __init__(self, result: Result, name: str, title: str, caption: str) -> None:
        self._result = result
        self.name: str = name
        """Its name, as `Result.figures` lists it."""
        self.title: str = title
        """Its title."""
        self.caption: str = caption
        """Meaning of the marks, source of the data."""

    def save(
        self,
        path: str | os.PathLike[str],
        width: str = "3.3in",
        *,
        height: str | None = None,
        font: str | None = None,
        font_size: str = "8pt",
        title: bool = False,
        grey: bool = False,
        outlines: bool = False,
        dpi: int = 300,
    ) -> Path:
        """Writes the figure as a file for papers and returns its path.

        path: the file; its extension is the format: .pdf, .svg or .png
        width, height: lengths with units, as "3.3in", "84mm", "240pt"; the height may follow
        font: a family of this system, or a .ttf or .otf file; default: Liberation Sans
        font_size: size of all text, as "8pt"
        title: whether the title is drawn, which papers have in the caption
        grey: greys only; dashes and markers distinguish the schemes
        outlines: text as outlines without a font (SVG, PDF)
        dpi: pixels per inch of a PNG file
        """
        path = Path(_arguments.path("path", path))
        lengths = {"width": width, "height": height, "font_size": font_size, "font": font}
        for name, value in lengths.items():
            if value is not None or name in ("width", "font_size"):
                _arguments.text(name, value, '"Carlito"' if name == "font" else '"8pt"')
        dpi = _arguments.whole("dpi", dpi, example=300)
        style = {
            "width": width,
            "height": height,
            "font": font,
            "font_size": font_size,
            "title": bool(title),
            "grey": bool(grey),
            "outlines": bool(outlines),
            "dpi": dpi,
        }
        content = self._file(path.suffix.lower().lstrip("."), style)
        write_whole(path, content)
        return path

    @property
    def svg(self) -> str:
        """The figure as SVG for pages, 6.5 inches wide, with its title; text is outlines, so that
        the page needs no font."""
        style = {**_STYLE, "width": "6.5in", "title": True, "outlines": True}
        return self._file("svg", style).decode()

    @property
    def csv(self) -> str:
        """The values of the figure, CSV with a header line."""
        return self._result._native.figure_csv(self.name)

    def matplotlib(
        self, ax: matplotlib.axes.Axes | Iterable[Any] | None = None
    ) -> matplotlib.figure.Figure:
        """Draws the figure with Matplotlib, from the same data and in the same colours, and returns
        its figure, whose axes can be changed. It uses no pyplot and needs no display.

        ax: axes to draw into, one for each panel from the top, as `plt.subplots(2)[1]`; default:
            a new figure, with its axes in `axes`

        Values are not reduced and not rounded. A scheme without values is in the legend with the
        reason. The title and the caption are attributes of this object.
        """
        needs("matplotlib", "Figure.matplotlib()")
        from ._matplotlib import draw

        return draw(json.loads(self._result._native.figure_json(self.name)), ax)

    def _file(self, extension: str, style: dict[str, Any]) -> bytes:
        return self._result._native.figure_file(self.name, extension, style)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<lowtide.Figure {self.name}: {self.title}>"
