"""Runs every script on the kernel and on our TCP with profile linux, and writes the table of both.

    sudo python3 benches/scripts/table.py --lowtide target/release/lowtide --jobs 24

A reason in explained.toml belongs to one difference: the line at which the hosts part, and what each
does there. Another difference of the same script is unexplained, and the exit code is then 1.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRIPTS = ROOT / "crates/packetdrill/scripts"
PAGE = ROOT / "docs/evidence/scripts-on-linux.md"
CLASSES = {
    "equal": "both pass, or both differ from the script in the same way",
    "documented": "they differ by a row of deviations, or by a rule with its source",
    "unexplained": "they differ, and this difference has no reason",
    "lacking": "the kernel lacks what the script needs",
    "too-long": "not run: longer than 200 s of real time",
}
# packetdrill's 4 ms, and a jiffy: timers of a kernel with CONFIG_HZ = 250 wait for the next tick.
TOLERANCE_US = 8000
VALUE = re.compile(r"(\w+) = ([0-9.]+) (us|ms|s)$")
# Other load on the machine makes timers of the kernel late.
REPEATS = 2
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
TIME = re.compile(r"^time: ([0-9.]+), expected (not before|until) ([0-9.]+)$")
AS_SCRIPT = "as the script"


def run(lowtide, *arguments, scripts=(SCRIPTS,)):
    """Outcomes by name of script."""
    command = [lowtide, "--json", "--quiet", "packetdrill", "--profile", "linux", *arguments]
    command += ["--tolerance-usecs", str(TOLERANCE_US)]
    answer = json.loads(subprocess.run([*command, *scripts], stdout=subprocess.PIPE).stdout)
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


def short(failure):
    """What a host does at the line at which it differs from the script, without times."""
    if failure["message"].startswith("no packet"):
        return "no packet"
    text = failure["got"] or re.sub(r"[0-9.]+ s\b", "T", failure["message"])
    value = VALUE.match(text)
    if value:
        text = f"another {value[1]}"
    text = re.sub(r"TS val \d+ ecr \d+", "TS", re.sub(r" win \d+|\[noecn\] ", "", text))
    fields = {d.split(":")[0] for d in failure["differs"]}
    fields = sorted(fields - {"win"} or fields)
    return f"`{text.replace('|', '/')}`" + (f" ({', '.join(fields)})" if fields else "")


def difference(kernel, ours):
    """The first line at which the hosts part, and what each does there."""
    failures = [host["failure"] for host in (kernel, ours)]
    line = min(f["line"] for f in failures if f)
    kernel, ours = (short(f) if f and f["line"] == line else AS_SCRIPT for f in failures)
    return f"line {line}: kernel {kernel}, here {ours}"


def classify(kernel, ours, reasons):
    if kernel["verdict"] in ("lacking", "too-long"):
        return kernel["verdict"], kernel["failure"]["message"]
    if same(kernel, ours):
        return "equal", ""
    shown = difference(kernel, ours)
    reason = reasons.get(shown)
    return ("documented", f"{reason}. {shown}") if reason else ("unexplained", shown)


def explained():
    """Reasons by script and difference, and the scripts of which one may also be equal."""
    reasons, may_agree = collections.defaultdict(dict), set()
    for row in tomllib.loads((HERE / "explained.toml").read_text())["row"]:
        for script, shown in row["differences"].items():
            for difference in [shown] if isinstance(shown, str) else shown:
                reasons[script][difference] = row["reason"]
            if row.get("not-always", False):
                may_agree.add(script)
    return reasons, may_agree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowtide", default=ROOT / "target/release/lowtide")
    parser.add_argument("--jobs", default="16")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=PAGE)
    options = parser.parse_args()
    answer, kernel = run(options.lowtide, "--against", "kernel", "--jobs", options.jobs)
    _, ours = run(options.lowtide)
    reasons, may_agree = explained()
    for _ in range(REPEATS):
        found = {name: classify(kernel[name], ours[name], reasons[name])[0] for name in kernel}
        again = [SCRIPTS / name for name in found if found[name] == "unexplained"]
        kernel |= run(options.lowtide, "--against", "kernel", scripts=again)[1] if again else {}
    lines, counts, errors = [], collections.Counter(), []
    for name in sorted(kernel):
        found, text = classify(kernel[name], ours[name], reasons[name])
        counts[found] += 1
        if found == "unexplained":
            errors.append(f"unexplained: {name}: {text}")
        elif found != "documented" and reasons[name] and name not in may_agree:
            errors.append(f"explained, but they do not differ: {name}")
        left_out = [n["text"] for n in kernel[name]["notes"] if n["text"].startswith("left out")]
        lines.append(f"| `{name}` | {found} | {'; '.join([text, *left_out]).strip('; ')} |")
    errors += [f"explained, but no script: {name}" for name in reasons if name not in kernel]
    total = "\n".join(f"| {c} | {counts[c]} | {about} |" for c, about in CLASSES.items())
    title = f"# Scripts on {answer['against']}"
    intro = (HERE / "page.md").read_text()
    table = "\n".join(["| script | class | what |", "|---|---|---|", *lines])
    body = f"{title}\n{intro}\n| class | scripts | |\n|---|---|---|\n{total}\n\n## Script by script\n"
    options.output.write_text(f"{body}{table}\n")
    print(title, dict(counts))
    print(*errors, sep="\n", end="\n" if errors else "")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
