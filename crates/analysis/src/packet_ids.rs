//! IPv4 identifications of one end: packets that did not reach the capture.
//!
//! Contract: says nothing unless the end counts its packets of the connection one by one, as Linux
//! does (`inet_id`); zero (RFC 6864 §4.1), random and shared counters tell nothing.

/// Steps of the identification that are needed.
const MIN_STEPS: u64 = 8;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketIds {
    last: Option<u16>,
    steps: u64,
    ones: u64,
    missing: u64,
    /// Packets that are missing before the last one: a greater step is none of a counter.
    gap: u64,
}

impl PacketIds {
    pub(super) fn add(&mut self, id: Option<u16>) {
        self.gap = 0;
        let Some(id) = id else { return };
        let Some(last) = self.last.replace(id) else { return };
        self.steps += 1;
        match id.wrapping_sub(last).cast_signed() {
            1 => self.ones += 1,
            step @ 2..=256 => {
                self.gap = u64::from(step.unsigned_abs()) - 1;
                self.missing += self.gap;
            }
            // It was overtaken: it is not missing.
            -256..=-1 => {
                self.missing = self.missing.saturating_sub(1);
                self.last = Some(last);
            }
            _ => {}
        }
    }

    fn count_one_by_one(&self) -> bool {
        self.steps >= MIN_STEPS && self.ones * 10 >= self.steps * 7
    }

    /// Returns the packets that did not reach the capture, if the identifications tell.
    pub(super) fn missing(&self) -> Option<u64> {
        self.count_one_by_one().then_some(self.missing)
    }

    /// Returns the packets missing just before the last one, if the identifications tell.
    pub(super) fn gap(&self) -> Option<u64> {
        self.count_one_by_one().then_some(self.gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_packets_are_counted_where_identifications_tell() {
        let of = |ids: &[u16]| {
            let mut all = PacketIds::default();
            for id in ids {
                all.add(Some(*id));
            }
            (all.missing(), all.gap())
        };
        let counted: Vec<u16> = (65_530..=65_535).chain(0..10).collect();
        assert_eq!(of(&counted), (Some(0), Some(0)));
        assert_eq!(of(&[&counted[..], &[14]].concat()), (Some(4), Some(4)));
        // One of them comes late.
        assert_eq!(of(&[&counted[..], &[14, 11, 15]].concat()), (Some(3), Some(0)));
        assert_eq!(of(&[0; 20]), (None, None));
        assert_eq!(of(&[7, 40_000, 9, 3, 60_000, 1, 77, 5, 900, 2]), (None, None));
    }
}
