//! Calibration of the stamps of one NIC, where its clock asks for it.

use lowtide_tcp::delay::Spacing;
use lowtide_units::{Duration, HostStamp};

use crate::clock::ClockSpec;

/// Puts stamps apart that are closer than the line allows, in each direction by itself; or does nothing.
#[derive(Debug)]
pub(crate) struct Calibration(Option<Box<Directions>>);

#[derive(Debug, Default)]
struct Directions {
    sent: Spacing,
    received: Spacing,
}

impl Calibration {
    pub(crate) fn new(spec: &ClockSpec) -> Self {
        Self(spec.calibrate.then(Box::default))
    }

    /// It does nothing.
    pub(crate) const fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// The stamp of the next packet that is sent; `on_line` says how long it is on the line.
    #[inline]
    pub(crate) fn sent(
        &mut self,
        stamp: HostStamp,
        on_line: impl FnOnce() -> Duration,
    ) -> HostStamp {
        match &mut self.0 {
            None => stamp,
            Some(ways) => ways.sent.correct(stamp, on_line()),
        }
    }

    /// The stamp of the next packet that is received.
    #[inline]
    pub(crate) fn received(
        &mut self,
        stamp: HostStamp,
        on_line: impl FnOnce() -> Duration,
    ) -> HostStamp {
        match &mut self.0 {
            None => stamp,
            Some(ways) => ways.received.correct(stamp, on_line()),
        }
    }
}
