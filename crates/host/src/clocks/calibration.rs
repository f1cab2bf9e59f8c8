//! Calibration of the stamps of one NIC, if its clock requests it.

use lowtide_tcp::delay::Spacing;
use lowtide_units::{Duration, HostStamp};

use super::clock::ClockSpec;

/// Separates stamps that are closer than the line allows, per direction; or does nothing.
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

    /// Returns true if calibration is off.
    pub(crate) const fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// Corrects the stamp of the next sent packet; `on_line` returns its serialisation time.
    #[inline]
    pub(crate) fn sent(
        &mut self,
        stamp: HostStamp,
        on_line: impl FnOnce() -> Duration,
    ) -> HostStamp {
        match &mut self.0 {
            None => stamp,
            Some(directions) => directions.sent.correct(stamp, on_line()),
        }
    }

    /// Corrects the stamp of the next received packet.
    #[inline]
    pub(crate) fn received(
        &mut self,
        stamp: HostStamp,
        on_line: impl FnOnce() -> Duration,
    ) -> HostStamp {
        match &mut self.0 {
            None => stamp,
            Some(directions) => directions.received.correct(stamp, on_line()),
        }
    }
}
