"""Statistics as rows, which pandas and polars take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from ._library import needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Rows(Sequence[dict[str, Any]]):
    """Rows with named columns: a sequence of mappings. `pandas()` and `polars()` make a data frame
    of them."""

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        units: Mapping[str, str] | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        """Use the methods of a result.

        columns: names of the columns if there are no rows
        """
        self._rows = [dict(row) for row in rows]
        self.units: dict[str, str] = dict(units or {})
        """Units of the columns that have one for all rows. A column `unit` has that of a row."""
        self.columns: list[str] = list(self._rows[0] if self._rows else columns)
        """Names of the columns."""

    def pandas(self) -> pandas.DataFrame:
        """Returns the rows as a pandas data frame; `.attrs["units"]` has the units by column."""
        library = needs("pandas", "pandas()")
        frame: pandas.DataFrame = library.DataFrame(self._rows, columns=self.columns)
        frame.attrs["units"] = self.units
        return frame

    def polars(self) -> polars.DataFrame:
        """Returns the rows as a polars data frame."""
        library = needs("polars", "polars()")
        frame: polars.DataFrame = library.DataFrame(
            self._rows,
            schema=None if self._rows else self.columns,
            infer_schema_length=None,
            strict=False,
        )
        return frame

    def arrow(self) -> pyarrow.Table:
        """Returns the rows as a pyarrow table."""
        library = needs("pyarrow", "arrow()")
        if self._rows:
            return library.Table.from_pylist(self._rows)
        return library.table({name: [] for name in self.columns})

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Rows: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Rows(self._rows[key], self.units, self.columns)
        if not hasattr(key, "__index__"):
            raise TypeError(f"rows are no data frame: write .pandas()[{key!r}]")
        return self._rows[key]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Rows):
            return self._rows == other._rows
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(
                f"rows have no attribute `{name}`: they have pandas(), polars(), arrow(), columns "
                "and units"
            )

    def _repr_html_(self) -> str:
        if not self._rows:
            return "<p>no rows</p>"
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        lines = []
        for row in self._rows:
            cells = "".join(f"<td>{escape(_short(row.get(name)))}</td>" for name in self.columns)
            lines.append(f"<tr>{cells}</tr>")
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>"

    def __repr__(self) -> str:
        return f"<lowtide.Rows {len(self)}: {', '.join(self.columns)}>"

    def __str__(self) -> str:
        table = [self.columns, *([_short(row.get(c)) for c in self.columns] for row in self._rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in table
        )


def _short(value: Any) -> str:
    """Four significant digits of a number."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
