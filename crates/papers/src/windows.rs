//! Accuracy with which the congestion signal of a round trip tells the queue length (DX fig. 1 and
//! 2).
//!
//! Contract: everything follows from traced flows and sampled queues. A window is the data
//! outstanding when the previous window was acknowledged (RFC 8257 §3.3). The true value is the
//! mean of the queue samples while the packets of the window arrived at the queue. Both are in per
//! cent of a full queue.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lowtide_record::DataFrame;
use lowtide_units::{Duration, parse_duration};
use serde::Deserialize;

use super::columns::{numbers, texts};
use super::source::RunData;

/// `windows = "correlation"` of a `feedback`. The scenario must trace the flows (`[probes] trace`)
/// and sample its queues often enough.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsMeasure {
    /// Statistic over all windows of all flows.
    pub windows: WindowsStatistic,
    /// The signal that is compared with the queue.
    pub feedback: Feedback,
    /// The queue, such as `switch0->switch1`.
    pub queue: String,
    /// Length of a full queue, in packets.
    pub full: f64,
    /// Serialization time of a packet, which converts a delay to packets.
    pub packet: String,
    /// Start: earlier windows are ignored.
    pub from: String,
    /// The scheme; optional if there is only one.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Values of swept keys.
    #[serde(default)]
    pub at: BTreeMap<String, String>,
}

/// A statistic of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowsStatistic {
    /// Pearson's coefficient of feedback and queue length.
    Correlation,
    /// Root mean square of feedback minus queue length, in per cent of a full queue.
    Rmse,
    /// Share of the windows whose feedback is zero.
    ShareAtZero,
    /// Share of the windows whose feedback is 100 %.
    ShareAtFull,
    /// The most frequent feedback, rounded to a whole number; the least of several.
    Mode,
}

/// Congestion signal of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feedback {
    /// Fraction of its packets that were marked.
    Marked,
    /// DCTCP's moving average of that fraction, at the end of the window.
    Alpha,
    /// The mean queueing delay of its packets.
    Latency,
    /// The number of its packets, not in per cent.
    Packets,
}

/// One window: the observed and the true value, in per cent.
pub(super) type FeedbackSample = (f64, f64);

/// State of a sender after an ACK: time, bytes acknowledged, bytes in flight, alpha.
type SenderAckState = (f64, f64, f64, Option<f64>);

/// A packet at the queue: end of its payload, arrival time, queueing delay, whether it was marked.
#[derive(Clone, Copy, Debug)]
struct QueueTransit {
    end: f64,
    arrived: f64,
    queueing_delay: f64,
    marked: bool,
}

impl WindowsMeasure {
    pub(super) fn check(&self) -> Result<(), String> {
        parse_ps(&self.from, "from")?;
        if parse_ps(&self.packet, "packet")? > 0.0 && self.full > 0.0 {
            Ok(())
        } else {
            Err("`packet` and `full` must be above zero".to_owned())
        }
    }

    pub(super) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        let value = |pairs: Vec<FeedbackSample>| match self.windows {
            WindowsStatistic::Correlation => correlation(&pairs),
            WindowsStatistic::Rmse => rmse(&pairs),
            WindowsStatistic::ShareAtZero => share(&pairs, |observed| observed <= 0.0),
            WindowsStatistic::ShareAtFull => share(&pairs, |observed| observed >= 100.0),
            WindowsStatistic::Mode => mode(&pairs),
        };
        Ok(self.all(of)?.into_iter().map(value).collect())
    }

    /// The observed and the true values of all windows of all flows, for each seed.
    pub(super) fn all(&self, of: RunData<'_>) -> Result<Vec<Vec<FeedbackSample>>, String> {
        let frame =
            |table: &str, names: &[&str]| of.dir.frame(table, names).map_err(|e| e.to_string());
        let senders = frame(
            "trace_senders",
            &["run", "flow", "time_ps", "bytes_acked", "in_flight_bytes", "dctcp_alpha_q20"],
        )?;
        let segments = frame(
            "trace_segments",
            &["run", "flow", "packet", "place", "event", "seq_bytes", "len_bytes"],
        )?;
        let hops = frame(
            "trace_hops",
            &["run", "flow", "packet", "name", "from_sender", "time_ps", "start_ps", "verdict"],
        )?;
        let samples = frame("queue_samples", &["run", "time_ps", "name", "packets"])?;
        let runs = of.run_of_each_seed("`windows`", self.scheme.as_deref(), &self.at)?;
        let of_run = |run: u32| {
            let states = sender_samples(&senders, run)?;
            let passages = queue_transits(&segments, &hops, run, &self.queue)?;
            let mut pairs = Vec::new();
            let lengths = queue_lengths(&samples, run, &self.queue)?;
            for (flow, states) in &states {
                if let Some(passages) = passages.get(flow) {
                    pairs.extend(self.feedback_samples(states, passages, &lengths)?);
                }
            }
            Ok(pairs)
        };
        runs.into_iter().map(|run| of_run(run.key.run)).collect()
    }

    /// The windows of one flow.
    fn feedback_samples(
        &self,
        states: &[SenderAckState],
        passages: &[QueueTransit],
        lengths: &[(f64, f64)],
    ) -> Result<Vec<FeedbackSample>, String> {
        let (from, packet) = (parse_ps(&self.from, "from")?, parse_ps(&self.packet, "packet")?);
        let mut out = Vec::new();
        let mut states = states.iter();
        let Some((mut began, mut start, flight, _)) = states.next().copied() else {
            return Ok(out);
        };
        let mut end = start + flight;
        for (time, acked, flight, alpha) in states {
            if *acked < end {
                continue;
            }
            let own: Vec<&QueueTransit> =
                passages.iter().filter(|p| p.end > start && p.end <= end).collect();
            if let (Some(first), Some(last), true) = (own.first(), own.last(), began >= from) {
                let n = own.len() as f64;
                let observed = match self.feedback {
                    Feedback::Marked => {
                        Some(own.iter().filter(|p| p.marked).count() as f64 / n * 100.0)
                    }
                    Feedback::Alpha => alpha.map(|a| a / f64::from(1 << 20) * 100.0),
                    Feedback::Latency => {
                        let waited = own.iter().map(|p| p.queueing_delay).sum::<f64>() / n;
                        Some(waited / packet / self.full * 100.0)
                    }
                    Feedback::Packets => Some(n),
                };
                let actual = mean_between(lengths, first.arrived, last.arrived);
                out.extend(observed.zip(actual.map(|packets| packets / self.full * 100.0)));
            }
            (began, start, end) = (*time, *acked, acked + flight);
        }
        Ok(out)
    }
}

/// A time in picoseconds; `name` is its key.
fn parse_ps(text: &str, name: &str) -> Result<f64, String> {
    let time = parse_duration(text).map(Duration::as_ps).map_err(|e| format!("`{name}`: {e}"));
    Ok(time? as f64)
}

fn rows_of(frame: &DataFrame, run: u32) -> Result<impl Iterator<Item = usize>, String> {
    let runs = numbers(frame, "run")?;
    Ok((0..frame.rows()).filter(move |&i| runs[i] == Some(f64::from(run))))
}

/// Sender states by flow, in time order.
fn sender_samples(
    frame: &DataFrame,
    run: u32,
) -> Result<BTreeMap<u64, Vec<SenderAckState>>, String> {
    let of = |name| numbers(frame, name);
    let (flow, time) = (of("flow")?, of("time_ps")?);
    let (acked, flight, alpha) =
        (of("bytes_acked")?, of("in_flight_bytes")?, of("dctcp_alpha_q20")?);
    let mut out: BTreeMap<u64, Vec<SenderAckState>> = BTreeMap::new();
    for i in rows_of(frame, run)? {
        if let (Some(flow), Some(time), Some(acked), Some(flight)) =
            (flow[i], time[i], acked[i], flight[i])
        {
            out.entry(flow as u64).or_default().push((time, acked, flight, alpha[i]));
        }
    }
    Ok(out)
}

/// The data packets of each flow at the queue, in time order.
fn queue_transits(
    segments: &DataFrame,
    hops: &DataFrame,
    run: u32,
    queue: &str,
) -> Result<BTreeMap<u64, Vec<QueueTransit>>, String> {
    let of = |name| numbers(segments, name);
    let (packet, seq, len) = (of("packet")?, of("seq_bytes")?, of("len_bytes")?);
    let (place, event) = (texts(segments, "place")?, texts(segments, "event")?);
    let mut ends: BTreeMap<u64, f64> = BTreeMap::new();
    for i in rows_of(segments, run)? {
        let sent = place[i].as_deref() == Some("sender") && event[i].as_deref() == Some("sent");
        if let (true, Some(packet), Some(seq), Some(len)) = (sent, packet[i], seq[i], len[i])
            && len > 0.0
        {
            ends.insert(packet as u64, seq + len);
        }
    }
    let of = |name| numbers(hops, name);
    let (flow, packet, forward) = (of("flow")?, of("packet")?, of("from_sender")?);
    let (came, left) = (of("time_ps")?, of("start_ps")?);
    let (name, verdict) = (texts(hops, "name")?, texts(hops, "verdict")?);
    let mut out: BTreeMap<u64, Vec<QueueTransit>> = BTreeMap::new();
    for i in rows_of(hops, run)? {
        if name[i].as_deref() != Some(queue) || forward[i] != Some(1.0) {
            continue;
        }
        let (Some(flow), Some(packet), Some(came), Some(left)) =
            (flow[i], packet[i], came[i], left[i])
        else {
            continue;
        };
        if let Some(end) = ends.get(&(packet as u64)) {
            let marked = verdict[i].as_deref() == Some("marked");
            let one =
                QueueTransit { end: *end, arrived: came, queueing_delay: left - came, marked };
            out.entry(flow as u64).or_default().push(one);
        }
    }
    Ok(out)
}

/// Samples of the queue: time, packets.
fn queue_lengths(frame: &DataFrame, run: u32, queue: &str) -> Result<Vec<(f64, f64)>, String> {
    let (time, packets) = (numbers(frame, "time_ps")?, numbers(frame, "packets")?);
    let name = texts(frame, "name")?;
    let ours = rows_of(frame, run)?.filter(|&i| name[i].as_deref() == Some(queue));
    Ok(ours.filter_map(|i| time[i].zip(packets[i])).collect())
}

fn mean_between(lengths: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let low = lengths.partition_point(|(time, _)| *time < from);
    let high = lengths.partition_point(|(time, _)| *time <= to);
    let within = lengths.get(low..high).filter(|w| !w.is_empty())?;
    Some(within.iter().map(|(_, packets)| packets).sum::<f64>() / within.len() as f64)
}

fn correlation(pairs: &[FeedbackSample]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |of: fn(&FeedbackSample) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        xy += (a - x) * (b - y);
        xx += (a - x) * (a - x);
        yy += (b - y) * (b - y);
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

fn rmse(pairs: &[FeedbackSample]) -> Option<f64> {
    let squares: f64 = pairs.iter().map(|(a, b)| (a - b) * (a - b)).sum();
    (!pairs.is_empty()).then(|| (squares / pairs.len() as f64).sqrt())
}

/// Share of the windows whose observed value is one of those.
fn share(pairs: &[FeedbackSample], is: impl Fn(f64) -> bool) -> Option<f64> {
    let found = pairs.iter().filter(|(observed, _)| is(*observed)).count();
    (!pairs.is_empty()).then(|| found as f64 / pairs.len() as f64)
}

/// The most frequent observed value, rounded.
fn mode(pairs: &[FeedbackSample]) -> Option<f64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (observed, _) in pairs {
        *counts.entry(observed.round() as u64).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(value, count)| (*count, Reverse(*value)))?;
    Some(most.0 as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(feedback: Feedback) -> WindowsMeasure {
        WindowsMeasure {
            windows: WindowsStatistic::Rmse,
            feedback,
            queue: "q".into(),
            full: 10.0,
            packet: "1 us".into(),
            from: "0 s".into(),
            scheme: None,
            at: BTreeMap::new(),
        }
    }

    #[test]
    fn a_window_is_the_outstanding_data() {
        // Two packets, then two more; each ACK is of one packet of 100 B.
        let alpha = |a: f64| Some(a * f64::from(1 << 20));
        let states = [
            (0.0, 0.0, 200.0, alpha(0.5)),
            (5e6, 100.0, 200.0, alpha(0.5)),
            (6e6, 200.0, 200.0, alpha(0.75)),
            (9e6, 300.0, 200.0, alpha(0.75)),
            (11e6, 400.0, 200.0, alpha(0.25)),
        ];
        let one = |end, came: f64, waited, marked| QueueTransit {
            end,
            arrived: came,
            queueing_delay: waited,
            marked,
        };
        let passages = [
            one(100.0, 1e6, 2e6, false),
            one(200.0, 3e6, 4e6, true),
            one(300.0, 6e6, 1e6, true),
            one(400.0, 8e6, 1e6, true),
        ];
        let lengths = [(0.0, 9.0), (1e6, 2.0), (2e6, 4.0), (3e6, 6.0), (7e6, 1.0)];
        let pairs = |feedback| of(feedback).feedback_samples(&states, &passages, &lengths).unwrap();
        assert_eq!(pairs(Feedback::Marked), [(50.0, 40.0), (100.0, 10.0)]);
        assert_eq!(pairs(Feedback::Alpha), [(75.0, 40.0), (25.0, 10.0)]);
        assert_eq!(pairs(Feedback::Packets), [(2.0, 40.0), (2.0, 10.0)]);
        assert_eq!(pairs(Feedback::Latency), [(30.0, 40.0), (10.0, 10.0)]);
    }

    #[test]
    fn pairs_that_lie_on_a_line_correlate() {
        let on = [(1.0, 10.0), (2.0, 20.0), (4.0, 40.0)];
        assert!((correlation(&on).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), None, "nothing varies");
        assert_eq!(rmse(&[(3.0, 0.0), (0.0, 4.0)]), Some(12.5_f64.sqrt()));
        assert_eq!(rmse(&[]), None);
    }

    #[test]
    fn windows_at_the_ends_are_counted_and_the_most_frequent_size_is_found() {
        let of = [(0.0, 1.0), (100.0, 1.0), (40.0, 1.0), (0.0, 2.0)];
        assert_eq!(share(&of, |observed| observed <= 0.0), Some(0.5));
        assert_eq!(share(&of, |observed| observed >= 100.0), Some(0.25));
        assert_eq!(share(&[], |_| true), None);
        assert_eq!(mode(&[(5.0, 0.0), (6.0, 0.0), (5.0, 1.0), (4.0, 1.0), (4.0, 2.0)]), Some(4.0));
        assert_eq!(mode(&[]), None);
    }

    #[test]
    fn times_and_sizes_are_checked() {
        assert_eq!(of(Feedback::Marked).check(), Ok(()));
        let wrong = WindowsMeasure { packet: "1500 B".into(), ..of(Feedback::Marked) };
        assert!(wrong.check().unwrap_err().contains("`packet`"));
        assert!(WindowsMeasure { full: 0.0, ..of(Feedback::Marked) }.check().is_err());
    }
}
