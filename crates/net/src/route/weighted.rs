//! Weights of next links in proportion to the capacity that they lead to (WCMP).
//!
//! A set has each port as often as its weight says, so that a hash that chooses uniformly from the
//! set chooses in proportion to the weights, at no cost per packet.

use super::edges::{Edges, UNREACHED};
use crate::routing::MAX_WEIGHTS;

/// The capacities of all switches towards one rack, in bit/s.
pub(super) struct Capacities<'a> {
    /// By port.
    rates: &'a [u64],
    /// By port: its rate, or the capacity of the switch at its far end if that is less.
    weight_bps: Vec<u64>,
}

impl<'a> Capacities<'a> {
    pub(super) fn new(rates: &'a [u64]) -> Self {
        Self { rates, weight_bps: vec![0; rates.len()] }
    }

    /// Computes them for the rack at `rack`, given the hops to it from each node.
    pub(super) fn compute(
        &mut self,
        edges: &Edges,
        rack: usize,
        distance: &[u32],
        usable: impl Fn(u32) -> bool,
    ) {
        let nodes = edges.hosts..distance.len();
        let mut nearest: Vec<usize> = nodes.filter(|n| distance[*n] != UNREACHED).collect();
        nearest.sort_by_key(|node| distance[*node]);
        let mut capacity = vec![0_u64; distance.len()];
        capacity[rack] = u64::MAX;
        for node in nearest {
            for &(port, to) in edges.out(node) {
                let to = to as usize;
                if node == rack || distance[to].checked_add(1) != Some(distance[node]) {
                    continue;
                }
                let through = if usable(port) { self.rates[port as usize] } else { 0 };
                self.weight_bps[port as usize] = through.min(capacity[to]);
                capacity[node] = capacity[node].saturating_add(self.weight_bps[port as usize]);
            }
        }
    }

    /// Repeats each of `ports` by its weight.
    pub(super) fn repeat(&self, ports: &mut Vec<u32>) {
        let capacities: Vec<u64> = ports.iter().map(|p| self.weight_bps[*p as usize]).collect();
        let weights = weights(&capacities);
        let each = ports.iter().zip(weights);
        *ports = each.flat_map(|(port, n)| std::iter::repeat_n(*port, n as usize)).collect();
    }
}

/// Returns weights in proportion to these positive capacities, which sum to [`MAX_WEIGHTS`] or
/// little more at most, and are at least one each.
fn weights(capacities: &[u64]) -> Vec<u64> {
    let divisor = capacities.iter().copied().fold(0, gcd).max(1);
    let sum: u128 = capacities.iter().map(|c| u128::from(c / divisor)).sum();
    let most = u128::from(MAX_WEIGHTS);
    let weight = |c: &u64| match u128::from(c / divisor) {
        exact if sum <= most => exact as u64,
        exact => ((exact * most + sum / 2) / sum).max(1) as u64,
    };
    capacities.iter().map(weight).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_small_whole_numbers() {
        let gbit =
            |rates: &[u64]| weights(&rates.iter().map(|r| r * 1_000_000_000).collect::<Vec<_>>());
        assert_eq!(gbit(&[100, 400]), [1, 4]);
        assert_eq!(gbit(&[100, 100, 100]), [1, 1, 1]);
        assert_eq!(gbit(&[40, 100, 25]), [8, 20, 5]);
        assert_eq!(weights(&[1_000_000_007, 3_000_000_019]), [64, 192], "rounded");
        assert_eq!(weights(&[1, 1_600_000_000_000]), [1, 256], "none is left out");
    }
}
