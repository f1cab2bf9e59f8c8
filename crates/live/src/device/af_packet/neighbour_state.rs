//! Reachability of one neighbour, as neighbour unreachability detection has it (RFC 4861 §7.3).
//! ARP uses the same states, as in Linux.
//!
//! Contract: no socket, no clock, no frame. [`NeighbourState::on_send`] is called for each packet
//! to the neighbour, [`NeighbourState::on_claim`] for each message about its link-layer address,
//! [`NeighbourState::on_forward_progress`] when TCP shows that packets reach it.
//! [`NeighbourState::handle_timeout`] is due at [`NeighbourState::deadline`].
//!
//! Deviations, stricter than the RFC:
//! - The Solicited flag counts only while a solicitation is unanswered (INCOMPLETE, PROBE). A
//!   forged advertisement makes another address REACHABLE only in these states.
//! - After an unsolicited change of the address, forward progress does not confirm the new one
//!   until a solicitation was answered: the ACK may be for data that the old address delivered.
//!   DELAY, which waits for such progress, is skipped: the first packet starts PROBE.

use lowtide_units::{Duration, Instant};

use super::frame::Mac;

/// Time in DELAY, in which TCP may confirm a neighbour without a probe (RFC 4861 §10).
pub(super) const DELAY_FIRST_PROBE_TIME: Duration = Duration::from_secs(5);
/// Interval of solicitations (RFC 4861 §10).
pub(super) const RETRANS_TIMER: Duration = Duration::from_secs(1);
/// Solicitations of an unresolved neighbour (RFC 4861 §10).
pub(super) const MAX_MULTICAST_SOLICIT: u32 = 3;
/// Solicitations of a neighbour in PROBE (RFC 4861 §10).
pub(super) const MAX_UNICAST_SOLICIT: u32 = 3;
/// Mean time that a confirmation is valid (RFC 4861 §10).
pub(super) const REACHABLE_TIME: Duration = Duration::from_secs(30);
/// Time in which an ARP message does not replace an address: of several replies to one request the
/// first counts (Linux: `locktime`).
pub(super) const LOCKTIME: Duration = Duration::from_secs(1);

/// State of neighbour unreachability detection (RFC 4861 §7.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reachability {
    /// Its address is unknown; `sent` solicitations are unanswered.
    Incomplete { sent: u32 },
    /// Confirmed; valid until that time.
    Reachable { until: Instant },
    /// Not confirmed, and not used since.
    Stale,
    /// Used since; TCP may confirm it before it is probed.
    Delay,
    /// `sent` unicast solicitations are unanswered.
    Probe { sent: u32 },
}

/// Whether a message may replace a known address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Override {
    /// The Override flag, a solicitation for our address, gratuitous ARP.
    Always,
    /// An advertisement without the Override flag.
    Never,
    /// Other ARP messages: once the address is older than [`LOCKTIME`].
    AfterLocktime,
}

/// A message about a neighbour's link-layer address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim {
    /// The address; `None` if an advertisement has none.
    pub(super) mac: Option<Mac>,
    /// Whether it says that it answers a solicitation of ours.
    pub(super) solicited: bool,
    /// Whether it may replace a known address.
    pub(super) overrides: Override,
}

/// Consequence of a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeoutAction {
    /// No timer is due.
    Nothing,
    /// Send a solicitation to all hosts.
    SolicitMulticast,
    /// Send a solicitation to this address only.
    SolicitUnicast(Mac),
    /// The neighbour does not answer: forget it.
    Forget,
}

/// State of a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NeighbourState {
    reachability: Reachability,
    /// Its address; `None` while INCOMPLETE.
    mac: Option<Mac>,
    /// Time of the next timeout.
    deadline: Instant,
    /// Time at which the address was set or confirmed by an answer.
    updated: Instant,
    /// An unsolicited message has replaced the address, and no answer has confirmed it.
    replaced: bool,
    /// Whether it was ever confirmed.
    was_confirmed: bool,
}

impl NeighbourState {
    /// An unresolved neighbour. Its first solicitation is due at `now`.
    pub(super) const fn incomplete(now: Instant) -> Self {
        Self {
            reachability: Reachability::Incomplete { sent: 0 },
            mac: None,
            deadline: now,
            updated: now,
            replaced: false,
            was_confirmed: false,
        }
    }

    /// Its address, if known.
    pub(super) const fn mac(&self) -> Option<Mac> {
        self.mac
    }

    /// Whether it has ever answered a solicitation or acknowledged data.
    pub(super) const fn was_confirmed(&self) -> bool {
        self.was_confirmed
    }

    /// Time at which [`Self::handle_timeout`] is due; [`Instant::FAR_FUTURE`] for none.
    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    #[cfg(test)]
    pub(super) const fn reachability(&self) -> Reachability {
        self.reachability
    }

    fn enter(&mut self, reachability: Reachability, deadline: Instant) {
        (self.reachability, self.deadline) = (reachability, deadline);
    }

    /// A packet is sent to the neighbour.
    pub(super) fn on_send(&mut self, now: Instant) {
        let stale = match self.reachability {
            Reachability::Reachable { until } => now >= until,
            Reachability::Stale => true,
            _ => false,
        };
        if stale && self.replaced {
            self.enter(Reachability::Probe { sent: 0 }, now);
        } else if stale {
            self.enter(Reachability::Delay, now + DELAY_FIRST_PROBE_TIME);
        }
    }

    /// Handles a message (RFC 4861 §7.2.3, §7.2.5). A confirmation is valid for `reachable_time`.
    pub(super) fn on_claim(&mut self, now: Instant, claim: Claim, reachable_time: Duration) {
        let unanswered = matches!(
            self.reachability,
            Reachability::Incomplete { .. } | Reachability::Probe { .. }
        );
        let answers = claim.solicited && unanswered;
        let mac = claim.mac.or(self.mac);
        if mac.is_none() {
            return;
        }
        let differs = mac != self.mac;
        let overrides = match claim.overrides {
            Override::Always => true,
            Override::Never => false,
            Override::AfterLocktime => now.saturating_since(self.updated) >= LOCKTIME,
        };
        if differs && self.mac.is_some() {
            if !overrides {
                if matches!(self.reachability, Reachability::Reachable { .. }) {
                    self.enter(Reachability::Stale, Instant::FAR_FUTURE);
                }
                return;
            }
            self.replaced = true;
        }
        if differs {
            (self.mac, self.updated) = (mac, now);
        }
        if answers {
            (self.replaced, self.updated) = (false, now);
            self.confirm(now, reachable_time);
        } else if differs {
            self.enter(Reachability::Stale, Instant::FAR_FUTURE);
        }
    }

    /// TCP shows that packets arrive: new data was acknowledged (RFC 4861 §7.3.1).
    pub(super) fn on_forward_progress(&mut self, now: Instant, reachable_time: Duration) {
        if self.mac.is_some() && !self.replaced {
            self.confirm(now, reachable_time);
        }
    }

    fn confirm(&mut self, now: Instant, reachable_time: Duration) {
        self.was_confirmed = true;
        let until = now + reachable_time;
        self.enter(Reachability::Reachable { until }, Instant::FAR_FUTURE);
    }

    /// Handles the timer (RFC 4861 §7.2.2, §7.3.3).
    pub(super) fn handle_timeout(&mut self, now: Instant) -> TimeoutAction {
        if now < self.deadline {
            return TimeoutAction::Nothing;
        }
        let next = now + RETRANS_TIMER;
        match (self.reachability, self.mac) {
            (Reachability::Incomplete { sent }, _) if sent < MAX_MULTICAST_SOLICIT => {
                self.enter(Reachability::Incomplete { sent: sent + 1 }, next);
                TimeoutAction::SolicitMulticast
            }
            (Reachability::Delay, Some(mac)) => {
                self.enter(Reachability::Probe { sent: 1 }, next);
                TimeoutAction::SolicitUnicast(mac)
            }
            (Reachability::Probe { sent }, Some(mac)) if sent < MAX_UNICAST_SOLICIT => {
                self.enter(Reachability::Probe { sent: sent + 1 }, next);
                TimeoutAction::SolicitUnicast(mac)
            }
            _ => TimeoutAction::Forget,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: Mac = [2, 0, 0, 0, 0, 1];
    const NEW: Mac = [2, 0, 0, 0, 0, 9];
    const VALID: Duration = REACHABLE_TIME;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// States of the table in RFC 4861, appendix C.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Name {
        Incomplete,
        Reachable,
        Stale,
        Delay,
        Probe,
        Gone,
    }
    use Name::*;

    const ALL: [Name; 5] = [Incomplete, Reachable, Stale, Delay, Probe];

    fn name(state: &NeighbourState) -> Name {
        match state.reachability() {
            Reachability::Incomplete { .. } => Incomplete,
            Reachability::Reachable { .. } => Reachable,
            Reachability::Stale => Stale,
            Reachability::Delay => Delay,
            Reachability::Probe { .. } => Probe,
        }
    }

    fn claim(mac: Option<Mac>, solicited: bool, overrides: Override) -> Claim {
        Claim { mac, solicited, overrides }
    }

    /// A neighbour at `OLD` in that state at 100 s, which it has had for at least [`LOCKTIME`].
    fn neighbour(wanted: Name) -> NeighbourState {
        let mut n = NeighbourState::incomplete(at(60_000));
        assert_eq!(n.handle_timeout(at(60_000)), TimeoutAction::SolicitMulticast);
        if wanted != Incomplete {
            n.on_claim(at(60_000), claim(Some(OLD), true, Override::Always), VALID);
        }
        match wanted {
            Reachable => {
                n.on_forward_progress(at(99_000), VALID);
            }
            Stale => {
                let elsewhere = claim(Some(NEW), false, Override::Never);
                n.on_claim(at(61_000), elsewhere, VALID);
            }
            Delay => n.on_send(at(99_000)),
            Probe => {
                n.on_send(at(94_500));
                assert_eq!(n.handle_timeout(at(99_500)), TimeoutAction::SolicitUnicast(OLD));
            }
            _ => {}
        }
        assert_eq!(name(&n), wanted);
        n
    }

    /// The rows of RFC 4861, appendix C, for messages: event, states before, state after, address
    /// after. `None` keeps the state.
    #[test]
    fn messages_follow_the_table_of_rfc_4861_appendix_c() {
        type Row = (&'static str, Claim, &'static [Name], Option<Name>, Mac);
        let na = claim;
        let known: &[Name] = &[Reachable, Stale, Delay, Probe];
        let (yes, no) = (Override::Always, Override::Never);
        let table: [Row; 13] = [
            ("NA S=0, another", na(Some(NEW), false, no), &[Incomplete], Some(Stale), NEW),
            ("NA S=1, another", na(Some(NEW), true, no), &[Incomplete], Some(Reachable), NEW),
            ("NA S=1 O=0, the same", na(Some(OLD), true, no), &[Probe], Some(Reachable), OLD),
            ("NA S=1 O=0, another", na(Some(NEW), true, no), &[Reachable], Some(Stale), OLD),
            ("NA S=1 O=0, another", na(Some(NEW), true, no), &[Stale, Delay, Probe], None, OLD),
            ("NA S=1 O=1, another", na(Some(NEW), true, yes), &[Probe], Some(Reachable), NEW),
            ("NA S=0 O=1, the same", na(Some(OLD), false, yes), known, None, OLD),
            ("NA S=0 O=1, another", na(Some(NEW), false, yes), known, Some(Stale), NEW),
            ("NA S=0 O=0, another", na(Some(NEW), false, no), &[Reachable], Some(Stale), OLD),
            ("NA S=0 O=0, another", na(Some(NEW), false, no), &[Stale, Delay, Probe], None, OLD),
            ("NA S=1, no address", na(None, true, yes), &[Probe], Some(Reachable), OLD),
            ("NA S=0, no address", na(None, false, yes), known, None, OLD),
            // The stricter rule: nothing was asked.
            ("NA S=1 O=1, another", na(Some(NEW), true, yes), &[Reachable], Some(Stale), NEW),
        ];
        for (event, claim, states, after, mac) in table {
            for before in states {
                let mut n = neighbour(*before);
                n.on_claim(at(100_000), claim, VALID);
                assert_eq!(name(&n), after.unwrap_or(*before), "{event} in {before:?}");
                assert_eq!(n.mac(), Some(mac), "{event} in {before:?}");
            }
        }
        let mut n = neighbour(Incomplete);
        n.on_claim(at(100_000), na(None, true, yes), VALID);
        assert_eq!((name(&n), n.mac()), (Incomplete, None), "no address to record");
    }

    /// The rows of appendix C for packets, timers and upper layers.
    #[test]
    fn packets_timers_and_tcp_follow_the_table_of_rfc_4861_appendix_c() {
        for before in ALL {
            let mut n = neighbour(before);
            n.on_send(at(100_000));
            let after = if before == Stale { Delay } else { before };
            assert_eq!(name(&n), after, "a packet in {before:?}");

            let mut n = neighbour(before);
            n.on_forward_progress(at(100_000), VALID);
            let after = if before == Incomplete { Incomplete } else { Reachable };
            assert_eq!(name(&n), after, "forward progress in {before:?}");
        }
        // (state, timeouts until it is left, state after them)
        for (before, timeouts, after) in
            [(Incomplete, 3, Gone), (Delay, 1, Probe), (Probe, 3, Gone)]
        {
            let mut n = neighbour(before);
            let mut fate = before;
            for _ in 0..timeouts {
                assert_eq!(fate, before);
                let action = n.handle_timeout(n.deadline());
                fate = if action == TimeoutAction::Forget { Gone } else { name(&n) };
            }
            assert_eq!(fate, after, "{timeouts} timeouts in {before:?}");
        }
        for idle in [Reachable, Stale] {
            assert_eq!(neighbour(idle).deadline(), Instant::FAR_FUTURE, "{idle:?} has no timer");
        }
    }

    /// A forged gratuitous ARP: the address is used at most 3 s, then the neighbour is resolved
    /// again.
    #[test]
    fn a_forged_address_is_probed_at_once_and_forgotten_after_3_seconds() {
        let mut n = neighbour(Reachable);
        n.on_claim(at(100_000), claim(Some(NEW), false, Override::Always), VALID);
        n.on_send(at(100_000));
        let mut seen = Vec::new();
        for ms in (100_000..120_000).step_by(100) {
            // ACKs of data that arrived at the true address.
            n.on_forward_progress(at(ms), VALID);
            n.on_send(at(ms));
            match n.handle_timeout(at(ms)) {
                TimeoutAction::Nothing => {}
                action => seen.push((ms, action)),
            }
            if seen.last().is_some_and(|(_, action)| *action == TimeoutAction::Forget) {
                break;
            }
        }
        let probe = TimeoutAction::SolicitUnicast(NEW);
        let expected = [
            (100_000, probe),
            (101_000, probe),
            (102_000, probe),
            (103_000, TimeoutAction::Forget),
        ];
        assert_eq!(seen, expected);
    }

    /// A host that has really moved answers the probe, and TCP confirms it from then on.
    #[test]
    fn a_moved_host_is_confirmed_by_its_answer() {
        let mut n = neighbour(Reachable);
        n.on_claim(at(100_000), claim(Some(NEW), false, Override::Always), VALID);
        n.on_send(at(100_000));
        assert_eq!(n.handle_timeout(at(100_000)), TimeoutAction::SolicitUnicast(NEW));
        n.on_claim(at(100_001), claim(Some(NEW), true, Override::Always), VALID);
        assert_eq!(n.reachability(), Reachability::Reachable { until: at(130_001) });
        n.on_forward_progress(at(120_000), VALID);
        assert_eq!(n.reachability(), Reachability::Reachable { until: at(150_000) });
    }

    #[test]
    fn of_several_arp_replies_the_first_counts_and_later_messages_replace_it() {
        let arp = |mac, solicited| claim(Some(mac), solicited, Override::AfterLocktime);
        let mut n = neighbour(Incomplete);
        n.on_claim(at(60_500), arp(OLD, true), VALID);
        n.on_claim(at(61_499), arp(NEW, true), VALID);
        assert_eq!((n.mac(), name(&n)), (Some(OLD), Stale), "within the locktime");
        n.on_claim(at(61_500), arp(NEW, true), VALID);
        assert_eq!((n.mac(), name(&n)), (Some(NEW), Stale));
    }

    #[test]
    fn a_neighbour_in_use_is_confirmed_by_tcp_without_any_probe() {
        let mut n = neighbour(Reachable);
        for second in 100..200 {
            n.on_send(at(second * 1000));
            n.on_forward_progress(at(second * 1000 + 5), VALID);
            assert_eq!(n.handle_timeout(at(second * 1000 + 10)), TimeoutAction::Nothing);
        }
        n.on_send(at(229_004));
        assert_eq!(name(&n), Reachable);
        n.on_send(at(229_006));
        assert_eq!((name(&n), n.deadline()), (Delay, at(234_006)));
    }

    proptest! {
        /// For all unsolicited messages: an address that never answers is used at most 3 s after
        /// its last change, and is never REACHABLE.
        #[test]
        fn unsolicited_messages_never_confirm_an_address(
            events in proptest::collection::vec((0..4_u8, any::<bool>(), 0..1500_u64), 1..60),
        ) {
            let mut n = neighbour(Reachable);
            let mut now = 100_000;
            n.on_claim(at(now), claim(Some(NEW), false, Override::Always), VALID);
            let mut changed = now;
            for (kind, old, wait) in events {
                now += wait;
                n.on_send(at(now));
                let before = n.mac();
                match kind {
                    0 => {
                        let mac = if old { OLD } else { NEW };
                        n.on_claim(at(now), claim(Some(mac), false, Override::Always), VALID);
                    }
                    1 => n.on_forward_progress(at(now), VALID),
                    2 => n.on_claim(at(now), claim(None, false, Override::Never), VALID),
                    _ => {}
                }
                if n.mac() != before {
                    changed = now;
                    n.on_send(at(now));
                }
                prop_assert_ne!(name(&n), Reachable);
                if n.handle_timeout(at(now)) == TimeoutAction::Forget {
                    return Ok(());
                }
                // Timers are handled once for an event here, so each may be late by one event.
                prop_assert!(now <= changed + 3_000 + 4 * 1_500);
            }
        }
    }
}
