//! Random loss at the entrance of a line, as a dummynet pipe has it.

use lowtide_sim::{Rng, Seed};
use lowtide_units::Parts;

/// The losses of one line.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    ppb: u64,
    rng: Rng,
}

impl Loss {
    /// Packets are lost each on its own with this probability; `None` when none are.
    pub(crate) fn new(rate: Parts, run_seed: u64, port: u64) -> Option<Box<Self>> {
        let ppb = u64::try_from(rate.as_ppb()).ok().filter(|ppb| *ppb > 0)?;
        let rng = Seed::derive(run_seed, "port", port, "loss").rng();
        Some(Box::new(Self { ppb, rng }))
    }

    /// Whether the next packet is lost.
    pub(crate) fn takes_one(&mut self) -> bool {
        self.rng.chance(self.ppb)
    }
}
