//! Tail loss probes (TLP, RFC 8985 §7): permission to send one, and the meaning of its ACK.
//!
//! The connection decides when a probe is due and what it carries.

/// The state of RFC 8985 §7.1, and whether the RTT was measured since the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    /// `TLP.end_seq`: SND.NXT after the pending probe.
    end_seq: Option<u64>,
    /// FlightSize before the probe, bytes.
    flight_size: u64,
    /// `TLP.is_retrans`: the probe retransmitted the last segment.
    is_retrans: bool,
    /// A probe was sent, and the RTT was not measured since.
    unmeasured: bool,
    /// The timer fired: the next segment is a probe.
    due: bool,
}

/// The fields of an ACK that show the outcome of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    /// SND.UNA.
    pub(crate) una: u64,
    /// The end of the range that a DSACK reports.
    pub(crate) dsack_end: Option<u64>,
    /// A duplicate ACK without SACK blocks.
    pub(crate) plain_duplicate: bool,
}

impl Tlp {
    /// Checks both conditions of RFC 8985 §7.3: no probe is in flight, and the RTT was measured
    /// since the last one.
    pub(crate) const fn may_probe(&self) -> bool {
        self.end_seq.is_none() && !self.unmeasured
    }

    /// Records a probe sent up to SND.NXT; `flight_size` bytes were in flight before it.
    pub(crate) const fn on_sent(&mut self, snd_nxt: u64, is_retrans: bool, flight_size: u64) {
        self.end_seq = Some(snd_nxt);
        self.flight_size = flight_size;
        self.is_retrans = is_retrans;
        self.unmeasured = true;
    }

    /// The timer fired: a probe is due if one may be sent.
    pub(crate) const fn on_timer(&mut self) {
        self.due = self.may_probe();
    }

    /// A probe is no longer due: data was sent or acknowledged.
    pub(crate) const fn cancel_due(&mut self) {
        self.due = false;
    }

    /// Returns whether a probe is due.
    pub(crate) const fn is_due(&self) -> bool {
        self.due
    }

    /// Takes the probe that is due. Returns whether there is one.
    pub(crate) const fn take_due(&mut self) -> bool {
        core::mem::replace(&mut self.due, false)
    }

    /// Records an RTT measurement.
    pub(crate) const fn on_rtt_sample(&mut self) {
        self.unmeasured = false;
    }

    /// Cancels the pending probe: recovery begins, fast or by timeout (RFC 8985 §7.1).
    pub(crate) const fn reset(&mut self) {
        self.end_seq = None;
        self.due = false;
    }

    /// `TLP.end_seq`, while a probe is pending.
    pub(crate) const fn end_seq(&self) -> Option<u64> {
        self.end_seq
    }

    /// RFC 8985 §7.4.2. Returns FlightSize before the probe if the probe repaired a loss that was
    /// not detected otherwise: the window must be reduced for it.
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
