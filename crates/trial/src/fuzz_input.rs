//! Draws choices from the bytes of one input. Once they are used up, every choice is the first one.

use arbitrary::Unstructured;

#[derive(Debug)]
pub(crate) struct FuzzInput<'a>(Unstructured<'a>);

impl<'a> FuzzInput<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn u16(&mut self) -> u16 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub(crate) fn u32(&mut self) -> u32 {
        self.0.arbitrary().unwrap_or(0)
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// In `low..=high`.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        self.0.int_in_range(low..=high).unwrap_or(low)
    }

    /// In `low..=high`, with every octave equally likely.
    pub(crate) fn log_range(&mut self, low: u64, high: u64) -> u64 {
        let low_or_one = low.max(1);
        let octaves = (high / low_or_one).max(1).ilog2();
        let base = low_or_one << self.range(0, u64::from(octaves));
        let top = base.saturating_mul(2).min(high).max(base);
        self.range(base, top)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.range(0, from.len() as u64 - 1) as usize]
    }

    /// At most `most` bytes from the front.
    pub(crate) fn bytes(&mut self, most: usize) -> &'a [u8] {
        let n = most.min(self.0.len());
        self.0.bytes(n).unwrap_or(&[])
    }

    /// The remaining bytes.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0.take_rest()
    }
}
