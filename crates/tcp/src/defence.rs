//! Choices against blind attackers: segments whose author does not see the connection (RFC 5961), and
//! the limit on the answers to them.

use lowtide_units::{Duration, Instant};

/// Which RST inside the window ends a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RstAccept {
    /// Only one at RCV.NXT itself; others are challenged (RFC 5961 §3.2).
    Exact,
    /// Every one (RFC 793 p. 70).
    InWindow,
}

/// What a SYN in a synchronised state gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SynAnswer {
    /// A challenge ACK, wherever its sequence number lies (RFC 5961 §4.2).
    ChallengeAck,
    /// Inside the window a RST, and the connection ends (RFC 793 p. 71).
    Reset,
}

/// How old an acknowledgement number may be for the segment to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAccept {
    /// Not older than SND.UNA less the largest window that the peer offered (RFC 5961 §5.2).
    MaxWindow,
    /// The same, and not older than what was really sent (Linux since 6.7).
    SentWindow,
    /// As old as can be (RFC 793 p. 72).
    Any,
}

/// Which ACKs the limit on challenge ACKs counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckThrottle {
    /// Challenge ACKs (RFC 5961 §7). An ACK that both ends find unacceptable is answered by an ACK then,
    /// without end: two forged segments bring that about.
    Challenges,
    /// Also those in answer to unacceptable segments that occupy no sequence number (Linux). The driver of
    /// real packets sets this whatever the profile.
    Empty,
}

/// What an acceptable RST does in TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeWaitReset {
    /// Nothing (RFC 1337 §3).
    Ignore,
    /// It ends the wait (RFC 9293 §3.10.7.4).
    End,
}

/// Counts the challenge ACKs of one connection (RFC 5961 §7, FreeBSD `ack_war_cnt`).
///
/// Deviation from the example of that section, which counts for the whole host: a shared count lets an
/// attacker on one connection learn about another (CVE-2016-5696).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ChallengeAckLimiter {
    since: Option<Instant>,
    sent: u32,
}

impl ChallengeAckLimiter {
    /// One more at `now`? At most `limit` in an `interval` that begins with the first of them.
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
