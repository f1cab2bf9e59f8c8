//! Timestamps that a data receiver stores until it acknowledges.

use crate::settings::config::DelayEchoRule;

/// The timestamps of arrived segments that are not acknowledged yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingEcho {
    rule: DelayEchoRule,
    /// `t1` of the newest segment.
    sent: u32,
    /// One-way delay of the first, and the sum of the others' excess over it.
    first_one_way: u32,
    excess_sum: i64,
    /// Number of segments; zero: nothing to echo.
    segments: u32,
}

impl PendingEcho {
    pub(crate) const fn new(rule: DelayEchoRule) -> Self {
        Self { rule, sent: 0, first_one_way: 0, excess_sum: 0, segments: 0 }
    }

    /// Adds `segments` segments, of which the newest left at `sent`; `arrived` less `sent` is their
    /// mean one-way delay.
    pub(crate) fn add(&mut self, sent: u32, arrived: u32, segments: u32) {
        let took = arrived.wrapping_sub(sent);
        if self.segments == 0 || self.rule == DelayEchoRule::Newest {
            (self.first_one_way, self.excess_sum, self.segments) = (took, 0, 0);
        }
        self.sent = sent;
        let more = i64::from(took.wrapping_sub(self.first_one_way).cast_signed());
        self.excess_sum = self.excess_sum.saturating_add(more * i64::from(segments));
        self.segments = self.segments.saturating_add(segments);
    }

    /// The `t1` and `t2` to echo, both zero if there is none: `t1` of the newest, and `t2` later by
    /// the mean one-way delay. The sender uses only their difference.
    pub(crate) fn take(&mut self) -> (u32, u32) {
        let Some(more) = self.excess_sum.checked_div(i64::from(self.segments)) else {
            return (0, 0);
        };
        self.segments = 0;
        let arrived = self.sent.wrapping_add(self.first_one_way).wrapping_add(more as u32);
        // Both zero would mean no echo; one nanosecond more is harmless.
        (self.sent, if (self.sent, arrived) == (0, 0) { 1 } else { arrived })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(rule: DelayEchoRule, arrivals: &[(u32, u32, u32)]) -> (u32, u32) {
        let mut echoes = PendingEcho::new(rule);
        for (sent, arrived, n) in arrivals {
            echoes.add(*sent, *arrived, *n);
        }
        let out = echoes.take();
        assert_eq!(echoes.take(), (0, 0), "each is echoed once");
        out
    }

    #[test]
    fn one_ack_for_several_echoes_their_mean_or_the_newest() {
        let two = [(1_000, 11_000, 1), (2_200, 13_800, 1)];
        assert_eq!(echo(DelayEchoRule::Mean, &two), (2_200, 2_200 + 10_800));
        assert_eq!(echo(DelayEchoRule::Newest, &two), (2_200, 13_800));
        assert_eq!(echo(DelayEchoRule::Mean, &[]), (0, 0));
    }

    #[test]
    fn aggregated_segments_weigh_as_many() {
        let three = [(0, 100, 1), (10, 510, 3)];
        assert_eq!(echo(DelayEchoRule::Mean, &three), (10, 10 + 400));
    }

    #[test]
    fn one_way_delays_may_be_negative_and_stamps_may_wrap() {
        // The far clock is 2 s behind: one-way delays are far below zero.
        let behind = |at: u32| at.wrapping_sub(2_000_000_000);
        let times = [(u32::MAX - 999, behind(9_000), 1), (1, behind(12_001), 1)];
        let (sent, arrived) = echo(DelayEchoRule::Mean, &times);
        assert_eq!(sent, 1);
        assert_eq!(arrived.wrapping_sub(sent).wrapping_add(2_000_000_000), 11_000);
    }

    #[test]
    fn a_pair_of_zeros_is_still_an_echo() {
        assert_eq!(echo(DelayEchoRule::Newest, &[(0, 0, 1)]), (0, 1));
    }
}
