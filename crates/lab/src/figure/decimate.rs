//! Long series made short without losing their shape: per column of the
//! picture the smallest and the largest sample stay, in the order of time, so
//! a sawtooth keeps every peak and every valley that the eye could see.

/// A sample: (x, y).
pub(super) type Sample = (f64, f64);

/// Cuts a series where a sample is not finite. A piece holds two samples at
/// least, for one alone draws no line.
pub(super) fn pieces(samples: &[Sample]) -> Vec<Vec<Sample>> {
    samples
        .split(|(x, y)| !x.is_finite() || !y.is_finite())
        .filter(|piece| piece.len() >= 2)
        .map(<[Sample]>::to_vec)
        .collect()
}

/// Keeps the first and the last sample, and of each of `columns` equal slices
/// of `from..to` the smallest and the largest; returns the series as it is
/// when that would not make it shorter. Samples in the order of x.
pub(super) fn min_max(samples: &[Sample], from: f64, to: f64, columns: usize) -> Vec<Sample> {
    let columns = columns.max(1);
    if samples.len() <= 2 * columns + 2 || to <= from {
        return samples.to_vec();
    }
    let column = |x: f64| {
        let share = (x - from) / (to - from);
        ((share * columns as f64) as usize).min(columns - 1)
    };
    let last = samples.len() - 1;
    let mut kept = Vec::with_capacity(2 * columns + 2);
    kept.push(0);
    let mut start = 0;
    while start <= last {
        let own = column(samples[start].0);
        let mut end = start;
        let (mut low, mut high) = (start, start);
        while end <= last && column(samples[end].0) == own {
            if samples[end].1 < samples[low].1 {
                low = end;
            }
            if samples[end].1 > samples[high].1 {
                high = end;
            }
            end += 1;
        }
        kept.push(low.min(high));
        kept.push(low.max(high));
        start = end;
    }
    kept.push(last);
    kept.dedup();
    kept.into_iter().map(|index| samples[index]).collect()
}

/// The parts of a line that lie at or below `top`, cut where the line crosses
/// it.
pub(super) fn clip_above(line: &[Sample], top: f64) -> Vec<Vec<Sample>> {
    let mut parts = Vec::new();
    let mut part: Vec<Sample> = Vec::new();
    for (index, &sample) in line.iter().enumerate() {
        let inside = sample.1 <= top;
        if let Some(&before) = index.checked_sub(1).and_then(|i| line.get(i))
            && (before.1 <= top) != inside
        {
            let share = (top - before.1) / (sample.1 - before.1);
            part.push((before.0 + share * (sample.0 - before.0), top));
            if !inside {
                parts.push(std::mem::take(&mut part));
            }
        }
        if inside {
            part.push(sample);
        }
    }
    parts.push(part);
    parts.retain(|part| part.len() >= 2);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_keeps_its_extremes() {
        let samples: Vec<Sample> =
            (0..100_000).map(|i| (f64::from(i) * 1e-5, f64::from((i * 7919) % 3001))).collect();
        let short = min_max(&samples, 0.0, 1.0, 50);
        assert!(short.len() <= 102, "{}", short.len());
        assert_eq!(short.first(), samples.first());
        assert_eq!(short.last(), samples.last());
        assert!(short.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for column in 0..50 {
            let (from, to) = (f64::from(column) / 50.0, f64::from(column + 1) / 50.0);
            let within = |s: &&Sample| s.0 > from + 1e-9 && s.0 < to - 1e-9;
            let highest =
                |list: &[Sample]| list.iter().filter(within).map(|s| s.1).fold(f64::MIN, f64::max);
            let lowest =
                |list: &[Sample]| list.iter().filter(within).map(|s| s.1).fold(f64::MAX, f64::min);
            assert_eq!(highest(&short).to_bits(), highest(&samples).to_bits());
            assert_eq!(lowest(&short).to_bits(), lowest(&samples).to_bits());
        }
    }

    #[test]
    fn a_short_series_stays_as_it_is() {
        let samples = [(0.0, 1.0), (0.5, 9.0), (1.0, 2.0)];
        assert_eq!(min_max(&samples, 0.0, 1.0, 700), samples);
    }

    #[test]
    fn a_sample_that_is_not_finite_cuts_the_line() {
        let cut =
            pieces(&[(0.0, f64::INFINITY), (1.0, 5.0), (2.0, 6.0), (3.0, f64::NAN), (4.0, 1.0)]);
        assert_eq!(cut, vec![vec![(1.0, 5.0), (2.0, 6.0)]]);
    }

    #[test]
    fn clipping_cuts_at_the_crossing() {
        let parts = clip_above(&[(0.0, 0.0), (1.0, 20.0), (2.0, 0.0)], 10.0);
        assert_eq!(parts, vec![vec![(0.0, 0.0), (0.5, 10.0)], vec![(1.5, 10.0), (2.0, 0.0)]]);
        assert_eq!(clip_above(&[(0.0, 11.0), (1.0, 12.0)], 10.0), Vec::<Vec<Sample>>::new());
    }
}
