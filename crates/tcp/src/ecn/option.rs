//! The AccECN option on one connection (RFC 9768 §3.2.3): byte counters of both directions, when an
//! option is sent and with how many counters, and the checks of the path.
//!
//! Counters are indexed in the order of kind 174, which is the only one that we send, as Linux
//! does: ECT(1), CE, ECT(0).

use lowtide_units::{Duration, Instant};
use lowtide_wire::{AccEcnOption, AccEcnOrder, Ecn as Codepoint, SeqNum};

use super::{EcnState, PacketClass};
use crate::settings::config::{AccEcnOptionRule, AccEcnRules};

/// Initial values of r.e1b, r.ceb and r.e0b (RFC 9768 §3.2.1).
const INITIAL: [u32; 3] = [1, 0, 1];
/// Index of the counter of CE.
const CE: usize = 1;
/// Options per round trip of [`AccEcnOptionRule::Minimum`] (Linux `tcp_ecn_option_beacon`).
const BEACONS: u64 = 3;
/// Bits of a counter that change between two options at least (RFC 9768 §3.2.3.3).
const REPEAT_BITS: u32 = 22;
/// Bytes sent without a received option after which a counter may have wrapped, so later options
/// are ignored (Linux `tcp_accecn_process_option`).
const TOO_LATE: u64 = (1 << 23) - 1;

/// Options that arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Seen {
    None,
    /// Without counters.
    Empty,
    WithCounters,
}

/// CE bytes by the options of an ACK and of those before.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct OptionBytes {
    /// Bytes newly counted, and not estimated before; none without an option.
    pub(crate) counted: Option<u64>,
    /// Increase of the counter, if it is unambiguous.
    pub(crate) delta: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct OptionState {
    rule: AccEcnOptionRule,
    /// Payload bytes received, modulo 2^32.
    received: [u32; 3],
    /// Leading counters of an option that include all changed ones; zero if none has changed since
    /// the last option.
    required: u8,
    /// Next segments that carry an option.
    demand: u8,
    /// ECN field of the last packet.
    last_field: Codepoint,
    sent_at: Option<Instant>,
    /// Start of the DSACK block beside the option of the last segment.
    dsack: Option<SeqNum>,
    seen: Seen,
    /// Payload bytes delivered, by the options of the peer.
    delivered: [u32; 3],
    /// CE bytes that were counted or estimated.
    reported: u32,
    /// The only counter that the last option changed: ACKs without an option are assumed to
    /// continue it.
    growing: Option<usize>,
    /// ACKs since the last option may have reported CE packets.
    maybe_marked: bool,
    /// Arriving options are ignored: their counters were zeroed, or they came too late.
    ignored: bool,
    /// Options are not sent: packets with one seem to be lost.
    blocked: bool,
}

/// Index of the counter of `field`.
const fn index(field: Codepoint) -> Option<usize> {
    match field {
        Codepoint::NotEct => None,
        Codepoint::Ect1 => Some(0),
        Codepoint::Ce => Some(CE),
        Codepoint::Ect0 => Some(2),
    }
}

impl OptionState {
    pub(super) const fn new(rule: AccEcnOptionRule) -> Self {
        Self {
            rule,
            received: [0; 3],
            required: 0,
            demand: 0,
            last_field: Codepoint::NotEct,
            sent_at: None,
            dsack: None,
            seen: Seen::None,
            delivered: [0; 3],
            reported: 0,
            growing: None,
            maybe_marked: false,
            ignored: false,
            blocked: false,
        }
    }

    /// Payload bytes received and delivered, in the order ECT(1), CE, ECT(0).
    pub(super) const fn bytes(&self) -> ([u32; 3], [u32; 3]) {
        (self.received, self.delivered)
    }

    /// The handshake is over: the client tests the path with its ACK and first data, the server
    /// with one more segment (§3.2.3.2.1). `field`: of the peer's SYN or SYN-ACK.
    pub(super) fn on_established(&mut self, client: bool, field: Codepoint) {
        self.demand = self.demand.max(if client { 2 } else { 1 });
        self.last_field = field;
    }

    /// Counts the payload of a segment with this ECN field. Returns whether the field differs from
    /// that of the packet before.
    pub(super) fn on_packet(&mut self, field: Codepoint, ce_bytes: u32, bytes: u32) -> bool {
        self.count(Codepoint::Ce, ce_bytes);
        self.count(
            if field == Codepoint::Ce { Codepoint::NotEct } else { field },
            bytes - ce_bytes,
        );
        let edge = core::mem::replace(&mut self.last_field, field) != field;
        if edge || field == Codepoint::Ce {
            // The second option shows unambiguously which counter grows.
            self.demand = 2;
        }
        edge
    }

    fn count(&mut self, field: Codepoint, bytes: u32) {
        let Some(i) = index(field).filter(|_| bytes > 0) else { return };
        let before = self.received[i];
        self.received[i] = before.wrapping_add(bytes);
        self.required = self.required.max(i as u8 + 1);
        if (self.received[i] ^ before) >> REPEAT_BITS != 0 {
            self.demand = self.demand.max(1);
        }
    }

    /// Data segments are shorter by an option.
    pub(super) fn on_every_segment(&self) -> bool {
        let always = matches!(self.rule, AccEcnOptionRule::Full | AccEcnOptionRule::Persist);
        always && self.may_send()
    }

    fn may_send(&self) -> bool {
        let blocked = self.blocked && self.rule != AccEcnOptionRule::Persist;
        match self.rule {
            AccEcnOptionRule::Disabled => false,
            // §3.2.3.2.3: whether the peer's options arrive says nothing about ours.
            AccEcnOptionRule::Recommended => !blocked,
            _ => self.seen > Seen::None && !blocked,
        }
    }

    /// The option of the next segment, with all counters.
    pub(super) fn due(
        &mut self,
        now: Instant,
        srtt: Option<Duration>,
        class: PacketClass,
    ) -> Option<AccEcnOption> {
        self.dsack = None;
        let due = match self.rule {
            // A lost segment may have been dropped for its option (§3.2.3.2.2).
            AccEcnOptionRule::Recommended => {
                (self.required > 0 || self.demand > 0) && class != PacketClass::Retransmission
            }
            AccEcnOptionRule::Minimum => self.demand > 0 || self.beacon_due(now, srtt),
            _ => true,
        };
        (due && self.may_send()).then(|| Self::option(self.received))
    }

    /// True if no option was sent for a third of a round trip (Linux
    /// `tcp_accecn_option_beacon_check`).
    fn beacon_due(&self, now: Instant, srtt: Option<Duration>) -> bool {
        let Some(sent_at) = self.sent_at else { return true };
        now.saturating_since(sent_at).saturating_mul(BEACONS) >= srtt.unwrap_or(Duration::ZERO)
    }

    /// The option of a SYN-ACK, unless none is ever sent.
    pub(super) fn of_syn_ack(&self) -> Option<AccEcnOption> {
        (self.rule != AccEcnOptionRule::Disabled).then(|| Self::option([0; 3]))
    }

    fn option(bytes: [u32; 3]) -> AccEcnOption {
        let counters = [0, 1, 2].map(|i| INITIAL[i].wrapping_add(bytes[i]));
        AccEcnOption::new(AccEcnOrder::Ect1First, &counters)
    }

    /// Minimum number of counters of the next option: those beyond have not changed (§3.2.3.3).
    pub(super) fn required(&self) -> usize {
        usize::from(self.required)
    }

    /// A segment with an option leaves, with a DSACK block from `dsack` on.
    pub(super) fn on_sent(&mut self, now: Instant, dsack: Option<SeqNum>) {
        self.required = 0;
        self.demand = self.demand.saturating_sub(1);
        self.sent_at = Some(now);
        self.dsack = dsack;
    }

    /// Data from `start` on arrived that was acknowledged before. If it was reported by DSACK
    /// beside an option already, that ACK was lost, maybe for the option (§3.2.3.2.2).
    pub(super) fn on_duplicate(&mut self, start: SeqNum) {
        self.blocked |= self.dsack == Some(start);
    }

    /// Checks the first options: the initial ECT counters are not zero (§3.2.3.2.4).
    pub(super) fn check_initial(&mut self, option: &AccEcnOption) {
        if self.seen == Seen::WithCounters {
            return;
        }
        self.seen = if option.is_empty() { Seen::Empty } else { Seen::WithCounters };
        let zeroed = option.counters().any(|(field, value)| field != Codepoint::Ce && value == 0);
        self.ignored |= zeroed;
    }

    /// Reads the option of an ACK (RFC 9768 A.1). `sent`: payload bytes sent so far.
    ///
    /// With the rules of Linux (`tcp_accecn_process_option`) an ACK without an option is assumed to
    /// continue the only counter that grew, and an option is clear only after such a one. Else an
    /// option is clear if it has the counter of CE.
    pub(super) fn on_ack(
        &mut self,
        option: Option<&AccEcnOption>,
        delivered: u64,
        sent: u64,
        rules: AccEcnRules,
    ) -> OptionBytes {
        if self.ignored {
            return OptionBytes::default();
        }
        let before = self.delivered[CE];
        let clear = match option {
            Some(option) => {
                self.check_initial(option);
                let counts_ce = option.counters().any(|(field, _)| field == Codepoint::Ce);
                let clear = !self.ignored && self.read(option);
                match rules {
                    AccEcnRules::Linux => clear,
                    AccEcnRules::Rfc9768 => {
                        let ahead = self.delivered[CE].wrapping_sub(before).cast_signed();
                        !self.ignored && counts_ce && ahead >= 0
                    }
                }
            }
            None if self.seen == Seen::None => {
                self.ignored = sent >= TOO_LATE;
                return OptionBytes::default();
            }
            None => match self.growing.filter(|_| rules == AccEcnRules::Linux) {
                Some(i) => {
                    self.delivered[i] = self.delivered[i].wrapping_add(delivered as u32);
                    true
                }
                None => false,
            },
        };
        let counted = option.filter(|_| !self.ignored).map(|_| {
            let ahead = self.delivered[CE].wrapping_sub(self.reported).cast_signed().max(0);
            self.on_reported(ahead.unsigned_abs());
            u64::from(ahead.unsigned_abs())
        });
        OptionBytes { counted, delta: clear.then(|| self.delivered[CE].wrapping_sub(before)) }
    }

    /// CE bytes of an ACK were reported to the congestion control.
    fn on_reported(&mut self, bytes: u32) {
        self.reported = self.reported.wrapping_add(bytes);
    }

    /// Applies the counters of an option. Returns whether they show unambiguously which one grew.
    fn read(&mut self, option: &AccEcnOption) -> bool {
        let expected = self.growing;
        let (mut clear, mut other) = (expected.is_some(), None);
        let mut ambiguous = false;
        for (field, value) in option.counters() {
            let Some(i) = index(field) else { continue };
            let ahead = value.wrapping_sub(INITIAL[i]).wrapping_sub(self.delivered[i]);
            // 24 bits with a sign: an estimate may have been too high.
            let ahead = (ahead << 8).cast_signed() >> 8;
            self.delivered[i] = self.delivered[i].wrapping_add_signed(ahead);
            let surprise = ahead != 0 && expected != Some(i);
            if ahead < 0 || (surprise && other.is_some()) {
                (clear, ambiguous) = (false, true);
            }
            if surprise && other.is_none() {
                other = Some(i);
            }
        }
        self.growing = if ambiguous { None } else { other.or(expected) };
        clear
    }
}

impl EcnState {
    /// The option of our first SYN-ACK, if it accepts AccECN.
    pub(crate) fn syn_ack_option(&self) -> Option<AccEcnOption> {
        self.negotiated_accecn().and_then(|a| a.option.of_syn_ack())
    }

    /// The segment that completes the handshake arrived. `room`: headers have room for an option.
    /// Returns whether segments carry options that they have to be asked for.
    pub(crate) fn establish_option(&mut self, option: Option<&AccEcnOption>, room: bool) -> bool {
        let Some(accecn) = self.negotiated_accecn_mut() else { return false };
        let (client, field) = (accecn.is_client(), accecn.handshake_field());
        let state = &mut accecn.option;
        if !room {
            state.rule = AccEcnOptionRule::Disabled;
        }
        if let Some(option) = option {
            state.check_initial(option);
        }
        state.on_established(client, field);
        state.rule != AccEcnOptionRule::Disabled
    }

    /// Bytes by which full segments are shorter for their option.
    pub(crate) fn option_reserve(&self) -> u32 {
        let reserves = self.negotiated_accecn().is_some_and(|a| a.option.on_every_segment());
        if reserves { AccEcnOption::MAX_LEN.next_multiple_of(4) as u32 } else { 0 }
    }

    /// The option of the next segment, with all counters, and how many of them it must have.
    pub(crate) fn option_due(
        &mut self,
        now: Instant,
        srtt: Option<Duration>,
        class: PacketClass,
    ) -> Option<(AccEcnOption, usize)> {
        let option = &mut self.negotiated_accecn_mut()?.option;
        option.due(now, srtt, class).map(|due| (due, option.required()))
    }

    /// A segment leaves with the option that was due, with a DSACK block from `dsack` on.
    pub(crate) fn on_option_sent(&mut self, now: Instant, dsack: Option<SeqNum>) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.option.on_sent(now, dsack);
        }
    }

    /// Counts the payload of an accepted segment ([`OptionState::on_packet`]).
    pub(crate) fn on_packet(&mut self, field: Codepoint, ce_bytes: u32, bytes: u32) -> bool {
        self.negotiated_accecn_mut().is_some_and(|a| a.option.on_packet(field, ce_bytes, bytes))
    }

    /// Old data from `start` on arrived again.
    pub(crate) fn on_duplicate(&mut self, start: SeqNum) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.option.on_duplicate(start);
        }
    }

    /// Reads the option of an ACK ([`OptionState::on_ack`]).
    pub(crate) fn on_ack_option(
        &mut self,
        option: Option<&AccEcnOption>,
        delivered: u64,
        sent: u64,
    ) -> OptionBytes {
        let Some(accecn) = self.negotiated_accecn_mut() else { return OptionBytes::default() };
        accecn.option.on_ack(option, delivered, sent, accecn.rules)
    }

    /// CE bytes of an ACK without an option were estimated: later options count them again.
    pub(crate) fn on_estimated(&mut self, bytes: u64) {
        if let Some(accecn) = self.negotiated_accecn_mut() {
            accecn.option.on_reported(bytes as u32);
        }
    }

    /// Compares the CE bytes of an ACK with its ACE field (§3.2.3.2.5). `certain`: the field cannot
    /// have wrapped. Linux does not compare them.
    pub(crate) fn check_consistency(&mut self, bytes: OptionBytes, ace_delta: u8, certain: bool) {
        let Some(accecn) = self.negotiated_accecn_mut() else { return };
        let explained = accecn.option.maybe_marked || ace_delta > 0 || !certain;
        accecn.option.maybe_marked = explained && bytes.counted.is_none();
        let reported = bytes.counted.is_some_and(|bytes| bytes > 0);
        if reported && !explained && accecn.rules == AccEcnRules::Rfc9768 {
            accecn.on_inconsistent_feedback();
        }
    }

    /// Payload bytes received, and delivered by the peer's options, in the order ECT(1), CE,
    /// ECT(0), modulo 2^32.
    pub(crate) fn option_bytes(&self) -> ([u32; 3], [u32; 3]) {
        self.negotiated_accecn().map_or(([0; 3], [0; 3]), |a| a.option.bytes())
    }
}
