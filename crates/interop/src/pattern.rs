//! Test bytes that both ends know. The peers in C and Go generate the same bytes.

/// Period of the pattern, bytes: a prime, so that no segment size divides it.
const PERIOD: usize = 1_048_573;

/// Endless byte stream of a seed: little-endian words of splitmix64, of which the first [`PERIOD`]
/// bytes repeat.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Vec<u8>);

impl Pattern {
    /// The stream of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        let words = std::iter::repeat_with(|| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        });
        Self(words.flat_map(u64::to_le_bytes).take(PERIOD).collect())
    }

    /// Bytes of the stream from `offset`: at least one, at most `most`, up to the end of the
    /// period.
    pub(crate) fn at(&self, offset: u64, most: usize) -> &[u8] {
        let start = (offset % PERIOD as u64) as usize;
        let end = (start + most.max(1)).min(PERIOD);
        self.0.get(start..end).unwrap_or(&[])
    }
}
