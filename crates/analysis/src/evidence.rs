//! Frames of the capture that show an event, for a finding's list and display filter.

/// Frames kept of each kind of event; they are the first ones.
const MAX_FRAMES: usize = 16;

/// Kinds of events that findings name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Retransmission,
    Timeout,
    Probe,
    EarlyTimer,
    Reordered,
    LateAck,
    ZeroWindow,
    Sack,
    Ce,
    Ece,
    Cwr,
    Ect,
    Copy,
    Large,
    Missing,
}

/// Events with their frames, in one list: most directions have none.
#[derive(Clone, Debug, Default)]
pub(super) struct EventFrames(Vec<(Event, u64)>);

impl EventFrames {
    pub(super) fn note(&mut self, event: Event, frame: u64) {
        let known = self.0.iter().filter(|(e, _)| *e == event).count();
        if known < MAX_FRAMES && !self.0.contains(&(event, frame)) {
            self.0.push((event, frame));
        }
    }

    pub(super) fn of(&self, event: Event) -> Vec<u64> {
        self.0.iter().filter(|(e, _)| *e == event).map(|(_, frame)| *frame).collect()
    }
}

/// Returns a Wireshark display filter for `frames`, or for a connection between times of the
/// capture in nanoseconds if there are none.
pub(super) fn filter(ends: [&str; 2], frames: &[u64], (from, to): (u64, u64)) -> String {
    if !frames.is_empty() {
        let list: Vec<String> = frames.iter().map(u64::to_string).collect();
        return format!("frame.number in {{{}}}", list.join(", "));
    }
    let end = |text: &str| {
        let (host, port) = text.rsplit_once(':').unwrap_or((text, "0"));
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let ip = if host.contains(':') { "ipv6" } else { "ip" };
        format!("{ip}.addr == {host} && tcp.port == {port}")
    };
    // A microsecond on both sides, because the filter's stamps are rounded.
    let seconds = |ns: u64| format!("{:.6}", ns as f64 / 1e9);
    format!(
        "{} && {} && frame.time_relative >= {} && frame.time_relative <= {}",
        end(ends[0]),
        end(ends[1]),
        seconds(from.saturating_sub(1_000)),
        seconds(to.saturating_add(1_000))
    )
}
