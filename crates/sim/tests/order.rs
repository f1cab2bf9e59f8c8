//! The scheduler compared with a sorted list.

use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_units::Instant;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// Schedules an event `span << shift` ps from now; the shift covers all orders of magnitude.
    Push {
        span: u64,
        shift: u32,
        entity: u32,
    },
    Pop,
    PopBefore {
        span: u64,
        shift: u32,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..16_u64, 0..50_u32, 0..40_u32)
            .prop_map(|(span, shift, entity)| Step::Push { span, shift, entity }),
        3 => Just(Step::Pop),
        1 => (0..16_u64, 0..50_u32).prop_map(|(span, shift)| Step::PopBefore { span, shift }),
    ]
}

/// The order at one instant, taken from a new scheduler.
fn order_at(seed: Seed, time: Instant, entities: &[Entity]) -> Vec<Entity> {
    let mut fresh = Scheduler::new(seed);
    for &e in entities {
        fresh.at(time, e);
    }
    std::iter::from_fn(|| fresh.pop()).map(|(_, e)| e).collect()
}

fn naive_next(seed: Seed, pending: &[(Instant, Entity)]) -> Option<(Instant, Entity)> {
    let time = pending.iter().map(|p| p.0).min()?;
    let ties: Vec<Entity> = pending.iter().filter(|p| p.0 == time).map(|p| p.1).collect();
    Some((time, order_at(seed, time, &ties)[0]))
}

proptest! {
    #[test]
    fn pops_what_a_sorted_list_would(
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        let seed = Seed(seed);
        let mut sched = Scheduler::new(seed);
        let mut pending: Vec<(Instant, Entity)> = Vec::new();
        let mut popped = 0;
        for step in steps {
            let limit = match step {
                Step::Push { span, shift, entity } => {
                    let time = Instant::from_ps(sched.now().as_ps().saturating_add(span << shift));
                    let event = (time, Entity::new((entity % 3) as u8, entity));
                    sched.at(event.0, event.1);
                    pending.push(event);
                    None
                }
                Step::Pop => Some(Instant::FAR_FUTURE),
                Step::PopBefore { span, shift } => {
                    Some(Instant::from_ps(sched.now().as_ps().saturating_add(span << shift)))
                }
            };
            if let Some(limit) = limit {
                let want = naive_next(seed, &pending).filter(|next| next.0 < limit);
                prop_assert_eq!(sched.pop_before(limit), want);
                if let Some(want) = want {
                    let i = pending.iter().position(|&p| p == want);
                    pending.swap_remove(i.unwrap());
                    popped += 1;
                    prop_assert_eq!(sched.now(), want.0);
                }
            }
            prop_assert_eq!(sched.len(), pending.len());
            prop_assert_eq!(sched.peek_time(), pending.iter().map(|p| p.0).min());
            prop_assert_eq!(sched.events(), popped);
        }
    }

    #[test]
    fn order_does_not_depend_on_insertion(
        seed in any::<u64>(),
        times in proptest::collection::vec(0..4_u64, 1..60),
        turn in 0..60_usize,
    ) {
        let events: Vec<(Instant, Entity)> = (0..)
            .zip(&times)
            .map(|(i, &t)| (Instant::from_ps(t), Entity::new(1, i)))
            .collect();
        let drain = |events: &[(Instant, Entity)]| {
            let mut sched = Scheduler::new(Seed(seed));
            for &(t, e) in events {
                sched.at(t, e);
            }
            std::iter::from_fn(|| sched.pop()).collect::<Vec<_>>()
        };
        let first = drain(&events);
        let mut permuted = events.clone();
        permuted.rotate_left(turn % events.len());
        permuted.reverse();
        prop_assert_eq!(&first, &drain(&permuted));
        prop_assert!(first.is_sorted_by_key(|e| e.0));
        prop_assert_eq!(first.len(), events.len());
    }
}

#[test]
fn ties_are_fair() {
    let (a, b) = (Entity::new(0, 1), Entity::new(0, 2));
    for seed in [Seed(0), Seed(1)] {
        let wins = (0..4_000)
            .filter(|&t| order_at(seed, Instant::from_ps(t * 1_230_400), &[a, b])[0] == a)
            .count();
        // Five standard deviations around one half.
        assert!((1_842..=2_158).contains(&wins), "{wins} of 4000");
    }
}

#[test]
fn the_seed_decides_ties() {
    let entities: Vec<Entity> = (0..20).map(|i| Entity::new(0, i)).collect();
    let orders: Vec<_> = (0..4).map(|s| order_at(Seed(s), Instant::ZERO, &entities)).collect();
    assert!(orders.windows(2).all(|w| w[0] != w[1]));
}

#[test]
fn events_at_far_future_are_not_kept() {
    let mut sched = Scheduler::new(Seed(0));
    sched.at(Instant::FAR_FUTURE, Entity::new(0, 0));
    assert!(sched.is_empty());
    assert_eq!(sched.pop(), None);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "scheduled at")]
fn scheduling_in_the_past_panics_in_debug() {
    let mut sched = Scheduler::new(Seed(0));
    sched.at(Instant::from_ps(5), Entity::new(0, 0));
    sched.pop();
    sched.at(Instant::from_ps(4), Entity::new(0, 0));
}

#[test]
#[cfg(not(debug_assertions))]
fn the_past_happens_now() {
    let mut sched = Scheduler::new(Seed(0));
    sched.at(Instant::from_ps(5), Entity::new(0, 0));
    sched.pop();
    sched.at(Instant::from_ps(4), Entity::new(0, 1));
    assert_eq!(sched.pop(), Some((Instant::from_ps(5), Entity::new(0, 1))));
}
