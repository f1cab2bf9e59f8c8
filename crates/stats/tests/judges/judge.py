"""Judges the statistics of lowtide-stats with scipy, lifelines and statsmodels, on random samples.

Run by `cargo xtask suite statistics`: python judge.py PROGRAM, the path of the example `judge`.
Nothing here uses its code or its formulas of quantiles, Kaplan-Meier, intervals and tests; the
definitions are those in the module documentation of crates/stats/src/{seeds,ratio,compare}.rs.
"""
import json
import math
import subprocess
import sys

import lifelines
import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

PERCENTILES = [0.5, 0.95, 0.99, 0.999]
LEAST = [2, 20, 100, 1000]
rng = np.random.default_rng(20261128)
failures = []
counts = {}


def expect(what, found, wanted, tolerance=1e-7):
    counts[what] = counts.get(what, 0) + 1
    if not isinstance(found, float) or not isinstance(wanted, float):
        same = found == wanted
    else:
        same = found == wanted or abs(found - wanted) <= tolerance * max(1, abs(wanted))
    if not same:
        failures.append(f"{what}: {found}, not {wanted}")


# --- samples ---
def draw(seeds, flows, scale, factors, kind, cut, fail):
    out = []
    for s in range(seeds):
        values = scale * factors[s] * rng.lognormal(0, 1, flows)
        if kind == "ties":
            values = np.ceil(values * 2) / 2
        if kind == "atom":
            values = np.maximum(values, 1.0)
        # Short decimals, which every JSON reader takes exactly.
        values = np.round(values, 6)
        ends = rng.uniform(0, 1, flows) < fail
        limit = np.round(rng.uniform(0, 1, flows) * scale * 60, 6) if cut else np.full(flows, np.inf)
        is_cut = (values > limit) & ~ends
        out.append({
            "complete": np.sort(values[~ends & ~is_cut]).tolist(),
            "cut_off": np.sort(limit[is_cut]).tolist(),
            "failed": int(ends.sum()),
        })
    return out


def case(i):
    seeds = [1, 2, 4, 5, 7, 10][i % 6]
    flows = [2, 9, 20, 60, 150, 400, 1100][i % 7]
    kind = ["continuous", "ties", "atom"][i % 3]
    cut, fail = i % 2 == 1, 0.01 if i % 5 == 4 else 0
    factors = np.exp(rng.choice([0.02, 0.1, 0.5]) * rng.standard_normal(seeds))
    scale = rng.choice([1.0, 1.02, 1.1, 2.0])
    a = draw(seeds, flows, 1.0, factors, kind, cut, fail)
    b = draw(seeds, flows, scale, factors, kind, cut, fail)
    return {"a": a, "b": b, "tolerance": [0.05, 0.2, 0.6][i % 3]}


# --- independent definitions ---
def bound(seeds, ends_now):
    """The values of each seed if cut-off flows end now, or never."""
    def of(seed):
        cut = seed["cut_off"] if ends_now else [np.inf] * len(seed["cut_off"])
        return np.array(seed["complete"] + cut + [np.inf] * seed["failed"])
    return [of(seed) for seed in seeds]


def quantile(values, q, least):
    if len(values) < least:
        return None
    return float(np.quantile(values, q, method="inverted_cdf"))


def own_quantiles(seeds, q, least):
    own = [quantile(v, q, least) for v in seeds]
    return None if None in own else np.array(own)


def ratio_of_variances(seeds, value, q):
    n = sum(len(v) for v in seeds)
    def variance(hits):
        excess = np.array([hits(v).sum() - q * len(v) for v in seeds])
        return len(seeds) * excess.var(ddof=1) / n**2
    worst = max(variance(lambda v: v <= value), variance(lambda v: v < value))
    return min(n, q * (1 - q) / worst if worst > 0 else n), n


def woodruff(seeds, value, q):
    effective, n = ratio_of_variances(seeds, value, q)
    effective *= (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, len(seeds) - 1)) ** 2
    hits = q * effective
    low = stats.beta.ppf(0.025, hits, effective - hits + 1)
    high = stats.beta.ppf(0.975, hits + 1, effective - hits)
    ordered = np.sort(np.concatenate(seeds))
    edge = min(abs(low * n - round(low * n)), abs(high * n - round(high * n))) < 1e-6
    k = max(math.ceil(low * n), 1), min(math.floor(high * n) + 1, n)
    return ordered[k[0] - 1], ordered[k[1] - 1], edge


def interval(seeds, q, least):
    """The interval of a percentile under one assumption about cut-off flows: its kind and ends."""
    own = own_quantiles(seeds, q, least)
    if own is None or len(seeds) == 1:
        return "missing", None
    if len(seeds) < 5:
        return ("seed-range", (own.min(), own.max())) if np.isfinite(own).all() else ("missing", None)
    every = np.concatenate(seeds)
    value = quantile(every, q, least)
    if not np.isfinite(value):
        return "missing", None
    if q > 0.99:
        effective, n = ratio_of_variances(seeds, quantile(every, 0.95, 20), 0.95)
        freedom = len(seeds) - 1
        effect = n / effective * freedom / stats.chi2.ppf(0.01, freedom)
        if (effect - 1) / (n / len(seeds) - 1) > 0.02:
            return "missing", None
    low, high, edge = woodruff(seeds, value, q)
    if np.isfinite(own).all() and (own > 0).all():
        logs = np.log(own / value)
        error = math.sqrt((logs**2).sum() / (len(own) * (len(own) - 1)))
        level = 0.975 if q > 0.95 else 0.95
        ends = stats.t.interval(level, len(own) - 1, math.log(value), error) if error else None
        if ends:
            low, high = min(low, math.exp(ends[0])), max(high, math.exp(ends[1]))
    if not np.isfinite(high):
        return "missing", None
    return ("edge" if edge else "confidence"), (low, high)


def shares(a, b, q, ratio):
    """Differences of the shares of flows up to the common percentile, with A scaled."""
    scaled = [v * ratio for v in a]
    limit = quantile(np.concatenate(scaled + b), q, 0)
    limit = limit if np.isfinite(limit) else np.finfo(float).max
    return np.array([(y <= limit).mean() - (x <= limit).mean() for x, y in zip(scaled, b)])


def one_sided(values, mean, side):
    """P-value of a one-sided t test that `values` have a mean beyond `mean`."""
    if np.ptp(values) < 1e-12:
        beyond = values[0] - mean
        return 0.0 if (beyond > 1e-12 if side == "greater" else beyond < -1e-12) else 1.0
    return float(stats.ttest_1samp(values, mean, alternative=side).pvalue)


def sections_p(logs, whole, limit, side):
    error = math.sqrt(((logs - whole) ** 2).sum() / (len(logs) * (len(logs) - 1)))
    if error == 0:
        return 0.0 if (whole > limit if side == "greater" else whole < limit) else 1.0
    t = (whole - limit) / error
    return float(stats.t.sf(t if side == "greater" else -t, len(logs) - 1))


def evidence(a, b, q, least, tolerance):
    own = [own_quantiles(of, q, least) for of in (a, b)]
    if own[0] is None or own[1] is None or len(a) < 5:
        return {"lower": 1.0, "higher": 1.0, "same": 1.0}
    whole = [quantile(np.concatenate(of), q, least) for of in (a, b)]
    with np.errstate(all="ignore"):
        logs = np.log(own[1] / own[0])
    finite = np.isfinite(logs).all() and all(np.isfinite(whole))
    def p(limit, side):
        # A greater B has fewer flows below: the shares go the other way.
        opposite = "less" if side == "greater" else "greater"
        found = one_sided(shares(a, b, q, math.exp(limit)), 0.0, opposite)
        if finite:
            found = max(found, sections_p(logs, math.log(whole[1] / whole[0]), limit, side))
        return found
    limit = math.log1p(tolerance)
    same = max(p(-limit, "greater"), p(limit, "less")) if finite else 1.0
    return {"lower": p(0.0, "less"), "higher": p(0.0, "greater"), "same": same}


# --- judgement of one case ---
def judge_percentiles(case, found):
    lower, upper = bound(case["a"], True), bound(case["a"], False)
    cut = any(seed["cut_off"] for seed in case["a"])
    ends = []
    for q, least, got in zip(PERCENTILES, LEAST, found["percentiles"]):
        low, high = (quantile(np.concatenate(v), q, least) for v in (lower, upper))
        point = got["point"]
        if low is None:
            expect("quantile: too few flows", point["kind"], "missing")
            continue
        if np.isinf(low):
            expect("quantile: infinite", point["kind"], "infinite")
            continue
        if low == high:
            expect("quantile: exact", point.get("value"), low, 0)
        else:
            expect("quantile: lower bound", point["low"], low, 0)
            expect("quantile: upper bound", point["high"], None if np.isinf(high) else high, 0)
        parts = [interval(v, q, least) for v in ((lower, upper) if cut else (lower,))]
        kinds = {kind for kind, _ in parts}
        if "edge" in kinds or got["interval"]["kind"] == "seed-independent":
            continue
        kind = parts[0][0] if len(kinds) == 1 else "missing"
        expect("interval: kind", got["interval"]["kind"], kind)
        if kind != "missing":
            low_end, high_end = parts[0][1][0], parts[-1][1][1]
            if kind == "confidence":
                low_end = min(part[1][0] for part in parts)
            ends.append((kind, got["interval"], low_end, high_end))
    # An interval does not begin before that of a lower percentile, nor end after that of a higher.
    ordered = [of for of in ends if of[0] == "confidence"]
    for kind, got, low_end, high_end in ends:
        if kind == "confidence":
            place = next(i for i, of in enumerate(ordered) if of[1] is got)
            low_end = max(of[2] for of in ordered[: place + 1])
            high_end = min(of[3] for of in ordered[place:])
        expect(f"interval: low, {kind}", got["low"], low_end)
        expect(f"interval: high, {kind}", got["high"], high_end)


def judge_survival(case, found):
    complete = np.concatenate([s["complete"] for s in case["a"]])
    cut = np.concatenate([s["cut_off"] for s in case["a"]])
    failed = sum(s["failed"] for s in case["a"])
    if len(complete) == 0:
        return
    durations = np.concatenate([complete, cut, np.full(failed, 1e300)])
    observed = np.concatenate([np.ones(len(complete)), np.zeros(len(cut) + failed)])
    fitter = lifelines.KaplanMeierFitter().fit(durations, observed)
    times = [value for value, _ in found["survival"]]
    ours = [survival for _, survival in found["survival"]]
    expect("survival: steps", times, sorted(set(complete.tolist())))
    for of, wanted in zip(ours, fitter.survival_function_at_times(times).to_numpy()):
        expect("survival: lifelines", of, float(wanted))
    if len(cut) + failed:
        data = stats.CensoredData(complete, right=np.concatenate([cut, np.full(failed, 1e300)]))
        for of, wanted in zip(ours, stats.ecdf(data).sf.evaluate(times)):
            expect("survival: scipy", of, float(wanted))
    for q, got in zip(PERCENTILES, found["kaplan_meier"]):
        wanted = lifelines.utils.qth_survival_time(1 - q + 1e-12, fitter.survival_function_)
        expect("survival: quantile", got, None if np.isinf(wanted) else float(wanted), 0)


def judge_comparisons(case, found):
    bounds = {of: [bound(case[of], end) for end in (True, False)] for of in "ab"}
    cut = any(seed["cut_off"] for of in "ab" for seed in case[of])
    for q, least, got in zip(PERCENTILES, LEAST, found["compared"]):
        if got["interval"]["kind"] == "seed-independent":
            continue
        (a_now, a_never), (b_now, b_never) = bounds["a"], bounds["b"]
        pairs = [(a_never, b_now), (a_now, b_never)] if cut else [(a_now, b_now)]
        if any(v["point"]["kind"] == "missing" for v in got["values"]):
            wanted = {"lower": 1.0, "higher": 1.0, "same": 1.0}
        else:
            each = [evidence(a, b, q, least, case["tolerance"]) for a, b in pairs]
            wanted = {key: max(e[key] for e in each) for key in each[0]}
        for key in ("lower", "higher"):
            expect(f"comparison: {key}", got["evidence"][key], wanted[key], 1e-6)
        if got["interval"]["kind"] == "confidence":
            expect("comparison: same", got["evidence"]["same"], wanted["same"], 1e-6)
            if not cut:
                judge_ratio(case, got, q, least)


def judge_ratio(case, got, q, least):
    """At an end of the interval of a ratio the weaker test passes a tail of 2.5 %."""
    a, b = bound(case["a"], True), bound(case["b"], True)
    for end, inside, side in (("low", 1, "higher"), ("high", -1, "lower")):
        at = math.log(got["interval"][end])
        for step, beyond in ((1e-9 * inside, False), (-1e-9 * inside, True)):
            scaled = [v * math.exp(at + step) for v in a]
            tail = evidence(scaled, b, q, least, 0.0)[side]
            expect("comparison: ratio", tail <= 0.025, beyond)


def judge_means(case, found):
    got = found["means"]
    if len(case["a"]) < 5 or got["interval"]["kind"] != "confidence":
        return
    a, b = (np.array([np.mean(s["complete"]) for s in case[of]]) for of in "ab")
    # The delta method of the logarithm of a ratio of means: scipy's test of its linear terms.
    terms = math.log(b.mean() / a.mean()) + b / b.mean() - a / a.mean()
    limit = math.log1p(case["tolerance"])
    test = lambda limit, side: stats.ttest_1samp(terms, limit, alternative=side)
    expect("means: lower", got["evidence"]["lower"], test(0, "less").pvalue)
    expect("means: higher", got["evidence"]["higher"], test(0, "greater").pvalue)
    tost = max(test(-limit, "greater").pvalue, test(limit, "less").pvalue)
    expect("means: same", got["evidence"]["same"], tost)
    low, high = test(0, "two-sided").confidence_interval(0.95)
    expect("means: low", got["interval"]["low"], math.exp(low))
    expect("means: high", got["interval"]["high"], math.exp(high))
    expect("means: ratio", got["ratio"], b.mean() / a.mean())


def judge_family(found):
    """Holm's rejections are those of statsmodels; a verdict is the statement with the evidence."""
    each = [c["evidence"] for c in found["compared"]]
    decided = [min(e["same"], 2 * e["lower"], 2 * e["higher"]) for e in each]
    rejected = multipletests(np.minimum(decided, 1), 0.05, method="holm")[0]
    for e, p, alone, got, is_rejected in zip(
        each, decided, found["single"], found["holm"], rejected
    ):
        if e["same"] <= 0.05:
            wanted = "same"
        elif 2 * min(e["lower"], e["higher"]) <= 0.05:
            wanted = "better" if e["lower"] < e["higher"] else "worse"
        else:
            wanted = "undecided"
        expect("verdict: alone", alone, wanted)
        expect("verdict: family decided", got != "undecided", bool(is_rejected))
        if got != "undecided" and got != "same":
            expect("verdict: family direction", got, "better" if e["lower"] < 0.5 else "worse")


def main():
    cases = [case(i) for i in range(210)]
    text = json.dumps(cases)
    run = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True)
    results = json.loads(run.stdout)
    for k, n, low, high in results["shares"]:
        wanted = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        expect("share: low", low, wanted.low)
        expect("share: high", high, wanted.high)
    for case_, found in zip(cases, results["cases"]):
        judge_percentiles(case_, found)
        judge_survival(case_, found)
        judge_comparisons(case_, found)
        judge_means(case_, found)
        judge_family(found)
    for what in sorted(counts):
        wrong = sum(f.startswith(what + ":") for f in failures)
        print(f"{what:<32} {counts[what]:>7} judged, {wrong} wrong")
    for failure in failures[:20]:
        print(failure)
    sys.exit(1 if failures else 0)


main()
