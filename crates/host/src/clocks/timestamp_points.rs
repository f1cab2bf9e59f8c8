//! The points on a packet's path through a host where its clock may be read. The table in
//! [`crate::clock`] defines them.

use lowtide_units::Instant;

/// A timestamp point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimestampPoint {
    /// At the line.
    #[default]
    Hardware,
    /// Between the NIC's queue and the host.
    Driver,
    /// In TCP.
    Kernel,
}

/// The times when a packet passed each [`TimestampPoint`] on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxTimes {
    /// TCP created it.
    pub kernel: Instant,
    /// It was passed to the NIC.
    pub driver: Instant,
    /// Its last bit left.
    pub hardware: Instant,
}

/// The times when a packet passed each [`TimestampPoint`] on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RxTimes {
    /// Its last bit arrived.
    pub hardware: Instant,
    /// The host took it from the NIC.
    pub driver: Instant,
    /// TCP receives it.
    pub kernel: Instant,
}
