//! Checks whether a queue can become long enough for its marker, as far as that is certain before
//! the run.
//!
//! Contract: a marker is rejected only if no traffic could make it mark. A packet is judged after
//! its admission, by the queue that it finds or leaves behind. The packet in service does not
//! count, or counts for the buffer as well. So in a buffer of B packets no packet finds more than
//! `B - 1`, and `K = B - 1` never marks. If threshold and buffer have different units, packets are
//! assumed to be minimum-size or full, whichever lets the marker mark. Exception: for a threshold
//! in packets and a buffer in bytes, the buffer must hold that many full packets.
//!
//! A queue in shared memory depends on the others: only its limit when it is alone is certain. The
//! result reports a queue that never marked and dropped packets (`lowtide_lab::QueueFacts`).

use lowtide_net::{BufferSpec, MarkSpec, PieSpec, QueueLength};
use lowtide_units::{Bytes, Duration, Fraction, Rate};

/// IP bytes of the smallest packet: IPv4 and TCP headers without options.
const MIN_PACKET: u64 = 40;

/// A queue whose ports all have one buffer and one marker.
pub(super) struct Queue<'a> {
    /// The table that describes it.
    pub(super) table: &'a str,
    pub(super) buffer: BufferSpec,
    pub(super) mark: MarkSpec,
    /// Limit in bytes of a dynamic buffer when nothing else is queued.
    pub(super) dynamic_share: Option<u64>,
    /// Slowest of its lines and the framing there; `None` if other queues have precedence.
    pub(super) line: Option<(Rate, u64)>,
}

/// Message and help.
pub(super) type NeverMarks = (String, String);

/// Limit that a threshold is compared with, in its unit.
struct MaxQueue {
    /// Longest queue that a packet can be judged by.
    most: u64,
    /// The threshold exceeds the whole buffer.
    above: bool,
}

impl Queue<'_> {
    /// Explains why the marker can never act on packets of at most `full` bytes; `None` if it may.
    pub(super) fn never_marks(&self, full: u64) -> Option<NeverMarks> {
        match self.mark {
            MarkSpec::Step { k, .. } | MarkSpec::StepDequeue { k, .. } => {
                self.never_above_threshold("k", k, full)
            }
            MarkSpec::Red(red) => self.never_above_threshold("min", red.min, full),
            MarkSpec::Pi(pi) => self.never_above_threshold("q-ref", QueueLength::Packets(pi.q_ref), full),
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

    /// Describes the buffer's limit; `None` if it has none.
    fn room(&self) -> Option<String> {
        match (self.buffer, self.dynamic_share) {
            (BufferSpec::Static(buffer), _) => Some(format!("the buffer of {buffer}")),
            (BufferSpec::Dynamic { .. }, Some(share)) => {
                Some(format!("the {} that a single active port may take", Bytes::new(share)))
            }
            _ => None,
        }
    }

    fn max_queue(&self, key: &str, threshold: QueueLength, full: u64) -> Option<MaxQueue> {
        // PI uses the queue length, the others use the queue that a packet finds.
        let own_packet = u64::from(key != "q-ref");
        let in_bytes = |n: u64| n.saturating_mul(full);
        Some(match (self.buffer, self.dynamic_share, threshold) {
            (BufferSpec::Static(QueueLength::Packets(room)), _, QueueLength::Packets(k)) => {
                MaxQueue { most: room.saturating_sub(own_packet), above: k > room }
            }
            (BufferSpec::Static(QueueLength::Packets(room)), _, QueueLength::Bytes(k)) => {
                let above = k.as_u64() > in_bytes(room);
                MaxQueue { most: in_bytes(room.saturating_sub(1)), above }
            }
            (BufferSpec::Static(QueueLength::Bytes(room)), _, QueueLength::Bytes(k)) => {
                let room = room.as_u64();
                MaxQueue { most: room.saturating_sub(MIN_PACKET), above: k.as_u64() > room }
            }
            (BufferSpec::Dynamic { .. }, Some(room), QueueLength::Bytes(k)) => {
                MaxQueue { most: room, above: k.as_u64() > room }
            }
            (BufferSpec::Static(QueueLength::Bytes(_)) | BufferSpec::Dynamic { .. }, _, k) => {
                let (room, QueueLength::Packets(k)) = (self.bytes()?, k) else { return None };
                let above = in_bytes(k) > room;
                // Small packets make longer queues, so only thresholds that full packets cannot
                // reach are rejected.
                let most =
                    if above { (room / full.max(1)).saturating_sub(own_packet) } else { u64::MAX };
                MaxQueue { most, above }
            }
            (BufferSpec::Unlimited, _, _) => return None,
        })
    }

    /// Returns the buffer's limit, if that is in bytes.
    fn bytes(&self) -> Option<u64> {
        match (self.buffer, self.dynamic_share) {
            (BufferSpec::Static(QueueLength::Bytes(room)), _) => Some(room.as_u64()),
            (BufferSpec::Dynamic { .. }, share) => share,
            _ => None,
        }
    }

    fn never_above_threshold(
        &self,
        key: &str,
        threshold: QueueLength,
        full: u64,
    ) -> Option<NeverMarks> {
        let (MaxQueue { most, above }, room) =
            (self.max_queue(key, threshold, full)?, self.room()?);
        let (k, of) = match threshold {
            QueueLength::Packets(k) => {
                (k, (|n| QueueLength::Packets(n).to_string()) as fn(u64) -> String)
            }
            QueueLength::Bytes(k) => {
                (k.as_u64(), (|n| QueueLength::Bytes(Bytes::new(n)).to_string()) as _)
            }
        };
        if k < most {
            return None;
        }
        let name = if key == "k" { "K" } else { key };
        let shown = if key == "q-ref" { k.to_string() } else { threshold.to_string() };
        let message = if above {
            format!("{name} = {shown} is above {room}: nothing would ever be marked")
        } else if key == "q-ref" {
            format!("{name} = {shown} is all of {room}: the queue can never exceed it")
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

    /// Returns the longest wait of a packet; `None` if it is unbounded.
    fn max_sojourn(&self, full: u64) -> Option<Duration> {
        let (rate, framing) = self.line?;
        let (packets, bytes) = match (self.buffer, self.bytes()) {
            // The packets ahead of it, and the packet in service instead of itself.
            (BufferSpec::Static(QueueLength::Packets(room)), _) => {
                (room, room.saturating_mul(full))
            }
            (_, Some(room)) => (room / MIN_PACKET, room.saturating_add(full)),
            _ => return None,
        };
        let framed = bytes.saturating_add(packets.saturating_add(1).saturating_mul(framing));
        Some(rate.serialization(Bytes::new(framed)))
    }

    /// Rejects a `target` that no packet waits for; for `pie`, not even half of it.
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

/// Probability at which PIE marks packets although they waited less than half of its target.
const PIE_SAFEGUARD_PROB: Fraction = Fraction::from_percent(20);

/// Returns whether packets that wait no longer than `wait`, less than half of the target, may still
/// be marked. The probability, which then only a growing wait raises, may reach 20 % (RFC 8033
/// §4.1).
fn pie_may_mark(pie: &PieSpec, wait: Duration) -> bool {
    let (num, den) = (u128::from(pie.beta.num), u128::from(pie.beta.den.get()));
    // `beta` is a probability per second; both sides in parts per billion.
    let most = u128::from(wait.as_ps()) * num / den / 1_000;
    most >= u128::from(PIE_SAFEGUARD_PROB.as_ppb().unsigned_abs())
}
