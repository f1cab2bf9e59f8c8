//! Whether a queue can become long enough for its marker, as far as that is certain before the run.
//!
//! Contract: a marker is refused only where no traffic could make it act. A packet is judged after it was let
//! in, by the queue that it finds or leaves behind; the packet in service does not count, or counts for the
//! buffer as well. So in a buffer of B packets no packet finds more than B - 1, and K = B - 1 never marks. Where the
//! threshold and the buffer have different units, packets are the smallest or the largest that there are,
//! whichever lets the marker act. The exception is a threshold in packets at a buffer in bytes, which must
//! hold as many full packets.
//!
//! A queue in shared memory depends on the others: only what it can hold when it is alone is certain. The
//! result says when a queue never marked and dropped packets (`lowtide_lab::QueueFacts`).

use lowtide_net::{BufferSpec, Count, MarkSpec, PieSpec};
use lowtide_units::{Bytes, Duration, Fraction, Rate};

use crate::value::format_count;

/// IP bytes of the smallest packet: headers of IPv4 and TCP without options.
const MIN_PACKET: u64 = 40;

/// A queue of which all ports have the same buffer and marker.
pub(super) struct Queue<'a> {
    /// The table that describes it.
    pub(super) table: &'a str,
    pub(super) buffer: BufferSpec,
    pub(super) mark: MarkSpec,
    /// Bytes that a dynamic buffer may come to where nothing else is queued.
    pub(super) dynamic_share: Option<u64>,
    /// The slowest of its lines, and the framing there; nothing where other queues go before it.
    pub(super) line: Option<(Rate, u64)>,
}

/// What is wrong and what to write instead.
pub(super) type NeverMarks = (String, String);

/// What a threshold is held against, in its unit.
struct MaxQueue {
    /// The longest queue by which a packet is judged.
    most: u64,
    /// The threshold is above all that there is room for.
    above: bool,
}

impl Queue<'_> {
    /// Why the marker can never act on packets of at most `full` bytes; nothing where it may.
    pub(super) fn never_marks(&self, full: u64) -> Option<NeverMarks> {
        match self.mark {
            MarkSpec::Step { k, .. } | MarkSpec::StepDequeue { k, .. } => {
                self.never_above_threshold("k", k, full)
            }
            MarkSpec::Red(red) => self.never_above_threshold("min", red.min, full),
            MarkSpec::Pi(pi) => self.never_above_threshold("q-ref", Count::Packets(pi.q_ref), full),
            MarkSpec::CoDel(codel) => self.never_above_target(codel.target, full, None),
            MarkSpec::Pie(pie) => self.never_above_target(pie.target, full, Some(pie)),
            MarkSpec::Phantom { gamma, .. } => (gamma >= Fraction::ONE).then(|| {
                let message = format!(
                    "a phantom queue that drains as fast as its line (`gamma` = {gamma}) never fills: \
                     nothing would ever be marked"
                );
                (message, format!("lower `gamma` of [{}.mark]; HULL has 95 %", self.table))
            }),
            MarkSpec::None => None,
        }
    }

    /// What it may hold, in words; nothing without an end.
    fn room(&self) -> Option<String> {
        match (self.buffer, self.dynamic_share) {
            (BufferSpec::Static(buffer), _) => {
                Some(format!("the buffer of {}", format_count(buffer)))
            }
            (BufferSpec::Dynamic { .. }, Some(share)) => {
                Some(format!("the {} that a port may take when it is alone", Bytes::new(share)))
            }
            _ => None,
        }
    }

    fn max_queue(&self, key: &str, threshold: Count, full: u64) -> Option<MaxQueue> {
        // PI goes by the length of the queue, the others by what a packet finds.
        let others = u64::from(key != "q-ref");
        let in_bytes = |n: u64| n.saturating_mul(full);
        Some(match (self.buffer, self.dynamic_share, threshold) {
            (BufferSpec::Static(Count::Packets(room)), _, Count::Packets(k)) => {
                MaxQueue { most: room.saturating_sub(others), above: k > room }
            }
            (BufferSpec::Static(Count::Packets(room)), _, Count::Bytes(k)) => {
                let above = k.as_u64() > in_bytes(room);
                MaxQueue { most: in_bytes(room.saturating_sub(1)), above }
            }
            (BufferSpec::Static(Count::Bytes(room)), _, Count::Bytes(k)) => {
                let room = room.as_u64();
                MaxQueue { most: room.saturating_sub(MIN_PACKET), above: k.as_u64() > room }
            }
            (BufferSpec::Dynamic { .. }, Some(room), Count::Bytes(k)) => {
                MaxQueue { most: room, above: k.as_u64() > room }
            }
            (BufferSpec::Static(Count::Bytes(_)) | BufferSpec::Dynamic { .. }, _, k) => {
                let (room, Count::Packets(k)) = (self.bytes()?, k) else { return None };
                let above = in_bytes(k) > room;
                // Small packets make longer queues: only what no full packets reach is refused.
                let most =
                    if above { (room / full.max(1)).saturating_sub(others) } else { u64::MAX };
                MaxQueue { most, above }
            }
            (BufferSpec::Unlimited, _, _) => return None,
        })
    }

    /// What it may hold, where that is in bytes.
    fn bytes(&self) -> Option<u64> {
        match (self.buffer, self.dynamic_share) {
            (BufferSpec::Static(Count::Bytes(room)), _) => Some(room.as_u64()),
            (BufferSpec::Dynamic { .. }, share) => share,
            _ => None,
        }
    }

    fn never_above_threshold(&self, key: &str, threshold: Count, full: u64) -> Option<NeverMarks> {
        let (MaxQueue { most, above }, room) =
            (self.max_queue(key, threshold, full)?, self.room()?);
        let (k, of) = match threshold {
            Count::Packets(k) => (k, (|n| format_count(Count::Packets(n))) as fn(u64) -> String),
            Count::Bytes(k) => (k.as_u64(), (|n| format_count(Count::Bytes(Bytes::new(n)))) as _),
        };
        if k < most {
            return None;
        }
        let name = if key == "k" { "K" } else { key };
        let shown = if key == "q-ref" { k.to_string() } else { format_count(threshold) };
        let message = if above {
            format!("{name} = {shown} is above {room}: nothing would ever be marked")
        } else if key == "q-ref" {
            format!("{name} = {shown} is all of {room}: the queue is never longer, and marks end")
        } else {
            format!(
                "{name} = {shown} is never exceeded in {room}, where no packet finds or leaves more than \
                 {}: nothing would ever be marked",
                of(most)
            )
        };
        let more = self.more_room();
        let help = match most.checked_sub(1) {
            Some(most) => {
                let most = if key == "q-ref" { most.to_string() } else { of(most) };
                format!(
                    "the largest `{key}` that can mark is {most}: lower `{key}` of [{}.mark], or {more}",
                    self.table
                )
            }
            None => format!("no `{key}` can mark in it: {more}"),
        };
        Some((message, help))
    }

    fn more_room(&self) -> String {
        match self.buffer {
            BufferSpec::Dynamic { .. } => "raise `alpha` or `memory`".to_owned(),
            _ => format!("raise `buffer` of [{}]", self.table),
        }
    }

    /// The longest that a packet may wait; nothing where that has no bound.
    fn max_sojourn(&self, full: u64) -> Option<Duration> {
        let (rate, framing) = self.line?;
        let (packets, bytes) = match (self.buffer, self.bytes()) {
            // Those before it, and the one in service in place of itself.
            (BufferSpec::Static(Count::Packets(room)), _) => (room, room.saturating_mul(full)),
            (_, Some(room)) => (room / MIN_PACKET, room.saturating_add(full)),
            _ => return None,
        };
        let framed = bytes.saturating_add(packets.saturating_add(1).saturating_mul(framing));
        Some(rate.serialization(Bytes::new(framed)))
    }

    /// `target` is a time that no packet waits, for `pie` not even half of it.
    fn never_above_target(
        &self,
        target: Duration,
        full: u64,
        pie: Option<PieSpec>,
    ) -> Option<NeverMarks> {
        let (wait, room) = (self.max_sojourn(full)?, self.room()?);
        let (never, largest) = match pie {
            None => (wait < target, wait),
            Some(pie) => (wait < target / 2 && !pie_may_mark(&pie, wait), wait.saturating_mul(2)),
        };
        if !never {
            return None;
        }
        let shown = |span: Duration| {
            let us = span.as_us();
            if us == 0 { span } else { Duration::from_us(us) }
        };
        let half = if pie.is_some() { "half of " } else { "" };
        let message = format!(
            "no packet waits {half}`target` = {target}, as {room} is sent within {}: nothing would ever be marked",
            shown(wait)
        );
        let help = format!(
            "the largest `target` that can mark is {}: lower `target` of [{}.mark], or {}",
            shown(largest),
            self.table,
            self.more_room()
        );
        Some((message, help))
    }
}

/// The probability at which PIE chooses packets although they waited less than half of its target.
const PIE_SAFEGUARD_PROB: Fraction = Fraction::from_percent(20);

/// Packets that wait no longer than `wait`, less than half of the target, may still be chosen: the
/// probability, which then only a growing wait raises, may come to a fifth (RFC 8033 §4.1).
fn pie_may_mark(pie: &PieSpec, wait: Duration) -> bool {
    let (num, den) = (u128::from(pie.beta.num), u128::from(pie.beta.den.get()));
    // `beta` is a probability per second; both sides in parts per billion.
    let most = u128::from(wait.as_ps()) * num / den / 1_000;
    most >= u128::from(PIE_SAFEGUARD_PROB.as_ppb().unsigned_abs())
}
