//! Named values that a component exposes to a recorder.

/// The unit of a probed value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Segments or packets.
    Packets,
    /// Picoseconds.
    Picoseconds,
    /// A fraction in units of 2^-20: 1048576 is one.
    Q20,
    /// Bits per second.
    BitsPerSecond,
    /// A plain count.
    Count,
}

impl Unit {
    /// The unit of that name, as [`Self::shown`] has it; without one, a fraction.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Q20, Self::Bytes, Self::Packets, Self::Picoseconds, Self::BitsPerSecond];
        all.into_iter().find(|unit| unit.shown(0).0 == name)
    }

    /// A number in this unit as [`Self::shown`] has it, rounded down.
    pub fn read(self, number: f64) -> u64 {
        (number / self.shown(1).1) as u64
    }

    /// A value as tables have it: the name of its unit, and the number. Times are in nanoseconds,
    /// fractions and counts have no unit.
    pub fn shown(self, value: u64) -> (&'static str, f64) {
        let number = value as f64;
        match self {
            Self::Bytes => ("bytes", number),
            Self::Packets => ("packets", number),
            Self::Picoseconds => ("ns", number / 1e3),
            Self::Q20 => ("", number / f64::from(1 << 20)),
            Self::BitsPerSecond => ("bit/s", number),
            Self::Count => ("", number),
        }
    }
}

/// Receives the values that a component exposes.
pub trait Probe {
    /// Receives one value. `name` is the field's name without a unit (`cwnd`, `alpha`).
    fn value(&mut self, name: &str, unit: Unit, value: u64);
}
