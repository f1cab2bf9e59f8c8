"""Prints the slowdowns of a result directory as JSON for the study `samples`, by scheme and size.

Run by `cargo xtask suite statistics`: lowtide table DIR flows --csv | python real.py
"""
import csv
import json
import sys

CLASSES = [("up to 100 kB", 0, 100_000), ("above 100 kB", 100_000, float("inf"))]


def main():
    found = {}
    for row in csv.DictReader(sys.stdin):
        if row["group"] != "background" or row["role"] != "flow":
            continue
        if row["status"] != "complete":
            sys.exit(f"flow {row['flow']} of seed {row['seed']} is {row['status']}")
        size = int(row["size_bytes"])
        name = next(name for name, above, up_to in CLASSES if above < size <= up_to)
        seeds = found.setdefault(f"{row['scheme']}, {name}", {})
        slowdown = int(row["fct_ps"]) * 1_000_000 // int(row["ideal_ps"])
        seeds.setdefault(row["seed"], []).append(slowdown / 1e6)
    out = [{"name": n, "least": 1.0, "seeds": list(s.values())} for n, s in sorted(found.items())]
    json.dump(out, sys.stdout)


main()
