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

/// Receives the values that a component exposes.
pub trait Probe {
    /// Receives one value. `name` is the field's name without a unit (`cwnd`, `alpha`).
    fn value(&mut self, name: &'static str, unit: Unit, value: u64);
}
