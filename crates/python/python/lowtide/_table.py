"""A result table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ._library import needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._result import Result


class Column(NamedTuple):
    """A column of a table."""

    name: str
    """Its name."""
    unit: str
    """Its unit; empty for names, counts and ratios."""
    description: str
    """One sentence."""
    numeric: bool
    """Whether its values are numbers."""


class Table:
    """A table of a run directory. It is read when a library takes it.

    Libraries with the Arrow PyCapsule interface take it as it is, without a copy:
    `pyarrow.table(t)`, `polars.DataFrame(t)`, `duckdb.sql("from t")`.
    """

    def __init__(self, result: Result, name: str) -> None:
        # The result owns the directory of the table.
        self._result = result
        self._columns: list[Column] | None = None
        self.name: str = name
        """Its name."""

    @property
    def columns(self) -> list[Column]:
        """The columns with units and descriptions."""
        if self._columns is None:
            found = self._result._native.columns(self.name)
            self._columns = [Column(*column) for column in found]
        return self._columns

    @property
    def units(self) -> dict[str, str]:
        """Units of the columns that have one."""
        return {column.name: column.unit for column in self.columns if column.unit}

    def arrow(self) -> pyarrow.Table:
        """Returns the table as a pyarrow table; fields have `unit` and
        `description` as metadata."""
        return needs("pyarrow", "Table.arrow()").table(self)

    def pandas(self) -> pandas.DataFrame:
        """Returns the table as a pandas data frame; `.attrs["units"]` has the units by column."""
        needs("pandas", "Table.pandas()")
        frame: pandas.DataFrame = self.arrow().to_pandas()
        frame.attrs["units"] = self.units
        return frame

    def polars(self) -> polars.DataFrame:
        """Returns the table as a polars data frame; `.units` has the units."""
        frame: polars.DataFrame = needs("polars", "Table.polars()").DataFrame(self)
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow PyCapsule interface: the table as a stream of record batches."""
        return self._result._native.stream(self.name)

    def __arrow_c_schema__(self) -> Any:
        """Arrow PyCapsule interface: the schema of the table."""
        return self._result._native.schema(self.name)

    def __repr__(self) -> str:
        return f"<lowtide.Table {self.name}: {', '.join(c.name for c in self.columns)}>"
