//! Reassembly of IP fragments.
//!
//! Contract: at most [`MAX_PACKETS`] packets are incomplete at a time, each of at most
//! [`MAX_FRAGMENTS`] fragments and for 30 s of the capture; beyond, the oldest is given up. Only
//! the first [`MAX_KEPT`] bytes of a packet are kept: they contain its headers. A copy of a
//! fragment is ignored. A packet with overlapping fragments is refused (RFC 5722, RFC 8200 §4.5).

use std::collections::{BTreeMap, VecDeque};

use lowtide_wire::captured::{CapturedIp, FragmentPosition};
use lowtide_wire::{Addresses, Ecn};
use serde::Serialize;

use super::cursor::Cursor;
use super::link::CapturePoint;
use super::skip::SkipReason;

const MAX_PACKETS: usize = 1024;
const MAX_FRAGMENTS: usize = 256;
const MAX_KEPT: usize = 512;
/// Greatest length of a payload: fragments beyond are impossible.
const MAX_LEN: usize = 65_535;
/// Lifetime of an incomplete packet (`net.ipv4.ipfrag_time`), nanoseconds.
const LIFETIME_NS: u64 = 30_000_000_000;

/// Packets put together from fragments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Reassembled {
    /// Packets.
    pub packets: u64,
    /// Fragments of these packets.
    pub fragments: u64,
}

type Key = (CapturePoint, Addresses, u8, u32);

#[derive(Debug)]
struct Pending {
    began: u64,
    /// Header of the first fragment.
    first: Option<CapturedIp>,
    /// Length of the whole payload.
    len: Option<usize>,
    /// Offsets and lengths, ascending, and the bytes of those at the beginning.
    pieces: Vec<(usize, usize, Vec<u8>)>,
    ecn: Ecn,
    refused: bool,
}

#[derive(Debug, Default)]
pub(super) struct Fragments {
    pending: BTreeMap<Key, Pending>,
    /// Keys by age; those of completed packets remain until they are the oldest.
    ages: VecDeque<(Key, u64)>,
    pub(super) reassembled: Reassembled,
}

impl Fragments {
    /// Adds a fragment. Returns the header of the whole packet, the start of its payload, and its
    /// length if the fragment completes it.
    pub(super) fn add(
        &mut self,
        time: u64,
        point: CapturePoint,
        ip: &CapturedIp,
        position: FragmentPosition,
        payload: Cursor<'_>,
    ) -> Result<(CapturedIp, Vec<u8>, usize), SkipReason> {
        // The protocol identifies an IPv4 packet; that of IPv6 fragments may differ (RFC 8200).
        let protocol = if ip.identification.is_some() { ip.protocol } else { 0 };
        let key = (point, ip.addresses, protocol, position.id);
        let piece = payload.bytes.get(..payload.bytes.len().min(MAX_KEPT)).unwrap_or(&[]);
        let piece = if position.offset < MAX_KEPT { piece } else { &[] };
        let is_stale = |p: &Pending| {
            // The identification was used again (RFC 4963).
            let again = p.pieces.iter().any(|(at, len, bytes)| {
                (*at, *len) == (position.offset, payload.len) && bytes != piece
            });
            again || time.saturating_sub(p.began) > LIFETIME_NS
        };
        if self.pending.get(&key).is_none_or(is_stale) {
            self.begin(key, time);
        }
        let Some(pending) = self.pending.get_mut(&key) else { return Err(SkipReason::Fragment) };
        let added = pending.add(ip, position, payload.len, piece);
        pending.refused |= added == Err(SkipReason::OverlappingFragment);
        added?;
        let Some(whole) = pending.whole() else { return Err(SkipReason::Fragment) };
        self.reassembled.packets += 1;
        self.reassembled.fragments += pending.pieces.len() as u64;
        self.pending.remove(&key);
        Ok(whole)
    }

    fn begin(&mut self, key: Key, time: u64) {
        while self.ages.len() >= MAX_PACKETS {
            let Some((oldest, began)) = self.ages.pop_front() else { break };
            if self.pending.get(&oldest).is_some_and(|p| p.began == began) {
                self.pending.remove(&oldest);
            }
        }
        self.ages.push_back((key, time));
        let ecn = Ecn::NotEct;
        let pieces = Vec::new();
        let new = Pending { began: time, first: None, len: None, pieces, ecn, refused: false };
        self.pending.insert(key, new);
    }
}

impl Pending {
    fn add(
        &mut self,
        ip: &CapturedIp,
        position: FragmentPosition,
        len: usize,
        piece: &[u8],
    ) -> Result<(), SkipReason> {
        let (offset, end) = (position.offset, position.offset + len);
        let at = self.pieces.partition_point(|p| p.0 < offset);
        let next = self.pieces.get(at);
        if !self.refused && next.is_some_and(|p| (p.0, p.1) == (offset, len)) {
            return Err(SkipReason::Fragment);
        }
        let before = at.checked_sub(1).and_then(|i| self.pieces.get(i));
        let overlaps = before.is_some_and(|p| p.0 + p.1 > offset)
            || next.is_some_and(|p| end > p.0)
            || self.len.is_some_and(|all| end > all || (!position.more && end != all))
            || (!position.more && self.pieces.last().is_some_and(|p| p.0 + p.1 > end));
        let impossible = len == 0 || end > MAX_LEN || (position.more && !len.is_multiple_of(8));
        if self.refused || overlaps || impossible || self.pieces.len() >= MAX_FRAGMENTS {
            return Err(SkipReason::OverlappingFragment);
        }
        // CE of one fragment is CE of the packet (RFC 3168 §5.3).
        if self.pieces.is_empty() || ip.ecn == Ecn::Ce {
            self.ecn = ip.ecn;
        }
        if offset == 0 {
            self.first = Some(*ip);
        }
        if !position.more {
            self.len = Some(end);
        }
        self.pieces.insert(at, (offset, len, piece.to_vec()));
        Ok(())
    }

    /// Returns the packet if it is complete.
    fn whole(&self) -> Option<(CapturedIp, Vec<u8>, usize)> {
        let (first, len) = (self.first?, self.len?);
        if self.pieces.iter().map(|p| p.1).sum::<usize>() != len {
            return None;
        }
        let mut bytes = Vec::with_capacity(MAX_KEPT);
        for (offset, _, piece) in &self.pieces {
            // A fragment that was captured without its end leaves a gap.
            if *offset != bytes.len() {
                break;
            }
            bytes.extend(piece);
        }
        Some((CapturedIp { ecn: self.ecn, ..first }, bytes, len))
    }
}
