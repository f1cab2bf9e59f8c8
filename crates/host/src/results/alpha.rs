//! DCTCP's congestion estimate, read through the probe interface.

use lowtide_tcp::Connection;
use lowtide_units::{Probe, Unit};

#[derive(Default)]
struct Alpha(Option<u64>);

impl Probe for Alpha {
    fn value(&mut self, name: &'static str, unit: Unit, value: u64) {
        if name == "alpha" && unit == Unit::Q20 {
            self.0 = Some(value);
        }
    }
}

/// Returns DCTCP's alpha in units of 2^-20, if the control has one.
pub(crate) fn alpha(conn: &Connection) -> Option<u64> {
    let mut alpha = Alpha::default();
    conn.probe(&mut alpha);
    alpha.0
}
