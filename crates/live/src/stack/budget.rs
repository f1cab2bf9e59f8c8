//! The memory budget of all connections of an endpoint, with thresholds as in Linux's
//! `net.ipv4.tcp_mem`.
//!
//! Contract: all memory that a connection causes is charged: its state, unacknowledged and unread
//! payload, out-of-order data. Up to half of the limit nothing is restricted. Above it
//! ([`Budget::under_pressure`]) each connection may use its fair share, so that the total reaches
//! the limit and no more. At the limit orphans and out-of-order data are discarded first, and no
//! new data is admitted.

/// Memory charged to one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Charge {
    /// Bytes in total.
    pub(super) total: usize,
    /// Bytes of out-of-order data among them.
    pub(super) out_of_order: usize,
    /// Whether the connection counts for the fair share.
    pub(super) established: bool,
}

/// Most bytes of a connection without payload.
const CONN_OVERHEAD: usize = 4368;

/// Smallest share of a connection, bytes: a few segments, so that it makes progress.
pub(super) const MIN_SHARE: usize = 16 << 10;

/// Memory use of an endpoint.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
    out_of_order: usize,
    /// Connections with out-of-order data.
    out_of_order_conns: usize,
    established: usize,
    under_pressure: bool,
    /// Times that memory pressure began.
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

    /// Changes the charge of a connection from `old` to `new`.
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
        // Hysteresis: pressure ends an eighth of the limit below its onset, so it does not toggle
        // per segment.
        let before = self.under_pressure;
        self.under_pressure = self.used > if before { self.limit / 8 * 3 } else { self.limit / 2 };
        self.pressure_events += u64::from(self.under_pressure && !before);
    }

    /// Times that memory pressure began.
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

    /// Whether `more` bytes would exceed the limit.
    pub(super) const fn would_exceed(&self, more: usize) -> bool {
        self.used.saturating_add(more) > self.limit
    }

    /// Whether a connection beside `connections` others may be opened although payload fills the
    /// memory. Connections without payload take at most a quarter of the limit, so peers that read
    /// nothing cannot lock others out.
    pub(super) const fn admits_connection(&self, connections: usize) -> bool {
        connections < self.limit / 4 / CONN_OVERHEAD
    }

    /// Share of one connection under memory pressure, bytes: half the limit divided by the number
    /// of established connections, rounded down to a power of two.
    pub(super) fn share(&self) -> usize {
        let share = self.limit / 2 / self.established.max(1);
        (1 << share.max(1).ilog2()).max(MIN_SHARE)
    }

    /// Out-of-order bytes from which a connection is pruned. `None` while all out-of-order data is
    /// less than an eighth of the limit. The pruned connections hold more than half of that data.
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

    fn charge(total: usize, out_of_order: usize) -> Charge {
        Charge { total, out_of_order, established: true }
    }

    #[test]
    fn shares_and_earlier_memory_fit_into_the_limit() {
        let limit = 64 << 20;
        for n in [1, 7, 100, 512, 2048_usize] {
            let mut budget = Budget::new(limit);
            let mut charges = vec![Charge::default(); n];
            // Half of the limit is in use before pressure begins; then each takes its share on top.
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
    fn pruned_connections_hold_more_than_half_of_the_data() {
        for sizes in [vec![100; 10], vec![1, 1, 1, 300], vec![50, 60, 70, 80, 200], vec![7]] {
            let mut budget = Budget::new(800);
            let mut charges = vec![Charge::default(); sizes.len()];
            for (held, n) in charges.iter_mut().zip(&sizes) {
                budget.replace(held, charge(*n, *n));
            }
            let total: usize = sizes.iter().sum();
            let Some(threshold) = budget.prune_threshold() else {
                assert!(total < 100, "{sizes:?}");
                continue;
            };
            let pruned: usize = sizes.iter().filter(|n| **n >= threshold).sum();
            assert!(pruned * 2 > total, "{sizes:?}: {threshold}");
        }
    }
}
