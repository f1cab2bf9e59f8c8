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

use lowtide_net::aqm::SignalCondition;
use lowtide_net::{BufferSpec, MarkSpec, QueueLength};
use lowtide_schema::Value;
use lowtide_units::{Bytes, Duration, Rate};

/// IP bytes of the smallest packet: IPv4 and TCP headers without options.
const MIN_PACKET: u64 = 40;

/// A queue whose ports all have one buffer and one marker.
pub(super) struct Queue<'a> {
    /// The table that describes it.
    pub(super) table: &'a str,
    pub(super) buffer: BufferSpec,
    pub(super) mark: &'a MarkSpec,
    /// Limit in bytes of a dynamic buffer when nothing else is queued.
    pub(super) dynamic_share: Option<u64>,
    /// Slowest of its lines and the framing there; `None` if other queues have precedence.
    pub(super) line: Option<(Rate, u64)>,
}

/// The reason why a marker cannot act as a threshold: it marks nothing, or everything.
pub(super) struct UselessMarker {
    /// The parameter that is responsible.
    pub(super) param: Option<&'static str>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// A threshold on the length of a queue.
struct Threshold {
    param: &'static str,
    length: QueueLength,
    /// It is compared with the queue that a packet finds or leaves behind, without the packet.
    without_packet: bool,
}

/// Limit that a threshold is compared with, in its unit.
struct MaxQueue {
    /// Longest queue that a packet can be judged by.
    most: u64,
    /// The threshold exceeds the whole buffer.
    above: bool,
}

impl Queue<'_> {
    /// Explains why the marker can never act on packets of at most `full` bytes; `None` if it may.
    pub(super) fn never_marks(&self, full: u64) -> Option<UselessMarker> {
        match self.mark.config().signal_condition() {
            SignalCondition::Unknown => None,
            SignalCondition::FoundQueue { param, length } => {
                self.never_above(&Threshold { param, length, without_packet: true }, full)
            }
            SignalCondition::AnyQueue { param, length } => {
                self.never_above(&Threshold { param, length, without_packet: false }, full)
            }
            SignalCondition::Sojourn { param, target, divisor, or } => {
                let wait = self.max_sojourn(full)?;
                let never = wait < target / divisor && or.is_none_or(|or| wait < or);
                if never { self.never_waits(param, target, divisor, wait) } else { None }
            }
            SignalCondition::Never(error) => Some(UselessMarker {
                param: error.param,
                message: format!("{}: nothing would ever be marked", error.message),
                help: error.help,
            }),
        }
    }

    /// Explains why a threshold `k` is below one packet of `full` bytes, so that each packet that
    /// waits is marked; `None` if it is not.
    pub(super) fn marks_always(&self, full: u64) -> Option<UselessMarker> {
        let SignalCondition::FoundQueue { param: param @ "k", length } =
            self.mark.config().signal_condition()
        else {
            return None;
        };
        let below = match length {
            QueueLength::Packets(k) => k == 0,
            QueueLength::Bytes(k) => k.as_u64() < full,
        };
        below.then(|| UselessMarker {
            param: Some(param),
            message: format!(
                "`k` = {length} is below one packet of {full} B: each packet that waits would be \
                 marked"
            ),
            help: Some(format!("the smallest `k` is \"1 pkt\" or \"{full} B\"")),
        })
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

    fn max_queue(&self, threshold: &Threshold, full: u64) -> Option<MaxQueue> {
        let own_packet = u64::from(threshold.without_packet);
        let in_bytes = |n: u64| n.saturating_mul(full);
        Some(match (self.buffer, self.dynamic_share, threshold.length) {
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

    fn never_above(&self, threshold: &Threshold, full: u64) -> Option<UselessMarker> {
        let (MaxQueue { most, above }, room) = (self.max_queue(threshold, full)?, self.room()?);
        let param = threshold.param;
        let value = self.mark.values().get(param);
        let k = match threshold.length {
            QueueLength::Packets(k) => k,
            QueueLength::Bytes(k) => k.as_u64(),
        };
        if k < most {
            return None;
        }
        // As the parameter is written: some count packets without a unit.
        let of = |n: u64| match (threshold.length, value) {
            (_, Some(Value::Count(_))) => n.to_string(),
            (QueueLength::Packets(_), _) => QueueLength::Packets(n).to_string(),
            (QueueLength::Bytes(_), _) => QueueLength::Bytes(Bytes::new(n)).to_string(),
        };
        let shown = of(k);
        let message = if above {
            format!("`{param}` = {shown} is above {room}: nothing would ever be marked")
        } else if threshold.without_packet {
            format!(
                "`{param}` = {shown} is never exceeded in {room}, where no packet finds or leaves \
                 more than {}: nothing would ever be marked",
                of(most)
            )
        } else {
            format!("`{param}` = {shown} is all of {room}: the queue can never exceed it")
        };
        let more = self.more_room();
        let help = match most.checked_sub(1).filter(|most| *most > 0) {
            Some(most) => format!(
                "the largest `{param}` that can mark is {}: lower `{param}` of [{}.mark], or {more}",
                of(most),
                self.table
            ),
            None => format!("no `{param}` can mark in it: {more}"),
        };
        Some(UselessMarker { param: Some(param), message, help: Some(help) })
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

    /// Returns the error of a target of which no packet waits for the part `1 / divisor`, as the
    /// longest wait is `wait`.
    fn never_waits(
        &self,
        param: &'static str,
        target: Duration,
        divisor: u64,
        wait: Duration,
    ) -> Option<UselessMarker> {
        let room = self.room()?;
        let shown = |span: Duration| {
            let us = span.as_us();
            if us == 0 { span } else { Duration::from_us(us) }
        };
        let part = match divisor {
            1 => String::new(),
            2 => "half of ".to_owned(),
            n => format!("1/{n} of "),
        };
        let message = format!(
            "no packet waits {part}`{param}` = {target}, as {room} is sent within {}: nothing would ever be marked",
            shown(wait)
        );
        let help = format!(
            "the largest `{param}` that can mark is {}: lower `{param}` of [{}.mark], or {}",
            shown(wait.saturating_mul(divisor)),
            self.table,
            self.more_room()
        );
        Some(UselessMarker { param: Some(param), message, help: Some(help) })
    }
}
