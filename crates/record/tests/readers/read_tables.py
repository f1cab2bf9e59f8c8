"""Reads every result table with pandas, polars and DuckDB.

    python3 read_tables.py LOWTIDE DIRECTORY

LOWTIDE is the command. It runs every-table.toml below DIRECTORY, twice, with swept keys of every
unit. The names, types, units and nulls of all columns are compared with the data dictionary
(`lowtide list tables --json`), and the rows of the three readers with each other.
Needs pandas, pyarrow, polars and duckdb; `cargo xtask suite tables` installs them.
"""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow.parquet

SCENARIO = Path(__file__).with_name("every-table.toml")

# Swept keys of each run: values, suffix of the column of numbers, unit, numbers.
SWEEPS = [
    (
        ["--trace", "0"],
        {
            "switch.mark.min": (["5 pkt", "20 pkt"], "packets", "packets", [5, 20]),
            "traffic.pair.size": (["100 kB", "20 kB"], "bytes", "bytes", [100_000, 20_000]),
            "topology.link-delay": (["5 us", "1 ms"], "ps", "ps", [5_000_000, 1_000_000_000]),
        },
    ),
    (
        [],
        {
            "topology.link-rate": (["100 Mbit/s", "1 Gbit/s"], "bps", "bit/s", [10**8, 10**9]),
            "switch.mark.max-p": (["2 %", "10 %"], "share", "1", [0.02, 0.1]),
            "switch.alpha": (["1/2", "2"], "number", "", [0.5, 2.0]),
            "switch.class.urgent.buffer": (
                ["100 pkt", "unlimited"], "packets", "packets", [100, None],
            ),
            # Several units: no numbers.
            "switch.class.bulk.buffer": (["100 pkt", "150 kB"], None, None, None),
        },
    ),
]

POLARS = {
    "int64": polars.Int64,
    "double": polars.Float64, "bool": polars.Boolean, "string": polars.String,
}
DUCKDB = {
    "int64": "BIGINT",
    "double": "DOUBLE", "bool": "BOOLEAN", "string": "VARCHAR",
}


def check(holds, message):
    if not holds:
        sys.exit(f"error: {message}")


def equal(found, expected, place):
    check(found == expected, f"{place}: {found!r} instead of {expected!r}")


def lowtide(command, *arguments):
    run = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    check(run.returncode == 0, f"lowtide {' '.join(arguments)}: {run.stderr}")
    return run.stdout


def dictionary(command):
    items = json.loads(lowtide(command, "list", "tables", "--json"))["items"]
    return {item["name"]: item["columns"] for item in items}


def expected_columns(declared, sweep):
    """The columns of a file: those of the dictionary, with the swept keys before the seed."""
    columns = []
    for column in declared:
        if column["name"] == "seed":
            for key, (_, suffix, unit, _) in sweep.items():
                columns.append({"name": key, "type": "string", "unit": "", "nullable": False})
                if suffix:
                    kind = "double" if suffix in ("share", "number") else "int64"
                    name = f"{key}_{suffix}"
                    columns.append(
                        {"name": name, "type": kind, "unit": unit, "nullable": True, "key": key}
                    )
        columns.append(column)
    return columns


def check_schema(path, table, columns, manifest):
    """Types by pyarrow, and the metadata of the file by pyarrow, polars and DuckDB."""
    schema = pyarrow.parquet.read_schema(path)
    equal(schema.names, [c["name"] for c in columns], path)
    for field, column in zip(schema, columns):
        place = f"{path}: {field.name}"
        equal(str(field.type), column["type"], place)
        equal(field.nullable, column["nullable"], place)
    by_pyarrow = {key.decode(): value.decode() for key, value in schema.metadata.items()}
    by_polars = polars.read_parquet_metadata(path)
    pairs = duckdb.sql(f"select decode(key), decode(value) from parquet_kv_metadata('{path}')")
    by_duckdb = dict(pairs.fetchall())
    for metadata in (by_pyarrow, by_polars, by_duckdb):
        equal(metadata["lowtide.schema"], "lowtide.tables/3", path)
        equal(metadata["lowtide.table"], table, path)
        equal(metadata["lowtide.version"], manifest["version"], path)
        equal(metadata["lowtide.scenario"], manifest["scenario"], path)
        equal(metadata["lowtide.scenario-hash"], manifest["scenario_hash"], path)
        listed = json.loads(metadata["lowtide.columns"])
        equal([c["name"] for c in listed], schema.names, path)
        for found, column in zip(listed, columns):
            place = f"{path}: {column['name']}"
            equal(found["unit"], column["unit"], place)
            equal(found.get("key"), column.get("key"), place)
            check(found["description"].endswith("."), f"{place}: no description")
            equal(found["description"], column.get("description", found["description"]), place)


def check_rows(path, columns):
    """The same rows with the three readers, and types; returns the rows by pandas."""
    frame = pandas.read_parquet(path, dtype_backend="pyarrow")
    by_polars = polars.read_parquet(path)
    by_duckdb = duckdb.sql(f"select * from '{path}'")
    for i, column in enumerate(columns):
        place = f"{path}: {column['name']}"
        equal(by_polars.dtypes[i], POLARS[column["type"]], place)
        equal(str(by_duckdb.types[i]), DUCKDB[column["type"]], place)
        nulls = int(frame[column["name"]].isna().sum())
        check(column["nullable"] or nulls == 0, f"{place}: a null")
    equal(list(by_duckdb.columns), list(frame.columns), path)
    rows = by_polars.rows()
    equal(by_duckdb.fetchall(), rows, path)
    equal([tuple(None if pandas.isna(v) else v for v in row)
           for row in frame.itertuples(index=False, name=None)], rows, path)
    return frame


def check_numbers(frame, path, sweep):
    """The numbers beside each text, and their order."""
    for key, (texts, suffix, _, numbers) in sweep.items():
        if suffix is None:
            check(not any(c.startswith(f"{key}_") for c in frame.columns), f"{path}: {key}")
            continue
        found = frame[[key, f"{key}_{suffix}"]].drop_duplicates()
        pairs = {t: None if pandas.isna(n) else n for t, n in found.itertuples(index=False)}
        known = dict(zip(texts, numbers))
        for text, number in pairs.items():
            equal(number, known[text], f"{path}: {key} = {text}")


def main():
    check(len(sys.argv) == 3, "usage: read_tables.py LOWTIDE DIRECTORY")
    command, place = sys.argv[1], Path(sys.argv[2])
    tables = dictionary(command)
    read, nonempty = set(), set()
    for number, (options, sweep) in enumerate(SWEEPS):
        out = place / str(number)
        over = [f"--over={key}={','.join(values)}" for key, (values, *_) in sweep.items()]
        lowtide(command, "run", str(SCENARIO), "-o", str(out), "--afresh", *options, *over)
        manifest = json.loads((out / "manifest.json").read_text())
        for path in sorted(out.glob("*.parquet")):
            check(path.stem in tables, f"{path}: no such table in the dictionary")
            columns = expected_columns(tables[path.stem], sweep)
            check_schema(path, path.stem, columns, manifest)
            frame = check_rows(path, columns)
            check_numbers(frame, path, sweep)
            read.add(path.stem)
            if len(frame):
                nonempty.add(path.stem)
        # All values of the sweep occur in the table of runs, and sort as numbers.
        runs = duckdb.sql(f"select * from '{out}/runs.parquet'").pl()
        for key, (texts, suffix, _, numbers) in sweep.items():
            equal(set(runs[key]), set(texts), f"{out}: {key}")
            if suffix and None not in numbers:
                ordered = runs.sort(f"{key}_{suffix}")[key].unique(maintain_order=True)
                equal(list(ordered), sorted(texts, key=dict(zip(texts, numbers)).get), key)
    equal(sorted(read), sorted(tables), "tables that were read")
    empty = sorted(read - nonempty)
    print(f"{len(read)} tables of {len(SWEEPS)} directories agree; without rows: {empty}")


if __name__ == "__main__":
    main()
