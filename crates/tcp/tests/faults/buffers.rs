//! Byte buffers as in the driver of a real socket.

use std::collections::VecDeque;

use crate::pattern::Pattern;

/// Bytes written to the connection and not acknowledged.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    pattern: Pattern,
    base: u64,
    bytes: VecDeque<u8>,
}

impl SendBuffer {
    pub(crate) fn new(pattern: Pattern) -> Self {
        Self { pattern, base: 0, bytes: VecDeque::new() }
    }

    /// Everything below is acknowledged.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub(crate) fn write(&mut self, n: u64) {
        let end = self.end();
        self.pattern.bytes(end, end + n, |b| self.bytes.push_back(b));
    }

    /// Discards all acknowledged bytes below `below`.
    pub(crate) fn forget(&mut self, below: u64) {
        assert!(below >= self.base, "SND.UNA went back from {} to {below}", self.base);
        assert!(below <= self.end(), "SND.UNA {below} is beyond what was written");
        self.bytes.drain(..(below - self.base) as usize);
        self.base = below;
    }

    pub(crate) fn copy(&self, start: u64, end: u64, out: &mut Vec<u8>) {
        assert!(
            self.base <= start && start <= end && end <= self.end(),
            "asks for bytes {start}..{end} of {}..{}",
            self.base,
            self.end()
        );
        let (start, end) = (start - self.base, end - self.base);
        out.extend(self.bytes.range(start as usize..end as usize));
    }
}

/// Bytes that arrived and were not read, with holes.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    pattern: Pattern,
    limit: u64,
    base: u64,
    readable: u64,
    bytes: VecDeque<Option<u8>>,
}

impl ReceiveBuffer {
    pub(crate) fn new(pattern: Pattern, limit: u64) -> Self {
        Self { pattern, limit, base: 0, readable: 0, bytes: VecDeque::new() }
    }

    pub(crate) fn read_upto(&self) -> u64 {
        self.base
    }

    pub(crate) fn readable(&self) -> u64 {
        self.readable - self.base
    }

    /// Stores `payload` at `start`.
    pub(crate) fn place(&mut self, start: u64, payload: &[u8]) {
        let end = start + payload.len() as u64;
        assert!(start >= self.readable, "bytes from {start} on again, {} is known", self.readable);
        assert!(end <= self.base + self.limit, "{end} is beyond the receive buffer");
        let (start, end) = ((start - self.base) as usize, (end - self.base) as usize);
        if self.bytes.len() < end {
            self.bytes.resize(end, None);
        }
        for (to, from) in self.bytes.range_mut(start..end).zip(payload) {
            *to = Some(*from);
        }
    }

    /// The connection reports that everything below `upto` is readable.
    pub(crate) fn set_readable(&mut self, upto: u64) {
        assert!(upto >= self.readable, "Readable went back from {} to {upto}", self.readable);
        let from = (self.readable - self.base) as usize;
        let to = (upto - self.base) as usize;
        assert!(to <= self.bytes.len(), "readable up to {upto} without the bytes");
        assert!(self.bytes.range(from..to).all(Option::is_some), "a hole below {upto}");
        self.readable = upto;
    }

    /// Reads at most `n` bytes; with `check` they must equal the peer's.
    pub(crate) fn read(&mut self, n: u64, check: bool) -> u64 {
        let n = n.min(self.readable());
        let (start, end) = (self.base, self.base + n);
        let bytes = &mut self.bytes;
        let mut at = start;
        self.pattern.bytes(start, end, |want| {
            let got = bytes.pop_front().flatten();
            assert!(!check || got == Some(want), "byte {at} is {got:?} and not {want}");
            at += 1;
        });
        self.base = end;
        n
    }
}
