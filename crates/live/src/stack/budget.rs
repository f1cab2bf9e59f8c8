//! One budget of memory for all connections of an endpoint. Its thresholds are those of `net.ipv4.tcp_mem` in Linux.
//!
//! Contract: every byte that a connection makes this host keep is charged: its state, payload that
//! waits to be acknowledged or read, data beyond a gap. Below half of the limit nothing happens. Above
//! it ([`Budget::under_pressure`]) each connection may use its fair share, so that all together reach the
//! limit and no more. At the limit orphans and data beyond gaps go first, and nothing new comes in.

/// Memory charged to one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Charge {
    /// Bytes.
    pub(super) total: usize,
    /// Bytes among them for data beyond a gap.
    pub(super) out_of_order: usize,
    /// It takes part in sharing.
    pub(super) established: bool,
}

/// Bytes of a connection without payload, at most.
const CONN_OVERHEAD: usize = 4 << 10;

/// The least share of a connection, bytes: a few segments, so that it goes on.
pub(super) const MIN_SHARE: usize = 16 << 10;

/// The memory of an endpoint.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
    out_of_order: usize,
    /// Connections with data beyond a gap.
    out_of_order_conns: usize,
    established: usize,
    under_pressure: bool,
    /// How often it became so.
    pressure_events: u64,
}

impl Budget {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            limit,
            used: 0,
            out_of_order: 0,
            out_of_order_conns: 0,
            established: 0,
            under_pressure: false,
            pressure_events: 0,
        }
    }

    /// A connection is charged `new` in place of `old`.
    #[inline]
    pub(super) fn replace(&mut self, old: &mut Charge, new: Charge) {
        if *old == new {
            return;
        }
        self.used = self.used - old.total + new.total;
        self.out_of_order = self.out_of_order - old.out_of_order + new.out_of_order;
        self.out_of_order_conns = self.out_of_order_conns - usize::from(old.out_of_order > 0)
            + usize::from(new.out_of_order > 0);
        self.established =
            self.established - usize::from(old.established) + usize::from(new.established);
        *old = new;
        // It ends an eighth lower than it begins, so that it does not come and go with each segment.
        let before = self.under_pressure;
        self.under_pressure = self.used > if before { self.limit / 8 * 3 } else { self.limit / 2 };
        self.pressure_events += u64::from(self.under_pressure && !before);
    }

    /// How often memory has become tight.
    pub(super) const fn pressure_events(&self) -> u64 {
        self.pressure_events
    }

    /// Bytes in use.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Whether the host is under memory pressure; each connection is then limited to its share.
    pub(super) const fn under_pressure(&self) -> bool {
        self.under_pressure
    }

    /// `more` bytes would go beyond the limit.
    pub(super) const fn would_exceed(&self, more: usize) -> bool {
        self.used.saturating_add(more) > self.limit
    }

    /// A connection beside `connections` others may be opened although memory is full of payload: all of them
    /// without payload take a quarter of the limit at most. Peers that take no data keep nobody else out.
    pub(super) const fn admits_connection(&self, connections: usize) -> bool {
        connections < self.limit / 4 / CONN_OVERHEAD
    }

    /// What one connection may use while memory is tight, bytes: half the limit by the number of
    /// established connections, rounded down to a power of two.
    pub(super) fn share(&self) -> usize {
        let share = self.limit / 2 / self.established.max(1);
        (1 << share.max(1).ilog2()).max(MIN_SHARE)
    }

    /// Out-of-order bytes from which a connection is pruned; `None` while all of them hold less than an eighth of
    /// the limit. The pruned connections hold more than half of it all.
    pub(super) const fn prune_threshold(&self) -> Option<usize> {
        match self.out_of_order_conns {
            0 => None,
            _ if self.out_of_order < self.limit / 8 => None,
            n => Some(self.out_of_order / n / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(total: usize, beyond: usize) -> Charge {
        Charge { total, out_of_order: beyond, established: true }
    }

    #[test]
    fn shares_and_what_was_held_before_fit_into_the_limit() {
        let limit = 64 << 20;
        for n in [1, 7, 100, 512, 2048_usize] {
            let mut budget = Budget::new(limit);
            let mut charges = vec![Charge::default(); n];
            // Half of it is in use before anybody is held back; then each takes its share beside that.
            budget.replace(&mut charges[0], charge(limit / 2, 0));
            assert!(!budget.under_pressure());
            for held in &mut charges[1..] {
                budget.replace(held, charge(1, 0));
            }
            assert_eq!(budget.under_pressure(), n > 1);
            let share = budget.share();
            assert!(share * (n - 1) <= limit / 2 || share == MIN_SHARE, "{share} for {n}");
        }
    }

    #[test]
    fn memory_pressure_has_hysteresis_and_counts_return_to_zero() {
        let mut budget = Budget::new(800);
        let (mut a, mut b) = (Charge::default(), Charge::default());
        budget.replace(&mut a, charge(400, 0));
        assert!(!budget.under_pressure());
        budget.replace(&mut b, charge(1, 0));
        assert!(budget.under_pressure());
        budget.replace(&mut a, charge(310, 0));
        assert!(budget.under_pressure() && budget.would_exceed(490) && !budget.would_exceed(489));
        budget.replace(&mut a, charge(299, 0));
        assert!(!budget.under_pressure());
        budget.replace(&mut a, Charge::default());
        budget.replace(&mut b, Charge::default());
        assert_eq!((budget.used(), budget.established, budget.out_of_order_conns), (0, 0, 0));
        assert_eq!(budget.pressure_events(), 1);
    }

    #[test]
    fn pruned_connections_hold_more_than_half_of_it() {
        for sizes in [vec![100; 10], vec![1, 1, 1, 300], vec![50, 60, 70, 80, 200], vec![7]] {
            let mut budget = Budget::new(800);
            let mut charges = vec![Charge::default(); sizes.len()];
            for (held, n) in charges.iter_mut().zip(&sizes) {
                budget.replace(held, charge(*n, *n));
            }
            let total: usize = sizes.iter().sum();
            let Some(least) = budget.prune_threshold() else {
                assert!(total < 100, "{sizes:?}");
                continue;
            };
            let gone: usize = sizes.iter().filter(|n| **n >= least).sum();
            assert!(gone * 2 > total, "{sizes:?}: {least}");
        }
    }
}
