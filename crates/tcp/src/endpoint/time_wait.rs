//! Connections in TIME-WAIT, kept small: enough to acknowledge a repeated FIN, to refuse old
//! duplicates, and to let a new SYN in (RFC 9293 §3.6.1, RFC 1122 §4.2.2.13, RFC 6191).

use alloc::collections::BTreeMap;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Segment, SeqNum};

use super::FourTuple;
use crate::connection::Connection;
use crate::timestamps::TimestampState;

#[derive(Debug)]
struct Entry {
    snd_nxt: SeqNum,
    rcv_nxt: SeqNum,
    ts: Option<TimestampState>,
    wait: Duration,
    until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct TimeWaits {
    entries: BTreeMap<FourTuple, Entry>,
}

impl TimeWaits {
    pub(super) fn enter(&mut self, now: Instant, tuple: FourTuple, conn: &Connection) {
        self.entries.retain(|_, e| e.until > now);
        let entry = Entry {
            snd_nxt: conn.snd.seq(conn.snd.nxt),
            rcv_nxt: conn.rcv.seq(conn.rcv.nxt),
            ts: conn.ts,
            wait: conn.config.time_wait,
            until: conn.timers.time_wait,
        };
        self.entries.insert(tuple, entry);
    }

    pub(super) fn holds(&self, now: Instant, tuple: &FourTuple) -> bool {
        self.entries.get(tuple).is_some_and(|e| e.until > now)
    }

    pub(super) fn remove(&mut self, tuple: &FourTuple) {
        self.entries.remove(tuple);
    }

    pub(super) fn len(&mut self, now: Instant) -> usize {
        self.entries.retain(|_, e| e.until > now);
        self.entries.len()
    }

    /// A SYN that is provably newer may open a new incarnation.
    pub(super) fn may_reopen(&self, tuple: &FourTuple, syn: &Segment) -> bool {
        self.entries.get(tuple).is_some_and(|e| {
            let newer_stamp = match (&e.ts, syn.options.timestamps) {
                (Some(ts), Some(option)) => ts.is_newer(option.value),
                _ => false,
            };
            newer_stamp || e.rcv_nxt.before(syn.seq)
        })
    }

    /// The ACK in answer to a segment. None to a RST, which does not end TIME-WAIT (RFC 1337), and
    /// none to an ACK that is as it should be: two ends in TIME-WAIT would answer each other for ever.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        seg: &Segment,
    ) -> Option<Segment> {
        if seg.flags.contains(Flags::RST) {
            return None;
        }
        let entry = self.entries.get_mut(tuple)?;
        if seg.seq_len() == 0 && seg.seq == entry.rcv_nxt {
            return None;
        }
        if seg.flags.contains(Flags::FIN) {
            entry.until = now + entry.wait;
        }
        let mut reply = Segment {
            src_port: tuple.local_port,
            dst_port: tuple.remote_port,
            seq: entry.snd_nxt,
            ack: entry.rcv_nxt,
            flags: Flags::ACK,
            window: u16::MAX,
            ..Segment::default()
        };
        reply.options.timestamps = entry.ts.as_ref().map(|ts| ts.stamp(now));
        Some(reply)
    }
}
