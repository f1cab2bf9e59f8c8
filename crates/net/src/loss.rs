//! Losses at the entrance of a line: random loss, as in a dummynet pipe, and total loss while the
//! link is down.

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
    /// Returns the losses with this independent probability per packet; `None` if there are none
    /// and the link never fails.
    pub(crate) fn new(rate: Fraction, fails: bool, run_seed: u64, port: u64) -> Option<Self> {
        let ppb = u64::try_from(rate.as_ppb()).unwrap_or(0);
        if ppb == 0 && !fails {
            return None;
        }
        let rng = Seed::derive(run_seed, "port", port, "loss").rng();
        Some(Self { ppb, rng, down: false })
    }

    /// Returns true if the link is down.
    pub(crate) const fn is_down(&self) -> bool {
        self.down
    }

    /// Sets the link down or up.
    pub(crate) fn set_down(&mut self, down: bool) {
        self.down = down;
    }

    /// Returns true if the next packet is lost.
    pub(crate) fn drops_next(&mut self) -> bool {
        self.down || (self.ppb > 0 && self.rng.chance(self.ppb))
    }
}
