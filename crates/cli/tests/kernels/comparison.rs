//! `lt_dctcp` beside Linux's own `dctcp`, with the same ACKs in one kernel.

use std::collections::BTreeMap;

use serde_json::Value;

/// Largest difference between the k-th estimates of alpha, in 1/1024: g, the largest step of one
/// estimate. The two observation windows differ by a segment, so a mark may be in one of them and
/// in the next of the other.
const ESTIMATE: f64 = 1024.0 / 16.0;

/// Largest difference of ssthresh, segments: the window before the reduction differs by one, and
/// each is rounded to a segment.
const SSTHRESH: f64 = 2.0;

/// Largest difference between the mean windows of the second half of a script, segments: one of
/// ssthresh, and two for the growth that Linux does not have, in the window of data after a cut and
/// on the ACK that ends a recovery.
const CWND: f64 = 3.0;

/// The window of an idle connection restarts by other rules, so only its estimates are compared.
const IDLE: &str = "an idle RTO, none marked";

/// A sender's state after each ACK of a script.
struct Course {
    una: Vec<u64>,
    cwnd: Vec<f64>,
    /// 0 before the first reduction.
    ssthresh: Vec<f64>,
    /// In 1/1024.
    alpha: Vec<f64>,
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|v| v.as_f64().unwrap_or(0.0)).collect()
}

impl Course {
    fn new(line: &Value) -> Self {
        Self {
            una: numbers(&line["una"]).into_iter().map(|n| n as u64).collect(),
            cwnd: numbers(&line["cwnd"]),
            ssthresh: numbers(&line["ssthresh"]),
            alpha: numbers(&line["alpha"]),
        }
    }

    /// The successive values of alpha, one for each observation window.
    fn estimates(&self) -> Vec<f64> {
        let mut all = self.alpha.clone();
        all.dedup();
        all
    }

    /// The last of `values` for each number of acknowledged segments.
    fn by_segment(&self, values: &[f64]) -> BTreeMap<u64, f64> {
        self.una.iter().copied().zip(values.iter().copied()).collect()
    }

    /// Mean window over the second half of the segments.
    fn mean_cwnd(&self) -> f64 {
        let last = self.una.last().copied().unwrap_or(0);
        let late = self.by_segment(&self.cwnd).split_off(&(last / 2));
        late.values().sum::<f64>() / late.len() as f64
    }

    fn ssthresh_changes(&self) -> usize {
        self.ssthresh.windows(2).filter(|pair| (pair[0] - pair[1]).abs() > 0.5).count()
    }
}

/// Largest difference of the values that both have.
fn largest(a: &BTreeMap<u64, f64>, b: &BTreeMap<u64, f64>) -> f64 {
    let both = a.iter().filter_map(|(key, value)| Some((value - b.get(key)?).abs()));
    both.fold(0.0, f64::max)
}

pub(crate) fn lt_dctcp_follows_tcp_dctcp(lines: &[Value]) {
    let pairs: Vec<_> = lines.iter().filter(|l| !l["script"].is_null()).collect();
    assert!(pairs.len() >= 22, "{} courses", pairs.len());
    let mut wrong = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let script = pair[0]["script"].as_str().unwrap();
        assert_eq!(pair[1]["script"], script);
        assert_eq!(
            (&pair[0]["control"], &pair[1]["control"]),
            (&"dctcp".into(), &"lt_dctcp".into())
        );
        let (linux, ours) = (Course::new(pair[0]), Course::new(pair[1]));
        let gaps = linux.estimates().into_iter().zip(ours.estimates()).map(|(a, b)| (a - b).abs());
        let estimate = gaps.fold(0.0, f64::max);
        let alpha = largest(&linux.by_segment(&linux.alpha), &ours.by_segment(&ours.alpha));
        let cwnd = largest(&linux.by_segment(&linux.cwnd), &ours.by_segment(&ours.cwnd));
        let reduced = |course: &Course| {
            let mut values = course.by_segment(&course.ssthresh);
            values.retain(|_, ssthresh| *ssthresh > 0.0);
            values
        };
        let ssthresh = largest(&reduced(&linux), &reduced(&ours));
        let means = (linux.mean_cwnd(), ours.mean_cwnd());
        println!(
            "{script}: alpha {alpha:.0} (by estimate {estimate:.1}), estimates {} and {}; cwnd \
             {cwnd}, means {:.2} and {:.2}; ssthresh {ssthresh}, changed {} and {} \
             times",
            linux.estimates().len(),
            ours.estimates().len(),
            means.0,
            means.1,
            linux.ssthresh_changes(),
            ours.ssthresh_changes(),
        );
        let window_differs =
            script != IDLE && ((means.0 - means.1).abs() > CWND || ssthresh > SSTHRESH);
        if estimate > ESTIMATE || window_differs {
            wrong.push(script);
        }
    }
    assert!(wrong.is_empty(), "beyond the bounds: {wrong:?}");
}

/// Both receiving halves send the same ACKs: the same numbers, with ECE on the same ones.
pub(crate) fn receivers_agree(lines: &[Value]) {
    let received: Vec<_> = lines.iter().filter(|l| !l["received"].is_null()).collect();
    assert_eq!(received.len(), 2);
    let acks = received[0]["acks"].as_array().unwrap();
    let echoed = acks.iter().filter(|ack| ack[1] == true).count();
    println!("receiving: {} ACKs, {echoed} with ECE", acks.len());
    assert!(echoed > 0 && echoed < acks.len());
    assert_eq!(received[0]["acks"], received[1]["acks"]);
}

/// Means of a flow: window, alpha, goodput, and the marked packets of its bottleneck.
struct Flow {
    cwnd: f64,
    alpha: f64,
    mbit_per_s: f64,
}

/// Largest relative difference between the mean windows, and difference between the mean alphas in
/// 1/1024, of bulk flows.
const BULK_CWND: f64 = 0.1;
const BULK_ALPHA: f64 = 64.0;

pub(crate) fn bulk_flows_have_equal_windows(lines: &[Value]) {
    let mean = |values: &Value| {
        let values = numbers(values);
        values.iter().sum::<f64>() / values.len() as f64
    };
    let flow = |line: &Value| {
        let flow = Flow {
            cwnd: mean(&line["cwnd"]),
            alpha: mean(&line["alpha"]),
            mbit_per_s: line["mbit_per_s"].as_f64().unwrap(),
        };
        let (red, control) = (&line["red"], &line["control"]);
        println!(
            "{control}: cwnd {:.2}, alpha {:.0}, {:.2} Mbit/s, {} marks, {} unmarkable drops",
            flow.cwnd, flow.alpha, flow.mbit_per_s, red["marked"], red["early"]
        );
        assert!(red["marked"].as_u64().unwrap() > 0, "the queue marks: {red}");
        // The queue is never full. `red` also drops single packets that cannot carry a mark.
        assert_eq!(red["pdrop"], 0, "{red}");
        flow
    };
    let flows: Vec<_> = lines.iter().filter(|l| !l["red"].is_null()).map(flow).collect();
    // Two of each with classic ECN, and one with AccECN where the kernel has it.
    assert!(matches!(flows.len(), 4 | 6), "{}", flows.len());
    for pair in flows.chunks_exact(2) {
        let (linux, ours) = (&pair[0], &pair[1]);
        assert!((linux.cwnd / ours.cwnd - 1.0).abs() < BULK_CWND);
        assert!((linux.alpha - ours.alpha).abs() < BULK_ALPHA);
        assert!((linux.mbit_per_s / ours.mbit_per_s - 1.0).abs() < BULK_CWND);
    }
}
