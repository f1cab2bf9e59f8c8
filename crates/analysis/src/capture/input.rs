//! A buffered input stream, which buffers as much as one record needs.

use std::io::Read;

use super::error::CaptureError;

/// Bytes read from the stream at a time.
const CHUNK: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Input<R> {
    stream: R,
    /// Buffered bytes; those before `start` have been consumed.
    bytes: Vec<u8>,
    start: usize,
    /// Offset of `bytes[start]` in the file.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream, bytes: Vec::new(), start: 0, offset: 0, ended: false }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads until `need` bytes are buffered or the stream ends. Returns the number of buffered
    /// bytes.
    pub(crate) fn fill(&mut self, need: usize) -> Result<usize, CaptureError> {
        while self.bytes.len() - self.start < need && !self.ended {
            if self.start > 0 {
                self.bytes.drain(..self.start);
                self.start = 0;
            }
            let old = self.bytes.len();
            self.bytes.resize(old + CHUNK, 0);
            let read = loop {
                match self.stream.read(&mut self.bytes[old..]) {
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            let offset = self.offset + old as u64;
            self.bytes.truncate(old + *read.as_ref().unwrap_or(&0));
            self.ended = read.map_err(|reason| CaptureError::Read { offset, reason })? == 0;
        }
        Ok(self.bytes.len() - self.start)
    }

    /// Returns the buffered bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or(&[])
    }

    /// Consumes `len` buffered bytes.
    pub(crate) fn take(&mut self, len: usize) -> &[u8] {
        let from = self.start;
        self.start = (from + len).min(self.bytes.len());
        self.offset += (self.start - from) as u64;
        &self.bytes[from..self.start]
    }
}
