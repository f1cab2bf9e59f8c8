//! The places on a packet's way through a host where its clock may be read. [`crate::clock`] has the
//! table of what happens at each.

use lowtide_units::Instant;

/// Where a stamp is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Place {
    /// At the line.
    #[default]
    Hardware,
    /// Between the NIC's queue and the host.
    Driver,
    /// In TCP.
    Kernel,
}

/// When a packet passed each [`Place`] on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// TCP made it.
    pub made: Instant,
    /// It was handed to the NIC.
    pub handed: Instant,
    /// Its last bit left.
    pub left: Instant,
}

/// When a packet passed each [`Place`] on its way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its last bit came.
    pub came: Instant,
    /// The host took it off the NIC.
    pub taken: Instant,
    /// TCP gets it.
    pub given: Instant,
}
