//! Processing of bytes from the wire.

use std::net::IpAddr;

use lowtide_tcp::{AccEcnRules, Accepted, Arrival, ConnId, FourTuple, RstAccept, State};
use lowtide_wire::{Addresses, Ecn, Flags, packet};

use crate::pump::brief;
use crate::world::{Packet, World};

impl World {
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        let side = packet.to;
        let Ok((addresses, seg, payload)) = packet::parse(&packet.bytes) else {
            assert!(packet.original.is_some(), "an undamaged packet is refused");
            self.tally.refused_by_wire += 1;
            return;
        };
        if let Some(original) = &packet.original {
            let (a, s, p) = packet::parse(original).expect("it was sent");
            let same = (a, s) == (addresses, seg) && packet.bytes[payload.clone()] == original[p];
            if !same {
                // A 16-bit checksum lets some through. No TCP can detect this; the frame check of a
                // real link would.
                self.tally.undetected += 1;
                return;
            }
        }
        let Addresses::V4 { src, dst } = addresses else { panic!("unexpected IPv6") };
        let mut seg = seg;
        if packet.segments > 1 {
            seg.rx.coalesced = packet.segments;
            seg.rx.ce_coalesced = if seg.ecn == Ecn::Ce { packet.segments } else { 0 };
        }
        let (local, remote) = (IpAddr::V4(dst), IpAddr::V4(src));
        let hint =
            if self.draw.permille(300) { Some(ConnId(self.draw.below(4) as u32)) } else { None };
        let arrival = self.hosts[side].handle_segment(self.now, local, remote, &seg, hint);
        if self.trace {
            println!("{} {side} < {}: {arrival:?}", self.now, brief(&seg));
        }
        match arrival {
            Arrival::Taken(id, accepted) => {
                let end = self.end_of(side, id);
                if packet.genuine {
                    self.ends[end].invariants.arrived(&seg, true);
                }
                self.inspect(end);
                if seg.flags.contains(Flags::RST) {
                    self.note_reset(end, packet);
                }
                self.keep(end, &accepted, &packet.bytes[payload], seg.segments());
                self.pump(end);
            }
            Arrival::Refused(id, _) => {
                self.tally.rejected += 1;
                let end = self.end_of(side, id);
                // Linux counts the ECN field of data that arrives again, forged or not.
                if self.ends[end].plan.config.accecn_rules == AccEcnRules::Linux {
                    self.ends[end].invariants.repeated(&seg);
                }
                if packet.genuine {
                    self.ends[end].invariants.arrived(&seg, false);
                }
                self.inspect(end);
                self.pump(end);
            }
            Arrival::Opened(id) => {
                let tuple = self.hosts[side].tuple(id).expect("just opened");
                let ports = [tuple.remote_port, tuple.local_port];
                let pair = self.pair_of(ports).expect("a SYN of somebody who connects");
                self.begin(pair, side, id, Some(&seg));
            }
            Arrival::Stray => self.tally.strays += 1,
            Arrival::TimeWait => self.tally.time_waits += 1,
            Arrival::BacklogFull => {
                assert!(
                    self.case.pairs.len() > self.case.backlog || !self.case.must_complete,
                    "why?"
                );
                self.tally.backlog_full += 1;
            }
            other => panic!("{other:?}: cookies are off"),
        }
        while let Some((tuple, reply)) = self.hosts[side].poll_reply() {
            self.tally.replies += 1;
            let pair = self.pair_of(ports(side, &tuple)).expect("an answer to somebody");
            self.emit(pair, side, &reply, &[], 1);
        }
    }

    /// Records whether the RST that `end` accepted was a late one of an earlier connection on its
    /// ports, as RFC 793 permits.
    fn note_reset(&mut self, end: usize, packet: &Packet) {
        let e = &mut self.ends[end];
        let conn = self.hosts[e.side].conn(e.id).expect("it took a segment");
        let any = e.plan.config.rst_accept == RstAccept::InWindow;
        let old = packet.genuine && packet.pair < e.pair;
        e.old_reset = conn.state() == State::Closed && !e.is_over() && any && old;
    }

    fn keep(&mut self, end: usize, accepted: &Accepted, payload: &[u8], segments: u32) {
        let (start, stop) = (accepted.stream.start, accepted.stream.end);
        assert!(start <= stop, "{accepted:?}");
        if start < stop {
            let skip = accepted.skip as usize;
            let kept = payload.get(skip..skip + (stop - start) as usize);
            let e = &mut self.ends[end];
            e.inbox.place(start, kept.expect("no more than there is"));
            e.invariants.count_unacked(segments);
        }
    }

    fn end_of(&self, side: usize, id: ConnId) -> usize {
        let found = self.ends.iter().rposition(|e| e.side == side && e.id == id && !e.released);
        found.expect("a connection that was not released")
    }
}

/// The ports of a connection, side 0 first.
fn ports(side: usize, tuple: &FourTuple) -> [u16; 2] {
    let mut ports = [tuple.remote_port; 2];
    ports[side] = tuple.local_port;
    ports
}
