//! Random generator: xoshiro256++ (Blackman, Vigna 2019), seeded through splitmix64.
//!
//! Implemented here (thirty lines) so that no library release can change a result.

use std::hint::cold_path;

use crate::seed::{GAMMA, Seed, mix64};

/// A pseudo-random generator with 256 bits of state. Not cryptographic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// Returns a generator whose state is the first four outputs of splitmix64 started at `seed`.
    pub fn new(seed: Seed) -> Self {
        let mut z = seed.value();
        Self([(); 4].map(|()| {
            z = z.wrapping_add(GAMMA);
            mix64(z)
        }))
    }
    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }
    /// Returns an integer in `0..n`, each equally likely; 0 when `n` is 0.
    ///
    /// Multiply and reject (Lemire 2019): no bias, nearly always one draw.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            cold_path();
            // 2^64 mod n: products whose low half is smaller belong to an incomplete cycle.
            let reject = n.wrapping_neg() % n;
            while (wide as u64) < reject {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }
}

impl Seed {
    /// Returns a generator with this seed.
    pub fn rng(self) -> Rng {
        Rng::new(self)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn equals_the_reference() {
        for seed in [0, 1, 42, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut ours = Seed(seed).rng();
            let mut theirs = Xoshiro256PlusPlus::seed_from_u64(seed);
            for i in 0..10_000 {
                assert_eq!(ours.next_u64(), theirs.next_u64(), "seed {seed}, draw {i}");
            }
        }
    }

    #[test]
    fn golden_vectors() {
        // Pinned here too, in case the reference above changes.
        let mut rng = Rng([1, 2, 3, 4]);
        let want = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!([(); 4].map(|()| rng.next_u64()), want);
    }

    #[test]
    fn below_is_in_range_and_uniform() {
        let mut rng = Seed(7).rng();
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[rng.below(6) as usize] += 1;
        }
        // Five standard deviations around 10000.
        assert!(seen.iter().all(|&n| (9_543..=10_457).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn below_has_no_bias() {
        // Of 2^64 draws scaled to n = 3 x 2^62 without rejection, half give a multiple of three.
        let n = 3 << 62;
        let mut rng = Seed(8).rng();
        let multiples = (0..20_000).filter(|_| rng.below(n).is_multiple_of(3)).count();
        assert!((6_334..=7_000).contains(&multiples), "{multiples} of 20000");
    }
}
