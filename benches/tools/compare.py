"""Compares what the profiles ns-2 and ns-3 predict with what the tools do; see README.md.

python3 benches/tools/compare.py [--lowtide PROGRAM] [--ns2 PROGRAM] [--ns3 VENV] [CASE ...]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import cases  # noqa: E402
from cases import Case, Row, Value  # noqa: E402
from tools import Lowtide, Missing, Ns2, Ns3, Tool  # noqa: E402
from events import Trace  # noqa: E402


def shown(value: Value) -> str:
    if isinstance(value, list):
        return " ".join(shown(v) for v in value)
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)


def difference(row: Row, a: Value, b: Value) -> float:
    """The largest difference of `b` from `a`, in the unit of the bound."""
    if isinstance(a, str) or isinstance(b, str):
        return 0.0 if a == b else float("inf")
    left = a if isinstance(a, list) else [a]
    right = b if isinstance(b, list) else [b]
    if len(left) != len(right):
        return float("inf")
    # Equal values include two infinite thresholds.
    most = max((0.0 if x == y else abs(y - x) for x, y in zip(left, right)), default=0.0)
    return most / abs(left[0]) if row.relative and left[0] else most


def value(row: Row, trace: Trace) -> Value:
    try:
        return row.value(trace)
    except (IndexError, ValueError):
        return "none"


def run(case: Case, tool: Tool, lowtide: Lowtide) -> list[dict[str, object]]:
    theirs = tool.run(case.settings, case.drops)
    ours = lowtide.run(case.lowtide, case.drops)
    cause: Trace | None = None
    lines: list[dict[str, object]] = []
    for row in case.rows:
        a, b = value(row, theirs), value(row, ours)
        far = difference(row, a, b)
        line: dict[str, object] = {
            "tool": case.tool,
            "case": case.name,
            "rule": row.rule,
            "theirs": shown(a),
            "lowtide": shown(b),
            "difference": "other" if far == float("inf") else f"{far:.4g}",
            "bound": f"{row.bound:g}" + (" of it" if row.relative else ""),
            "verdict": "agrees" if far <= row.bound + 1e-9 else "DIFFERS",
            "cause": "",
        }
        if line["verdict"] == "DIFFERS" and case.cause:
            cause = cause or lowtide.run({**case.lowtide, **case.cause}, case.drops)
            again = value(row, cause)
            same = difference(row, a, again) <= row.bound + 1e-9
            names = ", ".join(f"{k.rpartition('.')[2]} = {v}" for k, v in case.cause.items())
            line["cause"] = ("agrees with " if same else f"{shown(again)} with ") + names
        lines.append(line)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowtide", default="target/release/lowtide", help="the program")
    parser.add_argument("--ns2", default="ns", help="the program of ns-2")
    parser.add_argument("--ns3", help="a virtual environment with the package ns3")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--work", type=Path, help="keep the files of the runs here")
    parser.add_argument("case", nargs="*", help="only cases whose tool and name contain this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        try:
            lowtide = Lowtide(options.lowtide, work)
        except Missing as e:
            print(e, file=sys.stderr)
            return 2
        versions = {"lowtide": lowtide.version()}
        lines: list[dict[str, object]] = []
        skipped: list[str] = []
        tools = (
            ("ns-2", lambda: Ns2(options.ns2, work), cases.ns2()),
            ("ns-3", lambda: Ns3(options.ns3, work), cases.ns3()),
        )
        for name, make, every in tools:
            chosen = [
                c for c in every if all(word in f"{c.tool} {c.name}" for word in options.case)
            ]
            if not chosen:
                continue
            try:
                tool = make()
            except Missing as e:
                skipped.append(f"{name}: {len(chosen)} cases skipped: {e}")
                continue
            versions[name] = tool.version()
            for case in chosen:
                print(f"{case.tool}: {case.name}", file=sys.stderr)
                try:
                    lines += run(case, tool, lowtide)
                except (LookupError, RuntimeError) as e:
                    lines.append({"tool": case.tool, "case": case.name, "rule": "runs",
                                  "theirs": "", "lowtide": "", "difference": "", "bound": "",
                                  "verdict": "DIFFERS", "cause": str(e)[:300]})
    bad = [line for line in lines if line["verdict"] != "agrees"]
    if options.json:
        print(json.dumps({"versions": versions, "rows": lines, "skipped": skipped}, indent=1))
    else:
        print(", ".join(f"{k} {v}" for k, v in versions.items()))
        for line in skipped:
            print(line)
        print()
        print("| case | rule | tool | lowtide | difference | bound | verdict | cause |")
        print("|---|---|---|---|---|---|---|---|")
        for line in lines:
            keys = ("rule", "theirs", "lowtide", "difference", "bound", "verdict", "cause")
            cells = [f"{line['tool']}: {line['case']}", *(str(line[k]) for k in keys)]
            print("| " + " | ".join(cells) + " |")
        print()
        print(f"{len(lines) - len(bad)} of {len(lines)} rows agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
