//! The handshake: initiator and negotiated options.

use lowtide_wire::{Flags, Options, Segment};
use serde::Serialize;

/// ECN mode that the ends negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NegotiatedEcn {
    /// The SYN-ACK is not in the capture.
    Unknown,
    /// No ECN.
    Off,
    /// Classic ECN (RFC 3168).
    Rfc3168,
    /// Accurate ECN (RFC 9768).
    Accecn,
}

/// Flags and options of a SYN or SYN-ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SynInfo {
    pub(super) time: u64,
    pub(super) flags: Flags,
    pub(super) options: Options,
    pub(super) options_lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct HandshakeInfo {
    /// Number of the end that sent the SYN.
    pub(super) client: Option<usize>,
    pub(super) first_syn: Option<u64>,
    /// The last SYN before the SYN-ACK, and the first SYN-ACK.
    pub(super) syn: Option<SynInfo>,
    pub(super) syn_ack: Option<SynInfo>,
    pub(super) syns: u64,
    /// SYNs that asked for ECN.
    pub(super) ecn_syns: u64,
    pub(super) syn_acks: u64,
    /// Time at which the client acknowledged the SYN-ACK, nanoseconds.
    pub(super) acked: Option<u64>,
}

impl HandshakeInfo {
    pub(super) fn on_syn(&mut self, time: u64, from: usize, segment: &Segment, options_lost: bool) {
        let (flags, options) = (segment.flags, segment.options);
        let offer = SynInfo { time, flags, options, options_lost };
        if flags.contains(Flags::ACK) {
            self.syn_acks += 1;
            self.client.get_or_insert(1 - from);
            self.syn_ack.get_or_insert(offer);
        } else {
            self.syns += 1;
            self.ecn_syns += u64::from(flags.ace() != 0);
            self.client.get_or_insert(from);
            self.first_syn.get_or_insert(time);
            if self.syn_ack.is_none() {
                self.syn = Some(offer);
            }
        }
    }

    /// Processes a segment without SYN; the client's first one completes the handshake.
    pub(super) fn on_segment(&mut self, time: u64, from: usize) {
        if self.syn_ack.is_some() && self.client == Some(from) {
            self.acked.get_or_insert(time);
        }
    }

    /// Returns the negotiated ECN mode (RFC 3168 §6.1.1, RFC 9768 table 2).
    pub(super) fn negotiated_ecn(&self) -> NegotiatedEcn {
        let Some(answer) = self.syn_ack.map(|o| o.flags.ace()) else {
            return NegotiatedEcn::Unknown;
        };
        // Without the SYN, only the SYN-ACK decides.
        let asked = self.syn.map(|o| o.flags.ace());
        match (asked, answer) {
            (_, 0b000 | 0b111) | (Some(0b000), _) => NegotiatedEcn::Off,
            (_, 0b001) => NegotiatedEcn::Rfc3168,
            (Some(0b011), _) => NegotiatedEcn::Off,
            _ => NegotiatedEcn::Accecn,
        }
    }

    /// Options of SYN and SYN-ACK.
    fn syn_options(&self) -> Option<(Options, Options)> {
        let (a, b) = (self.syn?, self.syn_ack?);
        (!a.options_lost && !b.options_lost).then_some((a.options, b.options))
    }

    pub(super) fn timestamps(&self) -> Option<bool> {
        self.syn_options().map(|(a, b)| a.timestamps.is_some() && b.timestamps.is_some())
    }

    pub(super) fn sack(&self) -> Option<bool> {
        self.syn_options().map(|(a, b)| a.sack_permitted && b.sack_permitted)
    }

    /// Returns whether both ends sent a shift (RFC 7323 §2.2).
    pub(super) fn scaling(&self) -> Option<bool> {
        self.syn_options().map(|(a, b)| a.window_scale.is_some() && b.window_scale.is_some())
    }

    /// Returns the shifts of client and server if both sent one.
    pub(super) fn scales(&self) -> Option<[u8; 2]> {
        let (a, b) = self.syn_options()?;
        Some([a.window_scale?.min(14), b.window_scale?.min(14)])
    }

    /// Returns the shift of the windows that `end` advertises: 0 if either end did not offer one.
    pub(super) fn scale_of(&self, end: usize) -> Option<u8> {
        if self.scaling()? {
            let [client, server] = self.scales()?;
            return Some(if self.client == Some(end) { client } else { server });
        }
        Some(0)
    }

    /// Returns the MSS options of client and server.
    pub(super) fn mss(&self) -> [Option<u16>; 2] {
        [self.syn, self.syn_ack].map(|o| o.and_then(|o| o.options.mss))
    }

    /// Payload of a full segment of end `from`: the MSS without the timestamps of every segment
    /// (RFC 6691), bytes.
    pub(super) fn effective_mss(&self, from: usize) -> Option<u32> {
        let client = self.client?;
        let [of_client, of_server] = self.mss();
        let (own, peer) =
            if from == client { (of_client, of_server) } else { (of_server, of_client) };
        // A sender is also limited by its own link.
        let least = [own, peer].into_iter().flatten().min()?;
        let stamps = if self.timestamps() == Some(true) { 12 } else { 0 };
        u32::from(least).checked_sub(stamps).filter(|n| *n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_negotiation_covers_every_ace_pair() {
        let mode = |asked: Option<u8>, answer: u8| {
            let mut opening = HandshakeInfo::default();
            let syn =
                |flags: Flags, ace| Segment { flags: flags.with_ace(ace), ..Segment::default() };
            if let Some(ace) = asked {
                opening.on_syn(0, 0, &syn(Flags::SYN, ace), false);
            }
            opening.on_syn(1, 1, &syn(Flags::SYN | Flags::ACK, answer), false);
            opening.negotiated_ecn()
        };
        assert_eq!(mode(Some(0b011), 0b001), NegotiatedEcn::Rfc3168);
        assert_eq!(mode(Some(0b011), 0b000), NegotiatedEcn::Off);
        assert_eq!(
            mode(Some(0b011), 0b011),
            NegotiatedEcn::Off,
            "a stack that copies reserved bits"
        );
        assert_eq!(mode(Some(0b000), 0b001), NegotiatedEcn::Off);
        assert_eq!(mode(Some(0b111), 0b001), NegotiatedEcn::Rfc3168, "an older server");
        assert_eq!(mode(Some(0b111), 0b010), NegotiatedEcn::Accecn);
        assert_eq!(mode(Some(0b111), 0b110), NegotiatedEcn::Accecn);
        assert_eq!(mode(Some(0b111), 0b111), NegotiatedEcn::Off);
        assert_eq!(mode(None, 0b100), NegotiatedEcn::Accecn);
        assert_eq!(HandshakeInfo::default().negotiated_ecn(), NegotiatedEcn::Unknown);
    }
}
