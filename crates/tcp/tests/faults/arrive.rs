//! What happens to bytes when they come off the wire.

use std::net::IpAddr;

use lowtide_tcp::{Accepted, Arrival, ConnId, FourTuple};
use lowtide_wire::{Addresses, packet};

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
                // A checksum of 16 bits lets some through. No TCP can tell; the frame check of a
                // real link would.
                self.tally.undetected += 1;
                return;
            }
        }
        let Addresses::V4 { src, dst } = addresses else { panic!("IPv6 out of nowhere") };
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
                    self.ends[end].watch.arrived(&seg, true);
                }
                self.keep(end, &accepted, &packet.bytes[payload]);
                self.pump(end);
            }
            Arrival::Refused(id, _) => {
                self.tally.rejected += 1;
                let end = self.end_of(side, id);
                if packet.genuine {
                    self.ends[end].watch.arrived(&seg, false);
                }
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
            Arrival::BacklogFull => panic!("the backlog is long enough"),
        }
        while let Some((tuple, reply)) = self.hosts[side].poll_reply() {
            self.tally.replies += 1;
            let pair = self.pair_of(ports(side, &tuple)).expect("an answer to somebody");
            self.emit(pair, side, &reply, &[]);
        }
    }

    fn keep(&mut self, end: usize, accepted: &Accepted, payload: &[u8]) {
        let (start, stop) = (accepted.stream.start, accepted.stream.end);
        assert!(start <= stop, "{accepted:?}");
        if start < stop {
            let skip = accepted.skip as usize;
            let kept = payload.get(skip..skip + (stop - start) as usize);
            self.ends[end].inbox.place(start, kept.expect("no more than there is"));
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
