//! Defences against blind attackers, who do not see the connection's segments (RFC 5961), and the
//! limit on challenge ACKs.

use lowtide_units::{Duration, Instant};

/// RST inside the window that ends a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RstAccept {
    /// Only one at exactly RCV.NXT; others get a challenge ACK (RFC 5961 §3.2).
    Exact,
    /// Any (RFC 793 p. 70).
    InWindow,
}

/// Answer to a SYN in a synchronised state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynAnswer {
    /// A challenge ACK, at any sequence number (RFC 5961 §4.2).
    ChallengeAck,
    /// Inside the window a RST, and the connection ends (RFC 793 p. 71).
    Reset,
}

/// Oldest acknowledgement number that is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAccept {
    /// Not older than SND.UNA less the largest window that the peer offered (RFC 5961 §5.2).
    MaxWindow,
    /// As `MaxWindow`, and not older than the data actually sent (Linux since 6.7).
    SentWindow,
    /// Any age (RFC 793 p. 72).
    Any,
}

/// ACKs that count against the challenge-ACK limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckThrottle {
    /// Challenge ACKs (RFC 5961 §7). Two forged segments can then start an endless ACK exchange, in
    /// which both ends answer unacceptable ACKs.
    Challenges,
    /// Also answers to unacceptable segments that occupy no sequence number (Linux). The driver of
    /// real packets sets this for every profile.
    Empty,
}

/// Effect of an acceptable RST in TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeWaitReset {
    /// None (RFC 1337 §3).
    Ignore,
    /// It ends the wait (RFC 9293 §3.10.7.4).
    End,
}

/// Limits the challenge ACKs of one connection (RFC 5961 §7, FreeBSD `ack_war_cnt`).
///
/// Deviation from the example in RFC 5961 §7, which counts per host: a shared count lets an
/// attacker on one connection learn about another (CVE-2016-5696).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ChallengeAckLimiter {
    since: Option<Instant>,
    sent: u32,
}

impl ChallengeAckLimiter {
    /// True if it has counted nothing yet.
    pub(crate) const fn is_unused(&self) -> bool {
        self.since.is_none()
    }

    /// True if one more may be sent at `now`: at most `limit` per `interval`, which begins at the
    /// first.
    pub(crate) fn allows(&mut self, now: Instant, limit: u32, interval: Duration) -> bool {
        if self.since.is_none_or(|since| now.saturating_since(since) >= interval) {
            *self = Self { since: Some(now), sent: 0 };
        }
        let allowed = self.sent < limit;
        self.sent += u32::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttle_counts_from_the_first_of_an_interval() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut throttle = ChallengeAckLimiter::default();
        let mut ask = |ms| throttle.allows(at(ms), 2, Duration::from_ms(500));
        assert_eq!([10, 20, 30, 509].map(&mut ask), [true, true, false, false]);
        assert_eq!([510, 1009, 1009, 5000].map(&mut ask), [true, true, false, true]);
    }

    #[test]
    fn a_limit_of_u32_max_never_ends() {
        let mut throttle = ChallengeAckLimiter { since: Some(Instant::ZERO), sent: u32::MAX - 1 };
        assert!(throttle.allows(Instant::ZERO, u32::MAX, Duration::from_secs(1)));
    }
}
