//! The comparison as text.

use std::fmt::Write as _;

use super::report::{DirectionPair, PairReport};
use crate::format::{bytes, count, grouped, time};

impl PairReport {
    /// Returns the report as lines; of many directions the first `limit`.
    pub fn text(&self, limit: usize) -> String {
        let mut out = String::new();
        let clock = &self.clock;
        let offset = self.starts_differ_ns as f64 + clock.offset_ns;
        let _ = writeln!(
            out,
            "clocks: {} is {:.6} s {} {} (within {}, half of the least round trip between the points), \
             drift {:.1} ppm",
            self.files[1],
            offset.abs() / 1e9,
            if offset < 0.0 { "behind" } else { "ahead of" },
            self.files[0],
            time(clock.offset_bound_ns.round() as u64),
            clock.drift_ppm
        );
        for (file, (only, dropped)) in self.files.iter().zip(self.only_in.iter().zip(&self.dropped))
        {
            if *only > 0 {
                let what = count(*only as u64, "direction");
                let _ = writeln!(out, "{file}: {what} of connections that the other one lacks");
            }
            if let Some(dropped) = dropped.filter(|n| *n > 0) {
                let what = count(dropped, "packet");
                let _ =
                    writeln!(out, "{file}: the capture lost {what}, which may count as lost here");
            }
        }
        for (file, why) in self.files.iter().zip(&self.broken) {
            if let Some(why) = why {
                let _ = writeln!(out, "{file} was not read to its end: {why}");
            }
        }
        for direction in self.directions.iter().take(limit) {
            direction.write(&mut out, &self.files);
        }
        if self.directions.len() > limit {
            let more = grouped((self.directions.len() - limit) as u64);
            let _ = writeln!(out, "\n{more} more directions; --all prints them");
        }
        out
    }
}

impl DirectionPair {
    fn write(&self, out: &mut String, files: &[String; 2]) {
        let [a, b] = if self.first_point == 1 { [0, 1] } else { [1, 0] }.map(|i| &files[i]);
        let _ = writeln!(out, "\n{} -> {}, from {a} to {b}", self.from, self.to);
        let mut line = |name: &str, text: String| {
            let _ = writeln!(out, "  {name:<10} {text}");
        };
        let alike = match self.alike {
            0 => String::new(),
            n => format!("; which of {n} equal copies is not known"),
        };
        line(
            "segments",
            format!(
                "{} at both points, {} lost between them ({}){alike}",
                grouped(self.segments),
                grouped(self.lost),
                bytes(self.lost_bytes)
            ),
        );
        if self.outside > 0 {
            let text = format!(
                "{} passed {a} before or after all packets of {b}: lost, or not captured there",
                grouped(self.outside)
            );
            line("", text);
        }
        if self.not_at_first > 0 {
            let text = format!("{} only at {b}: {a} did not capture them", self.not_at_first);
            line("", text);
        }
        if self.resent_after_second_bytes > 0 {
            let text = format!(
                "{} sent again although the first copy had passed {b}: lost after it, or not lost",
                bytes(self.resent_after_second_bytes)
            );
            line("resent", text);
        }
        if let (Some(delay), Some(queue)) = (self.delay_ns, self.queue_ns) {
            let or_max = |value: Option<u64>, max| time(value.unwrap_or(max));
            let merged = match self.of_offload {
                0 => String::new(),
                n => format!("; {} were merged by offload", count(n, "segment")),
            };
            line(
                "delay",
                format!(
                    "least {} (half of the round trip), above it p50 {}, p99 {}, most {}{merged}",
                    time(delay.min),
                    or_max(queue.p50, queue.max),
                    or_max(queue.p99, queue.max),
                    time(queue.max)
                ),
            );
        }
        let marks = [
            (self.ce_before, "with CE before"),
            (self.ce_between, "marked CE between"),
            (self.ce_cleared, "CE cleared between"),
            (self.bleached, "ECN field cleared between"),
        ];
        let marks: Vec<String> = marks
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{} {what}", grouped(*n)))
            .collect();
        line(
            "ECN",
            if marks.is_empty() { "unchanged, no CE".to_owned() } else { marks.join(", ") },
        );
        if self.reordered > 0 {
            line(
                "order",
                format!("{} overtaken between the points", count(self.reordered, "segment")),
            );
        }
        if let Some(routers) = self.routers.filter(|n| *n > 0) {
            line("routers", format!("{routers} between the points, by TTL"));
        }
        if !self.syn_changes.is_empty() {
            line("SYN", format!("changed between the points: {}", self.syn_changes.join(", ")));
        }
    }
}
