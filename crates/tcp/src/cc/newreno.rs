//! NewReno: placeholder body, replaced below in the same file by the author of `cc`.

use alloc::boxed::Box;

use super::{
    AckSample, CongestionControl, CongestionEvent, Declares, Entry, Path, Reaction, Signal, Wants,
};
use crate::params::Params;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "newreno",
    summary: "slow start and additive increase, halve on loss or ECN",
    spec: "RFC 5681, RFC 6582, RFC 3168 §6.1.2",
    params: &[],
    declares: Declares {
        reacts_to: &[Signal::Loss, Signal::Ecn],
        floor_segments: 2,
        proportional: false,
        exemptions: &[],
    },
    wants: Wants { ecn: false, host_stamps: false },
    build: |_: &Params, path: &Path| {
        Box::new(NewReno { path: *path, cwnd: path.initial_window, ssthresh: u64::MAX, acked: 0 })
    },
};

#[derive(Debug)]
struct NewReno {
    path: Path,
    cwnd: u64,
    ssthresh: u64,
    acked: u64,
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let mss = u64::from(self.path.mss);
        if ack.ece && ack.may_reduce {
            self.ssthresh = (self.cwnd / 2).max(self.path.floor);
            self.cwnd = self.ssthresh;
            self.acked = 0;
            return Reaction::Reduced;
        }
        if ack.may_grow {
            if self.cwnd < self.ssthresh {
                self.cwnd += ack.acked_bytes.min(self.path.abc_limit);
            } else {
                self.acked += ack.acked_bytes;
                if self.acked >= self.cwnd {
                    self.acked -= self.cwnd;
                    self.cwnd += mss;
                }
            }
        }
        Reaction::None
    }
    fn on_event(&mut self, event: &CongestionEvent) {
        let mss = u64::from(self.path.mss);
        match *event {
            CongestionEvent::Loss { in_flight, .. } => {
                self.ssthresh = (in_flight / 2).max(self.path.floor);
                self.cwnd = self.ssthresh;
            }
            CongestionEvent::Rto { first, in_flight, .. } => {
                if first {
                    self.ssthresh = (in_flight / 2).max(self.path.floor);
                }
                self.cwnd = mss;
            }
            CongestionEvent::IdleRestart { .. } => {
                self.cwnd = self.cwnd.min(self.path.initial_window);
            }
            _ => {}
        }
    }
    fn cwnd(&self) -> u64 {
        self.cwnd
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}
