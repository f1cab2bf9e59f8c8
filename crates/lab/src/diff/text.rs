//! A first difference, as text.

use std::fmt::Write as _;

use super::{EntityAction, FirstDivergence, RunDivergence};

/// Maximum number of other entities that are listed.
const MAX_OTHERS: usize = 6;

impl RunDivergence {
    /// Several lines: time, entity, and the action of each run.
    pub fn text(&self) -> String {
        let runs = if self.a.to_string() == self.b.to_string() {
            self.a.to_string()
        } else {
            format!("{} and {}", self.a, self.b)
        };
        match &self.first {
            None => format!("{runs}: no difference\n"),
            Some(first) => format!("{runs}: {}", first.text()),
        }
    }
}

impl FirstDivergence {
    fn text(&self) -> String {
        if self.kind == "network" {
            return format!("the networks differ: {}\n", self.entity);
        }
        let mut text =
            format!("first difference at {}, {} {}\n", time(self.at_ps), self.kind, self.entity);
        for (name, seen) in [("A", &self.a), ("B", &self.b)] {
            let _ = writeln!(text, "  {name} {}", action_text(seen.as_ref(), self.at_ps));
        }
        if !self.others.is_empty() {
            let listed = &self.others[..self.others.len().min(MAX_OTHERS)];
            let more = match self.others.len() - listed.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let _ = writeln!(text, "  also at this instant: {}{more}", listed.join(", "));
        }
        text
    }
}

fn action_text(seen: Option<&EntityAction>, at_ps: u64) -> String {
    let Some(seen) = seen else {
        return "has no further action there".to_owned();
    };
    let mut text = seen.what.to_owned();
    if let Some(packet) = &seen.packet {
        let _ = write!(text, " {packet}");
    }
    if let Some(queue) = seen.queue_packets {
        let _ = write!(text, ", which found {queue} packets");
    }
    match seen.at_ps {
        at if at > at_ps => format!("has no action there yet; at {} it {text}", time(at)),
        at if at < at_ps => format!("{text}; it arrived at {}", time(at)),
        _ => text,
    }
}

/// An exact time, in the largest unit that it exceeds: `1.234567 ms`.
fn time(ps: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
        (1, "ps"),
    ];
    let found = UNITS.iter().find(|(unit, _)| ps >= *unit);
    let Some((unit, name)) = found else { return "0 s".to_owned() };
    let digits = unit.ilog10() as usize;
    let fraction = format!("{:0digits$}", ps % unit);
    let fraction = if digits == 0 { "" } else { fraction.trim_end_matches('0') };
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{}{dot}{fraction} {name}", ps / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time(0), "0 s");
        assert_eq!(time(7), "7 ps");
        assert_eq!(time(1_234_567_000), "1.234567 ms");
        assert_eq!(time(1_000_000_000_001), "1.000000000001 s");
        assert_eq!(time(20_000_000), "20 us");
    }

    #[test]
    fn later_and_earlier_actions_have_their_time() {
        let seen = |at_ps| EntityAction {
            at_ps,
            what: "marks",
            packet: Some("p".to_owned()),
            queue_packets: Some(3),
        };
        assert_eq!(action_text(Some(&seen(5)), 5), "marks p, which found 3 packets");
        assert_eq!(
            action_text(Some(&seen(7_000)), 5),
            "has no action there yet; at 7 ns it marks p, which found 3 packets"
        );
        assert_eq!(
            action_text(Some(&seen(4)), 5),
            "marks p, which found 3 packets; it arrived at 4 ps"
        );
    }
}
