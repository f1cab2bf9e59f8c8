//! Time of one direction by the state that kept its sender from sending.
//!
//! Contract: the states exclude each other and sum to the direction's time. Each interval has the
//! states that this capture cannot exclude: a share is certain where no other state is possible.
//! The states follow T-RAT (Zhang et al., SIGCOMM 2002 §3), the limitation scores of Siekkinen et
//! al. (PAM 2005), Web100's triage (Mathis et al., CCR 2003), `tcpEStatsPerfSndLimTime*` of RFC
//! 4898, and Linux's `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited`.

use serde::Serialize;

/// State of a sender, in descending priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has no connection yet.
    Handshake,
    /// Waits for its retransmission timer, or for the tail loss probe's.
    Timeout,
    /// The receiver's window is zero.
    ZeroWindow,
    /// From the first sign of a loss to the ACK of all data sent before its retransmission.
    Recovery,
    /// The next segment does not fit into the receiver's window.
    ReceiveWindow,
    /// The sender has data and waits for ACKs, or for its pacing.
    SenderWindow,
    /// The application offers nothing; in a capture also: the send buffer holds no more.
    NoData,
    /// The send buffer holds no more, which a capture cannot tell from the application.
    SendBuffer,
    /// The host's own queue holds the segments, before any capture.
    HostQueue,
    /// Waits for an ACK that the receiver delays.
    DelayedAck,
    /// Unknown.
    Unknown,
}

impl State {
    pub(super) const ALL: [Self; 11] = [
        Self::Handshake,
        Self::Timeout,
        Self::ZeroWindow,
        Self::Recovery,
        Self::ReceiveWindow,
        Self::SenderWindow,
        Self::NoData,
        Self::SendBuffer,
        Self::HostQueue,
        Self::DelayedAck,
        Self::Unknown,
    ];

    /// Returns its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Timeout => "timeouts",
            Self::ZeroWindow => "zero window",
            Self::Recovery => "loss recovery",
            Self::ReceiveWindow => "receive window",
            Self::SenderWindow => "sender's window",
            Self::NoData => "no data offered",
            Self::SendBuffer => "send buffer",
            Self::HostQueue => "host queue",
            Self::DelayedAck => "delayed ACKs",
            Self::Unknown => "unknown",
        }
    }
}

/// Nanoseconds per state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct StateTime {
    assigned: u64,
    certain: u64,
    possible: u64,
}

/// Time of a sender by state.
#[derive(Clone, Debug, Default)]
pub struct TimeBudget([StateTime; State::ALL.len()]);

impl TimeBudget {
    /// Adds `ns` to `state`; the states `or` are possible too.
    pub fn add(&mut self, state: State, or: &[State], ns: u64) {
        let own = &mut self.0[state as usize];
        own.assigned += ns;
        own.possible += ns;
        if or.iter().all(|s| *s == state) {
            own.certain += ns;
        }
        for other in or.iter().filter(|s| **s != state) {
            self.0[*other as usize].possible += ns;
        }
    }

    /// Moves `ns` from one state to another; both remain possible.
    pub(super) fn reassign(&mut self, from: State, to: State, ns: u64) {
        let old = &mut self.0[from as usize];
        let ns = ns.min(old.assigned);
        old.assigned -= ns;
        old.certain = old.certain.min(old.assigned);
        let new = &mut self.0[to as usize];
        new.assigned += ns;
        new.possible = new.possible.max(new.assigned);
    }

    pub(super) fn of(&self, state: State) -> u64 {
        self.0[state as usize].assigned
    }

    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|s| s.assigned).sum()
    }

    /// Returns the budget of a direction of which nothing but the handshake is visible.
    pub(super) fn unknown(&self) -> Self {
        let mut out = Self::default();
        out.add(State::Handshake, &[], self.of(State::Handshake));
        out.add(State::Unknown, &[], self.total() - self.of(State::Handshake));
        out
    }

    /// Returns the states with a share, assigned or possible.
    pub fn shares(&self) -> Vec<StateShare> {
        let total = self.total().max(1) as f64;
        let percent = |ns: u64| ns as f64 / total * 100.0;
        let rows = State::ALL.into_iter().zip(&self.0).filter(|(_, s)| s.possible > 0);
        rows.map(|(state, s)| StateShare {
            state,
            ns: s.assigned,
            percent: percent(s.assigned),
            certain_percent: percent(s.certain),
            possible_percent: percent(s.possible),
        })
        .collect()
    }
}

/// Share of a state. The percentages of all states sum to 100.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct StateShare {
    /// The state.
    pub state: State,
    /// Nanoseconds.
    pub ns: u64,
    /// Percentage of all.
    pub percent: f64,
    /// The share in which no other state is possible.
    pub certain_percent: f64,
    /// The greatest possible share.
    pub possible_percent: f64,
}

/// Formats shares: each with what is certain and possible if they differ.
pub fn shares_text(shares: &[StateShare]) -> String {
    let rows = shares.iter().filter(|s| s.possible_percent >= 0.5);
    let rows = rows.map(|s| {
        let range = (s.certain_percent, s.possible_percent);
        let range = if range.1 - range.0 < 0.5 {
            String::new()
        } else {
            format!(" ({:.0} to {:.0})", range.0, range.1)
        };
        format!("{} {:.0} %{range}", s.state.name(), s.percent)
    });
    rows.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_to_the_time_and_enclose_their_value() {
        let mut budget = TimeBudget::default();
        budget.add(State::Handshake, &[], 10);
        budget.add(State::SenderWindow, &[State::NoData], 60);
        budget.add(State::NoData, &[], 30);
        budget.reassign(State::SenderWindow, State::NoData, 20);
        let shares = budget.shares();
        assert_eq!(shares.iter().map(|s| s.ns).sum::<u64>(), 100);
        for s in &shares {
            assert!(s.certain_percent <= s.percent && s.percent <= s.possible_percent, "{s:?}");
        }
        let idle = shares.iter().find(|s| s.state == State::NoData).expect("a share");
        assert_eq!((idle.certain_percent, idle.percent, idle.possible_percent), (30.0, 50.0, 90.0));
        assert_eq!(budget.unknown().of(State::Unknown), 90);
    }
}
