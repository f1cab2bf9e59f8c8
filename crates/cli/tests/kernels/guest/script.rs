//! The scripts: which segments are marked or lost, by their place in the stream. So both controls
//! see the same marks whatever their windows are.

use std::ops::Range;

/// One script of the peer.
pub(super) struct Script {
    pub(super) name: &'static str,
    /// Segments to acknowledge.
    pub(super) segments: u32,
    /// Whether the segment arrives with CE; the ACK of its first transmission then has ECE.
    pub(super) marked: fn(u32) -> bool,
    /// Segments whose first transmission is lost.
    pub(super) lost: Range<u32>,
    pub(super) pause: Pause,
}

/// An interruption at a segment.
#[derive(Clone, Copy)]
pub(super) enum Pause {
    None,
    /// Everything in flight is lost when the segments before this one are acknowledged.
    Blackout(u32),
    /// The application sends nothing for more than an RTO, after the segments before this one.
    Idle(u32),
}

/// A tenth of all segments, in no order (a multiplicative hash).
fn random_tenth(segment: u32) -> bool {
    segment.wrapping_mul(2_654_435_761) >> 16 < 6_554
}

fn fiftieth(segment: u32) -> bool {
    segment % 50 == 10
}

const fn steady(name: &'static str, segments: u32, marked: fn(u32) -> bool) -> Script {
    Script { name, segments, marked, lost: 0..0, pause: Pause::None }
}

pub(super) const SCRIPTS: [Script; 11] = [
    steady("none marked", 150, |_| false),
    steady("all marked", 100, |_| true),
    steady("every 2nd marked", 200, |n| n % 2 == 0),
    steady("every 5th marked", 300, |n| n % 5 == 0),
    steady("every 50th marked", 400, fiftieth),
    steady("a random tenth marked", 300, random_tenth),
    steady("30 of 300 marked", 600, |n| (100..130).contains(&(n % 300))),
    Script { lost: 150..151, ..steady("a loss", 300, |n| n == 10) },
    Script { lost: 150..153, ..steady("three losses, every 20th marked", 300, |n| n % 20 == 10) },
    Script { pause: Pause::Blackout(150), ..steady("a timeout, every 50th marked", 300, fiftieth) },
    Script { pause: Pause::Idle(100), ..steady("an idle RTO, none marked", 200, |_| false) },
];
