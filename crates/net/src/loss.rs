//! What is lost at the entrance of a line: packets at random, as a dummynet pipe has it, and all of
//! them while the line is dead.

use lowtide_sim::{Rng, Seed};
use lowtide_units::Fraction;

/// The losses of one line.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    ppb: u64,
    rng: Rng,
    down: bool,
}

impl Loss {
    /// Packets are lost each on its own with this probability; `None` when none are and the line never
    /// fails.
    pub(crate) fn new(rate: Fraction, fails: bool, run_seed: u64, port: u64) -> Option<Self> {
        let ppb = u64::try_from(rate.as_ppb()).unwrap_or(0);
        if ppb == 0 && !fails {
            return None;
        }
        let rng = Seed::derive(run_seed, "port", port, "loss").rng();
        Some(Self { ppb, rng, down: false })
    }

    /// Whether the line is dead.
    pub(crate) const fn is_down(&self) -> bool {
        self.down
    }

    /// The line dies, or works again.
    pub(crate) fn set_down(&mut self, down: bool) {
        self.down = down;
    }

    /// Whether the next packet is lost.
    pub(crate) fn drops_next(&mut self) -> bool {
        self.down || (self.ppb > 0 && self.rng.chance(self.ppb))
    }
}
