"""Coverage of the intervals of tails (docs/reference/measures.md), by simulation.

Each trial draws seeds with a common log-normal factor per seed (deviation `sigma`) and log-normal
times within it. It counts how often the 95 % interval holds the true percentile. The columns are:
sections (linear, not on logarithms), Student's t around the mean of the seeds' own percentiles, the
percentile bootstrap, and the expanded one. Run: python3 docs/evidence/tail-coverage.py
"""
import math
import random
import statistics

NORMAL = statistics.NormalDist()
T95 = {3: 4.303, 5: 2.776, 8: 2.365, 10: 2.262, 20: 2.093}
TRIALS, RESAMPLES = 250, 400
CASES = [(0.95, 3, 20), (0.95, 5, 20), (0.95, 8, 20), (0.95, 10, 20), (0.95, 20, 20),
         (0.95, 3, 200), (0.95, 10, 200), (0.95, 10, 2), (0.95, 10, 10),
         (0.99, 10, 10), (0.99, 10, 30), (0.99, 10, 50), (0.99, 20, 10), (0.99, 20, 25)]


def percentile(values, q):
    return values[math.ceil(len(values) * q) - 1]


def trial(seeds, flows, q, sigma):
    runs = []
    for _ in range(seeds):
        factor = math.exp(sigma * random.gauss(0, 1))
        runs.append(sorted(factor * math.exp(random.gauss(0, 1)) for _ in range(flows)))
    truth = math.exp(NORMAL.inv_cdf(q) * math.sqrt(1 + sigma * sigma))
    whole = percentile(sorted(sum(runs, [])), q)
    held = {}
    if flows * (1 - q) >= 1 - 1e-9:
        own = [percentile(run, q) for run in runs]
        mean = sum(own) / seeds
        for name, middle in (("sections", whole), ("mean", mean)):
            squares = sum((x - middle) ** 2 for x in own)
            half = T95[seeds] * math.sqrt(squares / (seeds * (seeds - 1)))
            held[name] = abs(truth - middle) <= half
    drawn = sorted(percentile(sorted(sum((random.choice(runs) for _ in range(seeds)), [])), q)
                   for _ in range(RESAMPLES))
    expanded = NORMAL.cdf(-math.sqrt(seeds / (seeds - 1)) * T95[seeds])
    for name, level in (("bootstrap", 0.025), ("expanded", expanded)):
        outside = int(level * RESAMPLES)
        held[name] = drawn[outside] <= truth <= drawn[-1 - outside]
    return held


def main():
    random.seed(7)
    for q, seeds, flows in CASES:
        for sigma in (0.1, 0.5):
            counts = {}
            for _ in range(TRIALS):
                for name, holds in trial(seeds, flows, q, sigma).items():
                    counts[name] = counts.get(name, 0) + holds
            shares = {name: round(n / TRIALS, 2) for name, n in counts.items()}
            print(f"p{q * 100:.0f}, {seeds} seeds, {flows} flows a seed, sigma {sigma}: {shares}")


if __name__ == "__main__":
    main()
