//! The service order of several queues: strict priority, then deficit weighted round robin.
//!
//! Strict classes are served first, in list order. The others take turns (Shreedhar and Varghese
//! 1996). A class gets its quantum once per turn, and sends while its deficit covers its next
//! packet, in IP bytes. It keeps the rest for its next turn, unless it becomes empty. Packets
//! dropped by a marker are not charged.

use crate::Service;

/// The state of the class scheduler.
#[derive(Clone, Debug)]
pub(crate) struct ClassScheduler {
    services: Vec<Service>,
    /// By class; zero for strict classes.
    deficits: Vec<u64>,
    turn: usize,
    /// The current class has received its quantum.
    granted: bool,
}

impl ClassScheduler {
    pub(crate) fn new(services: Vec<Service>) -> Self {
        Self { deficits: vec![0; services.len()], services, turn: 0, granted: false }
    }
    /// Returns the class to serve next; `next` is the size of the first packet of a class.
    pub(crate) fn pick(&mut self, next: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let mut turns = false;
        for (class, service) in self.services.iter().enumerate() {
            match (service, next(class)) {
                (_, None) => {}
                (Service::Strict, Some(_)) => return Some(class),
                (Service::Dwrr { .. }, Some(_)) => turns = true,
            }
        }
        if !turns {
            return None;
        }
        // Each turn adds a quantum, so the deficit eventually covers the packet.
        loop {
            let deficit = &mut self.deficits[self.turn];
            match (self.services[self.turn], next(self.turn)) {
                (Service::Dwrr { quantum }, Some(size)) => {
                    if !self.granted {
                        *deficit = deficit.saturating_add(quantum.as_u64());
                        self.granted = true;
                    }
                    if u64::from(size) <= *deficit {
                        return Some(self.turn);
                    }
                }
                _ => *deficit = 0,
            }
            self.turn = (self.turn + 1) % self.services.len();
            self.granted = false;
        }
    }
    /// Charges a packet of `size` bytes whose transmission starts; `empty` if its queue is empty
    /// then.
    pub(crate) fn sent(&mut self, class: usize, size: u32, empty: bool) {
        let deficit = &mut self.deficits[class];
        *deficit = if empty { 0 } else { deficit.saturating_sub(u64::from(size)) };
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Bytes;

    use super::*;

    /// Returns the service order of classes that each have endless packets of one size, or none.
    fn order(turns: &mut ClassScheduler, sizes: &[Option<u32>], n: usize) -> Vec<usize> {
        let mut one = || {
            let class = turns.pick(|class| sizes[class])?;
            turns.sent(class, sizes[class]?, false);
            Some(class)
        };
        (0..n).map_while(|_| one()).collect()
    }

    fn dwrr(quantum: u64) -> Service {
        Service::Dwrr { quantum: Bytes::new(quantum) }
    }

    #[test]
    fn strict_classes_go_first_in_list_order() {
        let mut turns = ClassScheduler::new(vec![dwrr(100), Service::Strict, Service::Strict]);
        assert_eq!(order(&mut turns, &[Some(100), Some(9), Some(9)], 3), [1, 1, 1]);
        assert_eq!(order(&mut turns, &[Some(100), None, Some(9)], 2), [2, 2]);
        assert_eq!(order(&mut turns, &[Some(100), None, None], 2), [0, 0]);
        assert_eq!(order(&mut turns, &[None, None, None], 2), []);
    }

    #[test]
    fn a_quantum_below_a_packet_takes_several_turns() {
        let mut turns = ClassScheduler::new(vec![dwrr(1), dwrr(500)]);
        let got = order(&mut turns, &[Some(1_500), Some(1_500)], 1_002);
        // One packet of the first class per five hundred of the second.
        assert_eq!(got.iter().filter(|c| **c == 0).count(), 2);
    }

    #[test]
    fn deficits_are_kept_over_a_strict_packet_and_lost_when_empty() {
        let mut turns = ClassScheduler::new(vec![Service::Strict, dwrr(250), dwrr(100)]);
        assert_eq!(order(&mut turns, &[None, Some(100), Some(100)], 1), [1]);
        assert_eq!(order(&mut turns, &[Some(9), Some(100), Some(100)], 1), [0]);
        // Still its turn: one more, and 50 left; then two, and with those 50 a third one.
        assert_eq!(order(&mut turns, &[None, Some(100), Some(100)], 6), [1, 2, 1, 1, 1, 2]);
        turns.sent(1, 100, true);
        assert_eq!(order(&mut turns, &[None, Some(100), Some(100)], 3), [1, 1, 2]);
    }
}
