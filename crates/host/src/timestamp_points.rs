//! The places on a packet's way through a host where its clock may be read. [`crate::clock`] has the
//! table of what happens at each.

use lowtide_units::Instant;

/// Where a stamp is taken.
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

/// When a packet passed each [`TimestampPoint`] on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxTimes {
    /// TCP made it.
    pub kernel: Instant,
    /// It was handed to the NIC.
    pub driver: Instant,
    /// Its last bit left.
    pub hardware: Instant,
}

/// When a packet passed each [`TimestampPoint`] on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RxTimes {
    /// Its last bit came.
    pub hardware: Instant,
    /// The host took it off the NIC.
    pub driver: Instant,
    /// TCP gets it.
    pub kernel: Instant,
}
