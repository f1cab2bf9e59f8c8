"""Runs every script on the kernel and on our TCP with profile linux, and writes the table of both.

    sudo python3 benches/scripts/table.py --lowtide target/release/lowtide --jobs 24
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = ROOT / "crates/packetdrill/scripts"
PAGE = ROOT / "docs/evidence/scripts-on-linux.md"
CLASSES = {
    "equal": "both pass, or both differ from the script in the same way",
    "documented": "they differ by a row of deviations, or by a rule with its source",
    "unexplained": "they differ, and the cause is not known",
    "lacking": "the kernel lacks what the script needs",
    "too-long": "not run: longer than 200 s of real time",
}
# packetdrill's 4 ms, and a jiffy: timers of a kernel with CONFIG_HZ = 250 wait for the next tick.
TOLERANCE_US = 8000
VALUE = re.compile(r"(\w+) = ([0-9.]+) (us|ms|s)$")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
TIME = re.compile(r"^time: ([0-9.]+), expected (not before|until) ([0-9.]+)$")


def run(lowtide, *arguments):
    """Outcomes by name of script."""
    command = [lowtide, "--json", "--quiet", "packetdrill", "--profile", "linux", *arguments]
    command += ["--tolerance-usecs", str(TOLERANCE_US)]
    answer = json.loads(subprocess.run([*command, SCRIPTS], stdout=subprocess.PIPE).stdout)
    name = lambda path: str(pathlib.Path(path).relative_to(SCRIPTS))
    return answer, {name(s["name"]): s for s in answer["scripts"]}


def signature(outcome):
    """What a run shows that both hosts must share: no window, whose memory the kernel accounts."""
    failure = outcome["failure"]
    if failure is None:
        return None, []
    # Random numbers appear where the host's own one is not known; they have eight digits or more.
    got = re.sub(r" win \d+|\[\w+\] |TS val \d+|\d{8,}", "", failure["got"] or "")
    message = re.sub(r"[0-9.]+( (us|ms|s)\b)?", "T", failure["message"])
    times = [(m[2], float(m[1]), float(m[3])) for m in map(TIME.match, failure["differs"]) if m]
    value = VALUE.match(got)
    if value:
        got, time = value[1], float(value[2]) * UNITS[value[3]]
        times.append(("value", time, 0.0))
    return (failure["line"], message, got), times


def same(a, b):
    """True if two runs agree, in time as the interpreter does: the tolerance, or 12.5 %."""
    (facts, times), (other_facts, other_times) = signature(a), signature(b)
    if facts != other_facts or len(times) != len(other_times):
        return False
    for (kind, got, wanted), (other_kind, other_got, _) in zip(times, other_times):
        allowed = TOLERANCE_US / 1e6 + abs(wanted - got) / 8
        if kind != other_kind or abs(got - other_got) > allowed:
            return False
    return True


def short(outcome):
    failure = outcome["failure"]
    if failure is None:
        return "passes"
    text = failure["got"] or failure["message"]
    if failure["differs"] and all(d.startswith("time:") for d in failure["differs"]):
        text += f" at {failure['at_s']:.3f} s"
    elif failure["message"].startswith("no packet"):
        text = "no packet"
    text = re.sub(r"TS val \d+ ecr \d+", "TS", text.replace("|", "/"))
    return f"{failure['line']}: `{text}`"


def classify(kernel, ours, row):
    if kernel["verdict"] in ("lacking", "too-long"):
        return kernel["verdict"], kernel["failure"]["message"]
    if same(kernel, ours):
        return "equal", ""
    shown = f"kernel {short(kernel)}; here {short(ours)}"
    return ("documented", f"{row}. {shown}") if row else ("unexplained", shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowtide", default=ROOT / "target/release/lowtide")
    parser.add_argument("--jobs", default="16")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=PAGE)
    options = parser.parse_args()
    answer, kernel = run(options.lowtide, "--against", "kernel", "--jobs", options.jobs)
    _, ours = run(options.lowtide)
    explained = tomllib.loads((HERE / "explained.toml").read_text())["row"]
    rows = {script: row["reason"] for row in explained for script in row["scripts"]}
    lines, counts, stale = [], collections.Counter(), []
    for name in sorted(kernel):
        found, text = classify(kernel[name], ours[name], rows.get(name))
        counts[found] += 1
        if name in rows and found != "documented":
            stale.append(name)
        left_out = [n["text"] for n in kernel[name]["notes"] if n["text"].startswith("left out")]
        lines.append(f"| `{name}` | {found} | {'; '.join([text, *left_out]).strip('; ')} |")
    total = "\n".join(f"| {c} | {counts[c]} | {about} |" for c, about in CLASSES.items())
    title = f"# Scripts on {answer['against']}"
    intro = (HERE / "page.md").read_text()
    table = "\n".join(["| script | class | what |", "|---|---|---|", *lines])
    body = f"{title}\n{intro}\n| class | scripts | |\n|---|---|---|\n{total}\n\n## Script by script\n"
    options.output.write_text(f"{body}{table}\n")
    print(title, dict(counts))
    for name in stale:
        print(f"explained, but they do not differ: {name}")


if __name__ == "__main__":
    main()
