"""Hook of mkdocs: pages and tables of all names that `lowtide explain` prints.

A page of `docs/` has a marker, `<!-- site: keys -->`, where the site has the tables. The facts are
those of `lowtide list --json`; the text of a congestion control, decoder or policy is the module
doc of its file. LOWTIDE names the command; without it, it is the one that cargo built last.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_MARKER = re.compile(r"<!-- site: (\w+) -->")
# Kinds of the parts of a scheme: title, and title of the list.
_PARTS = {
    "cc": ("Congestion control", "Congestion controls"),
    "feedback": ("Feedback decoder", "Feedback decoders"),
    "ack": ("Acknowledgement policy", "Acknowledgement policies"),
}
# Switches are shown with their values in these profiles.
_PROFILES = ("rfc", "linux", "freebsd")
_FAMILY = ("sigcomm10", "rfc8257", "freebsd", "thesis-original", "thesis-modified")

Item = dict[str, Any]
_items: list[Item] = []


def on_files(files: Any, config: Any) -> Any:
    """Adds a page for each scheme, part of a scheme, and profile."""
    from mkdocs.structure.files import File

    _items[:] = json.loads(
        subprocess.run([_command(), "list", "--json"], check=True, capture_output=True).stdout
    )["items"]
    for item in _of(*_PARTS, "scheme", "profile"):
        uri = f"reference/schemes/{_page(item)}"
        files.append(File.generated(config, uri, content=_text(item)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fills in the tables of a page."""
    return _MARKER.sub(lambda found: _TABLES[found[1]](), markdown)


def _command() -> str:
    if path := os.environ.get("LOWTIDE"):
        return path
    built = [ROOT / "target" / profile / "lowtide" for profile in ("debug", "release", "dist")]
    built = [path for path in built if path.exists()]
    if not built:
        raise SystemExit("the site needs the command: `cargo build`, or set LOWTIDE to its path")
    return str(max(built, key=lambda path: path.stat().st_mtime))


def _of(*kinds: str) -> list[Item]:
    return [item for item in _items if item["kind"] in kinds]


def _page(item: Item) -> str:
    folder = "" if item["kind"] == "scheme" else f"{item['kind']}/"
    return f"{folder}{item['name']}.md"


def _text(item: Item) -> str:
    kind, name = item["kind"], item["name"]
    if kind in _PARTS:
        path = ROOT / f"crates/congestion/src/{kind}/{name.replace('-', '_')}.rs"
        title = f"{_PARTS[kind][0]} `{name}`"
        text = _module(path) + "\n\n## Parameters\n" + _notes(item) + _settings(item)
        side = "receiver" if kind == "ack" else "sender"
        use = f'`transport.{side}.{kind} = "{name}"`, parameters in `transport.{side}.{name}`'
        return f"# {title}\n{text}\nCode: `{path.relative_to(ROOT)}`. In a scenario: {use}.\n"
    base, parts = "`rfc`", ""
    if kind == "scheme":
        values = ((s["name"], s["value"]) for s in item["settings"] if s["name"] in _PARTS)
        base, parts = "the profile", "".join(_part(*value) for value in values)
    return (
        f"# {kind.capitalize()} `{name}`\n{item['summary']}.\n\n{parts}"
        f"## Settings\nOther settings are those of {base}.\n\n{_settings(item)}"
    )


def _part(kind: str, name: str) -> str:
    """A part of a scheme: the first paragraph of its algorithm."""
    path = ROOT / f"crates/congestion/src/{kind}/{name.replace('-', '_')}.rs"
    algorithm = _module(path).split("## Algorithm\n")[1].split("\n\n")[0]
    return f"## {_PARTS[kind][0]}: [`{name}`]({kind}/{name}.md)\n{algorithm}\n\n"


def _module(path: Path) -> str:
    """The module doc of a file; links to items of the code become their names."""
    lines = (line for line in path.read_text().splitlines() if line.startswith("//!"))
    text = "\n".join(line[3:].removeprefix(" ") for line in lines)
    return text.replace("[`", "`").replace("`]", "`")


def _notes(item: Item) -> str:
    return "".join(f"- {note}\n" for note in item.get("notes", [])) + "\n"


def _table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return line(head) + line(["---"] * len(head)) + "".join(line(row) for row in escaped)


def _settings(item: Item) -> str:
    if not item["settings"]:
        return "None.\n"
    docs = {s["name"]: s["summary"] for s in _of("switch")}

    def row(s: dict[str, str]) -> list[str]:
        meaning = s["doc"] or docs.get(s["name"], "")
        return [f"`{s['name']}`", f"`{s['value']}`", s["accepts"], meaning, s["source"]]

    head = ["name", "value", "accepts", "meaning", "source"]
    return _table(head, (row(setting) for setting in item["settings"]))


def _schemes() -> str:
    lists = {"scheme": "Schemes", **{kind: many for kind, (_, many) in _PARTS.items()}}
    return "\n".join(
        f"## {title}\n"
        + _table(
            ["name", "what it is"],
            ((f"[`{i['name']}`](schemes/{_page(i)})", i["summary"]) for i in _of(kind)),
        )
        for kind, title in {**lists, "profile": "Profiles"}.items()
    )


def _keys() -> str:
    parts = []
    for item in _of("scenario table", "topology", "marker", "workload"):
        table = item["kind"] == "scenario table"
        title = f"`[{item['name']}]`" if table else f"{item['kind']} `{item['name']}`"
        rows = (
            (f"`{s['name']}`", s["accepts"], s["value"], s["doc"], s["source"])
            for s in item["settings"]
        )
        keys = _table(["key", "takes", "default", "meaning", "source"], rows)
        parts.append(f"### {title}\n{item['summary']}\n\n{_notes(item)}{keys}")
    return "\n".join(parts)


def _value(profile: str, switch: Item) -> str:
    found = next(item for item in _of("profile") if item["name"] == profile)
    values = {s["name"]: s["value"] for s in found["settings"]}
    return str(values.get(switch["name"], switch["settings"][0]["value"]))


def _switches() -> str:
    def rows(profiles: Iterable[str], switches: Iterable[Item]) -> Iterable[list[str]]:
        for switch in switches:
            values = [f"`{_value(profile, switch)}`" for profile in profiles]
            yield [f"`{switch['name']}`", switch["summary"], *values, switch["spec"]]

    head = ["setting", "meaning"]
    differing = [s for s in _of("switch") if len({_value(p, s) for p in _FAMILY}) > 1]
    return (
        _table([*head, *_PROFILES, "source"], rows(_PROFILES, _of("switch")))
        + "\n### The DCTCP family\n\n"
        + _table([*head, *_FAMILY, "source"], rows(_FAMILY, differing))
    )


def _columns() -> str:
    parts = []
    for item in _of("table"):
        rows = (
            (f"`{c['name']}`", c["type"], c["unit"], "yes" * c["nullable"], c["description"])
            for c in item["columns"]
        )
        table = _table(["column", "type", "unit", "null", "meaning"], rows)
        parts.append(f"### `{item['name']}`\n{item['summary']}\n\n{table}")
    return "\n".join(parts)


_TABLES = {"schemes": _schemes, "keys": _keys, "switches": _switches, "columns": _columns}
