//! What must be true when everything is over.

use lowtide_tcp::CloseReason;
use lowtide_units::Duration;

use crate::case::Open;
use crate::end::End;
use crate::world::World;

impl World {
    pub(crate) fn verdict(&mut self) {
        for end in &self.ends {
            assert!(end.released, "connection {} of side {} is left", end.pair, end.side);
            if end.honest {
                self.judge(end);
            }
        }
        for pair in 0..self.case.pairs.len() {
            let both = |side| self.ends.iter().any(|e| e.pair == pair && e.side == side);
            if self.case.pairs[pair].open == Open::Simultaneous && both(0) && both(1) {
                self.tally.simultaneous += 1;
            }
            if self.case.calm {
                for side in 0..2 {
                    let well = self.ends.iter().any(|e| {
                        e.pair == pair
                            && e.side == side
                            && e.reason == Some(CloseReason::Normal)
                            && e.left() == 0
                            && e.inbox.read_upto() == self.total(pair, 1 - side)
                    });
                    assert!(well, "side {side} of connection {pair} did not end well");
                }
            }
        }
        self.nothing_is_left();
    }

    fn total(&self, pair: usize, side: usize) -> u64 {
        self.case.pairs[pair].ends[side].total
    }

    fn judge(&self, end: &End) {
        let peers = || self.ends.iter().filter(|e| e.pair == end.pair && e.side != end.side);
        let name = format!("side {} of connection {}", end.side, end.pair);
        if end.peer_closed {
            let (got, want) = (end.inbox.read_upto(), self.total(end.pair, 1 - end.side));
            assert_eq!(got, want, "{name}: bytes before the peer's FIN");
            assert!(peers().any(End::has_closed), "{name}: a FIN that nobody sent");
        }
        match end.reason {
            Some(CloseReason::Normal) if end.established => {
                assert!(end.peer_closed && end.has_closed(), "{name}: half closed is not closed");
                let arrived = peers().any(|p| p.inbox.read_upto() == end.out.end());
                assert!(arrived, "{name}: ended well, and not all of it arrived");
            }
            Some(CloseReason::Normal) => assert!(end.has_closed(), "{name}: never opened"),
            Some(CloseReason::Reset | CloseReason::Refused) => {
                assert!(self.resets[end.pair][1 - end.side], "{name}: a RST that nobody sent");
            }
            Some(CloseReason::Aborted | CloseReason::TimedOut) => {}
            None => panic!("{name}: no reason"),
        }
    }

    fn nothing_is_left(&mut self) {
        // Twice the longest TIME-WAIT.
        let late = self.now + Duration::from_secs(10);
        for (side, host) in self.hosts.iter_mut().enumerate() {
            assert!(host.is_empty(), "side {side} has {} connections left", host.len());
            assert!(host.poll_reply().is_none(), "side {side} has an answer left");
            assert_eq!(host.time_waits(late), 0, "side {side}: TIME-WAIT");
            for pair in &self.case.pairs {
                host.unlisten(pair.ports[1]);
            }
            let size = format!("{host:?}").len();
            assert!(size < 1_500, "side {side} holds on to {size} characters of state");
        }
    }
}
