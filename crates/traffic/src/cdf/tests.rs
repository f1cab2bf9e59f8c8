use lowtide_sim::Seed;

use super::*;

impl Cdf {
    /// Returns twice the integral of the value over all draws below `limit`, in units of
    /// 1/[`PROBABILITY_ONE`]: at most 2^125.
    fn integral(&self, limit: u64) -> u128 {
        self.pieces()
            .filter(|(from, _)| from.value <= limit)
            .map(|(from, to)| {
                let whole_piece = to.value <= limit;
                let upto = if whole_piece { to.cumulative } else { interpolate(from, to, limit) };
                let end = if whole_piece { to.value } else { limit };
                u128::from(upto - from.cumulative) * (u128::from(from.value) + u128::from(end))
            })
            .sum()
    }

    /// Returns the fraction of draws at or below `value`, in units of 1/[`PROBABILITY_ONE`].
    fn probability_at_most(&self, value: u64) -> u64 {
        let reached = self.pieces().filter(|(from, _)| from.value <= value);
        reached.map(|(from, to)| interpolate(from, to, value)).max().unwrap_or(0)
    }

    /// Returns the fraction of the sum of all draws (of all bytes) from draws at or below `value`,
    /// in units of 1/[`PROBABILITY_ONE`].
    fn mass_at_most(&self, value: u64) -> u64 {
        let all = self.integral(u64::MAX);
        // A product of 2^125 and `PROBABILITY_ONE` overflows: drop low bits first.
        let shift = 64_u32.saturating_sub(all.leading_zeros());
        let part = (self.integral(value) >> shift) * u128::from(PROBABILITY_ONE);
        u64::try_from(part.checked_div(all >> shift).unwrap_or(0)).unwrap_or(PROBABILITY_ONE)
    }
}

/// Interpolates the cumulative probability of `value` between two points.
fn interpolate(from: Point, to: Point, value: u64) -> u64 {
    if value >= to.value {
        return to.cumulative;
    }
    let into =
        u128::from(value.saturating_sub(from.value)) * u128::from(to.cumulative - from.cumulative);
    from.cumulative + (into / u128::from(to.value - from.value)) as u64
}

fn named(name: &str) -> Cdf {
    Cdf::named(name).unwrap()
}

/// Rounds to thousandths.
fn thousandths(share: u64) -> u64 {
    (share + PROBABILITY_ONE / 2_000) / (PROBABILITY_ONE / 1_000)
}

fn parse(text: &str) -> Result<Cdf, String> {
    Cdf::parse("c.txt", DistributionOf::Size, text).map_err(|e| e.to_string())
}

const MS: u64 = 1_000_000_000;
const PERCENT: u64 = PROBABILITY_ONE / 100;

#[test]
fn web_search_matches_the_moments_of_dx_and_of_the_common_file() {
    let dx = named("web-search-654kb");
    assert_eq!(dx.mean(), 654_000);
    // "more than 95% of total bytes come from the flow smaller than 20 MB".
    assert_eq!(thousandths(dx.mass_at_most(20_000_000)), 952);
    let common = named("web-search-1.6mb");
    assert_eq!(common.mean(), 1_711_250);
    assert_eq!(common.mean() * 100 / (1 << 20), 163);
    assert_eq!(thousandths(PROBABILITY_ONE - common.mass_at_most(1_000_000)), 950);
    assert_eq!(common.quantile(PROBABILITY_ONE / 2), 73_077);
    assert_eq!((common.quantile(0), common.quantile(PROBABILITY_ONE)), (0, 30_000_000));
}

#[test]
fn data_mining_has_the_moments_of_dx() {
    let cdf = named("data-mining");
    assert_eq!(cdf.mean(), 7_452_000);
    assert_eq!(cdf.probability_at_most(10_000), 80 * PERCENT);
    assert_eq!(thousandths(PROBABILITY_ONE - cdf.mass_at_most(30_000_000)), 960);
    let all = cdf.quantile(PROBABILITY_ONE);
    assert!((100..=1_000_000_000).contains(&cdf.quantile(0)) && all <= 1_000_000_000, "{all}");
}

#[test]
fn background_matches_the_text_of_dctcp() {
    let sizes = named("dctcp-background-sizes");
    // Most flows are small and most bytes are in updates of 1 MB to 50 MB. §4.3: updates ten times
    // as large make the total about ten times as large.
    assert!(sizes.probability_at_most(100_000) > PROBABILITY_ONE / 2);
    assert_eq!(sizes.quantile(PROBABILITY_ONE), 50_000_000);
    assert_eq!(thousandths(PROBABILITY_ONE - sizes.mass_at_most(1_000_000)), 951);
    let short = sizes.probability_at_most(1_000_000) - sizes.probability_at_most(50_000);
    assert_eq!(thousandths(short), 300);
    let gaps = named("dctcp-background-gaps");
    // "the 0ms inter-arrivals that explain the CDF hugging the y-axis up to the 50th percentile".
    assert_eq!(gaps.probability_at_most(0), PROBABILITY_ONE / 2);
    // §4.3: 200,000 flows and 188,000 queries of 45 servers in 600 s.
    assert_eq!(gaps.mean(), 45 * 600_000 * MS / 200_000);
    let queries = 45 * 600_000 * MS / named("dctcp-query-gaps").mean();
    assert!((188_000..=188_050).contains(&queries), "{queries}");
    // "the variance in interarrival time is very high, with a very heavy tail".
    let mean = gaps.mean() as i64 / 1_000_000;
    let mut rng = Seed(5).rng();
    let square = |_| (gaps.draw(&mut rng) as i64 / 1_000_000 - mean).pow(2);
    let variance = (0..100_000).map(square).sum::<i64>() / 100_000;
    assert!(variance > 9 * mean * mean, "{variance} against {}", mean * mean);
}

#[test]
fn draws_have_the_mean_and_the_quantiles_of_their_distribution() {
    let cdf = named("web-search-1.6mb");
    let mut rng = Seed(1).rng();
    let mut draws: Vec<u64> = (0..200_000).map(|_| cdf.draw(&mut rng)).collect();
    let mean = draws.iter().sum::<u64>() / 200_000;
    // The standard deviation of the mean is 2.32 means over the root of 200000, 0.52 %.
    assert!(mean.abs_diff(cdf.mean()) * 1_000 < cdf.mean() * 20, "{mean}");
    assert!(draws.iter().all(|d| (1..=30_000_000).contains(d)));
    draws.sort_unstable();
    for percent in [10, 25, 50, 75, 90, 99] {
        let drawn = thousandths(cdf.probability_at_most(draws[percent * 2_000]));
        // Five standard deviations: at most half a percent.
        assert!(drawn.abs_diff(percent as u64 * 10) <= 6, "{percent}: {drawn}");
    }
}

#[test]
fn draws_are_the_same_everywhere() {
    let mut rng = Seed(42).rng();
    let draws = [(); 4].map(|()| named("web-search-1.6mb").draw(&mut rng));
    // Computed by a second implementation in another language, with fractions.
    assert_eq!(draws, [2_429_154, 33_764, 19_262_779, 1_011_356]);
}

#[test]
fn steps_and_weight_on_the_first_value_are_kept() {
    let cdf = parse("10 0.25\n10 0.5\n20 0.5\n20 1\n").unwrap();
    assert_eq!(cdf.mean(), 15);
    assert_eq!(
        (cdf.probability_at_most(9), cdf.probability_at_most(10), cdf.probability_at_most(19)),
        (0, PROBABILITY_ONE / 2, PROBABILITY_ONE / 2)
    );
    assert_eq!(cdf.mass_at_most(10), PROBABILITY_ONE / 3);
    let mut rng = Seed(3).rng();
    let low = (0..10_000).filter(|_| cdf.draw(&mut rng) == 10).count();
    assert!((4_750..=5_250).contains(&low), "{low}");
    assert!((0..1_000).all(|_| [10, 20].contains(&cdf.draw(&mut rng))));
    let fixed = Cdf::fixed(Bytes::new(7));
    assert!(fixed.is_fixed() && !cdf.is_fixed());
    assert_eq!((fixed.mean(), fixed.draw(&mut rng), fixed.name()), (7, 7, "7 B"));
}

#[test]
fn fractions_percent_three_columns_and_units_mean_the_same() {
    let want = parse("0 0\n10000 0.15\n200000 1\n").unwrap();
    for text in [
        "0 0\n10000 15\n200000 100\n",
        "# a comment\n\n0\t0\r\n10000, 15.0\r\n2e5 1e2\r\n",
        "0 1 0\n10000 1 0.15\n200000 1 1\n",
        "# unit: 1 kB\n0 0\n10 .15\n200 1.0\n",
    ] {
        assert_eq!(parse(text).unwrap(), want, "{text:?}");
    }
    let time = |text| Cdf::parse("t", DistributionOf::Time, text).unwrap().mean();
    assert_eq!(time("0 0\n0.002 1\n"), MS);
    assert_eq!(time("# unit: 1 ms\n0 0\n2 1\n"), MS);
}

#[test]
fn stretching_keeps_the_shape() {
    let cdf = named("dctcp-background-gaps");
    let longer = cdf.scaled_to_mean(Duration::from_ps(10 * cdf.mean()));
    assert_eq!(longer.mean(), 10 * cdf.mean());
    assert_eq!(longer.quantile(PROBABILITY_ONE), 10 * cdf.quantile(PROBABILITY_ONE));
    assert_eq!(longer.probability_at_most(0), PROBABILITY_ONE / 2);
    assert_eq!(Cdf::fixed_time(Duration::ZERO).scaled_to_mean(Duration::from_ms(1)).mean(), 0);
}

#[test]
fn errors_have_line_and_column() {
    for (text, want) in [
        ("", "c.txt:1: a distribution without a row"),
        ("# only words\n", "c.txt:1: a distribution without a row"),
        ("0 0\n5\n", "c.txt:2: only one column; write `value probability`"),
        ("0 0\n5 1 2 3\n", "c.txt:2:7: a fourth column"),
        ("0 0\n5 x\n", "c.txt:2:3: `x` is not a number, or too large"),
        ("0 0\n5 nan\n", "c.txt:2:3: `nan` is not a number"),
        ("0 0\n-5 1\n", "c.txt:2:1: `-5` is negative"),
        ("0 0\n5 -0.5\n9 1\n", "c.txt:2:3: `-0.5` is negative"),
        ("0 0\n9 0.5\n5 1\n", "c.txt:3: this value is less than that of line 2; sort"),
        ("0 0\n5 0.5\n9 0.4\n", "c.txt:3:3: the probability falls from `0.5` to `0.4`; give"),
        (
            "0 0\n5 0.5\n9 0.9\n",
            "c.txt:3:3: the last probability is `0.9`; it must reach 1, or 100",
        ),
        ("0 0\n5 101\n", "c.txt:2:3: the last probability is `101`"),
        ("0 x 0\n5 1 1\n", "c.txt:1:3: `x` is not a number"),
        (
            "# unit: 1 ms\n0 0\n",
            "c.txt:1:9: `1 ms` is not a unit of this distribution; write `# unit: 1460 B`",
        ),
        ("0 0\n# unit: 1 B\n5 1\n", "c.txt:2: the unit comes after the first row"),
        ("99999999999999999999 1\n", "c.txt:1:1: `99999999999999999999` is not a number, or too"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(want), "{text:?}\n  gives {error}\n  not   {want}");
    }
}

#[test]
fn the_largest_values_do_not_overflow() {
    let cdf = parse(&format!("0 0\n{} 1\n", u64::MAX)).unwrap();
    assert_eq!(cdf.mean(), 1 << 63);
    assert_eq!(thousandths(cdf.mass_at_most(1 << 63)), 250);
    assert_eq!(cdf.quantile(PROBABILITY_ONE), u64::MAX);
}

#[test]
fn a_text_is_a_name_or_a_value_or_else_a_path() {
    let written = |text, measure| Cdf::from_text(text, measure).map(|cdf| cdf.mean());
    assert_eq!(written("data-mining", DistributionOf::Size), Some(7_452_000));
    assert_eq!(written("data-mining", DistributionOf::Time), None);
    assert_eq!(written("20 kB", DistributionOf::Size), Some(20_000));
    assert_eq!(written("2 ms", DistributionOf::Time), Some(2 * MS));
    assert_eq!(written("0 B", DistributionOf::Size), None);
    assert_eq!(written("cdfs/mine.txt", DistributionOf::Size), None);
}
