//! Position-dependent payload bytes: each depends on its stream and its offset.

/// One direction of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pattern(u64);

impl Pattern {
    pub(crate) fn new(seed: u64, pair: usize, side: usize) -> Self {
        Self(mix(seed ^ mix(2 * pair as u64 + side as u64 + 1)))
    }

    /// Eight neighbours come from one unique word, so a shift, a swap or a byte of another
    /// connection is detected.
    fn word(self, index: u64) -> [u8; 8] {
        mix(self.0.wrapping_add(index)).to_le_bytes()
    }

    /// Passes the bytes `[start, end)` to `put`.
    pub(crate) fn bytes(self, start: u64, end: u64, mut put: impl FnMut(u8)) {
        let mut at = start;
        while at < end {
            let word = self.word(at / 8);
            let stop = end.min((at / 8 + 1) * 8);
            for offset in at..stop {
                put(word[(offset % 8) as usize]);
            }
            at = stop;
        }
    }
}

fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
