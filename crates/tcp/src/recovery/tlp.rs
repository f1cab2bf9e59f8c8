//! Tail loss probes (TLP, RFC 8985 §7): whether one may be sent, and what its ACK means.
//!
//! When a probe is due and what it carries is decided by the connection.

/// The state of RFC 8985 §7.1, and whether a round trip was measured since the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    /// `TLP.end_seq`: SND.NXT after the probe that is not decided yet.
    end_seq: Option<u64>,
    /// FlightSize before the probe, bytes.
    flight_size: u64,
    /// `TLP.is_retrans`: the probe repeated the last segment.
    is_retrans: bool,
    /// A probe went out and no round trip was measured since.
    unmeasured: bool,
    /// The timer fired: the next transmission is a probe.
    pub(crate) due: bool,
}

/// The part of an ACK that tells what became of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    /// SND.UNA.
    pub(crate) una: u64,
    /// The end of the range that a DSACK reports.
    pub(crate) dsack_end: Option<u64>,
    /// A duplicate ACK without any SACK block.
    pub(crate) plain_duplicate: bool,
}

impl Tlp {
    /// Both conditions of RFC 8985 §7.3: no probe is in flight, and the path was measured since the
    /// last one.
    pub(crate) const fn may_probe(&self) -> bool {
        self.end_seq.is_none() && !self.unmeasured
    }

    /// A probe went out, up to SND.NXT; `flight_size` was in flight before it.
    pub(crate) const fn on_sent(&mut self, snd_nxt: u64, again: bool, flight_size: u64) {
        self.end_seq = Some(snd_nxt);
        self.flight_size = flight_size;
        self.is_retrans = again;
        self.unmeasured = true;
    }

    /// A round trip was measured.
    pub(crate) const fn on_rtt_sample(&mut self) {
        self.unmeasured = false;
    }

    /// Recovery begins, fast or by timeout: the probe no longer matters (RFC 8985 §7.1).
    pub(crate) const fn reset(&mut self) {
        self.end_seq = None;
        self.due = false;
    }

    /// The end of the probe that is not decided yet.
    pub(crate) const fn end_seq(&self) -> Option<u64> {
        self.end_seq
    }

    /// RFC 8985 §7.4.2. When the probe repaired a loss that nobody else saw, the window must come
    /// down for it: returns FlightSize before the probe.
    pub(crate) fn on_ack(&mut self, ack: &ProbeAck) -> Option<u64> {
        let end = self.end_seq.filter(|end| ack.una >= *end)?;
        let both_arrived = ack.dsack_end == Some(end) || ack.plain_duplicate && ack.una == end;
        let repaired = self.is_retrans && !both_arrived && ack.una > end;
        if !self.is_retrans || both_arrived || repaired {
            self.end_seq = None;
        }
        repaired.then_some(self.flight_size)
    }
}

#[cfg(test)]
mod tests;
