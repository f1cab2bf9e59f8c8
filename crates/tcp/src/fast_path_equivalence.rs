//! Equivalence of the fast paths and the slow path. Two pairs of connections get equal input; one
//! takes only the slow path. Both must show equal state at every step.
//!
//! The fast paths are header prediction ([`Connection::handle_segment`]), the ACK fast path, the
//! receive-only end, the send quota, bursts of several segments, and the header that repeats fields
//! of the last one.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use lowtide_units::{Duration, Instant, Probe, Unit};
use lowtide_wire::{Ecn, Segment, SeqNum};
use proptest::prelude::*;

use crate::connection::Connection;
use crate::event::Event;
use crate::profile;
use crate::scheme;
use crate::settings::config::{BufferTuning, Config};
use crate::transmit::Transmit;

/// An input to both pairs.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next segment of the client (0) or the server (1) arrives, with or without CE.
    Arrive(usize, bool),
    /// It is lost.
    Lose(usize),
    /// It arrives after the next one.
    Reorder(usize),
    /// It arrives twice.
    Duplicate(usize),
    /// This many microseconds pass.
    Wait(u64),
    /// The next timer fires, if it does within a second.
    Timer(usize),
    /// The application writes this many bytes.
    Send(usize, u64),
    Close(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let side = || 0..2_usize;
    prop_oneof![
        40 => (side(), prop::bool::weighted(0.2)).prop_map(|(s, ce)| Step::Arrive(s, ce)),
        2 => side().prop_map(Step::Lose),
        2 => side().prop_map(Step::Reorder),
        1 => side().prop_map(Step::Duplicate),
        6 => (0..60_u64).prop_map(Step::Wait),
        5 => side().prop_map(Step::Timer),
        3 => (prop::bool::weighted(0.2), prop_oneof![1..3_000_u64, 1..60_000_u64])
            .prop_map(|(server, n)| Step::Send(usize::from(server), n)),
        1 => prop::bool::weighted(0.3).prop_map(|server| Step::Close(usize::from(server))),
    ]
}

/// A client and its server, and the segments in flight from each.
struct Pair {
    /// It takes only the slow path.
    slow_path_only: bool,
    /// Segments that its driver takes at once.
    burst: u32,
    config: Arc<Config>,
    now: Instant,
    ends: [Option<Connection>; 2],
    line: [VecDeque<Segment>; 2],
}

impl Pair {
    fn new(config: &Arc<Config>, slow_path_only: bool, burst: u32) -> Self {
        let client =
            Connection::connect(Arc::clone(config), 1, 2, SeqNum::new(u32::MAX - 9_000), 5);
        let (ends, line) = ([Some(client), None], [VecDeque::new(), VecDeque::new()]);
        let (config, now) = (Arc::clone(config), Instant::ZERO);
        Self { slow_path_only, burst, config, now, ends, line }
    }

    /// Clears the state that the fast paths depend on.
    fn force_slow_path(&mut self, side: usize) {
        if let Some(conn) = self.ends[side].as_mut().filter(|_| self.slow_path_only) {
            conn.receive_only = false;
            conn.snd.reset_quota();
            conn.snd.board.mark_all_ambiguous();
            conn.rcv.force_slow_path();
        }
    }

    fn arrive(&mut self, to: usize, seg: &Segment) -> String {
        self.force_slow_path(to);
        match &mut self.ends[to] {
            Some(conn) if self.slow_path_only => {
                format!("{:?}", conn.handle_segment_slow(self.now, seg))
            }
            Some(conn) => format!("{:?}", conn.handle_segment(self.now, seg)),
            None => {
                let config = Arc::clone(&self.config);
                let conn = Connection::accept(config, self.now, seg, SeqNum::new(7), 9);
                self.ends[to] = Some(conn);
                String::new()
            }
        }
    }

    fn apply(&mut self, step: Step) -> String {
        match step {
            Step::Arrive(from, ce) => {
                let Some(mut seg) = self.line[from].pop_front() else { return String::new() };
                if ce && seg.ecn.is_capable() {
                    seg.ecn = Ecn::Ce;
                }
                self.now += Duration::from_us(1);
                return self.arrive(1 - from, &seg);
            }
            Step::Lose(from) => drop(self.line[from].pop_front()),
            Step::Reorder(from) if self.line[from].len() > 1 => self.line[from].swap(0, 1),
            Step::Reorder(_) => {}
            Step::Duplicate(from) => {
                if let Some(seg) = self.line[from].front().copied() {
                    self.line[from].push_front(seg);
                }
            }
            Step::Wait(us) => self.now += Duration::from_us(us),
            Step::Timer(side) => {
                let at = self.ends[side].as_ref().and_then(Connection::poll_timeout);
                if let Some(at) = at.filter(|at| *at <= self.now + Duration::from_secs(1)) {
                    self.now = self.now.max(at);
                    self.force_slow_path(side);
                    self.ends[side].as_mut().unwrap().handle_timeout(self.now);
                }
            }
            Step::Send(side, n) => {
                if let Some(conn) = &mut self.ends[side] {
                    conn.send(n);
                }
            }
            Step::Close(side) => {
                if let Some(conn) = &mut self.ends[side] {
                    conn.close();
                }
            }
        }
        String::new()
    }

    /// One turn of the driver at both ends; returns all visible state.
    fn poll(&mut self) -> Vec<String> {
        let mut seen = Vec::new();
        for side in 0..2 {
            let (now, slow_path_only) = (self.now, self.slow_path_only);
            self.force_slow_path(side);
            let Some(conn) = &mut self.ends[side] else { continue };
            while let Some(event) = conn.poll_event() {
                seen.push(format!("{event:?}"));
                if let Event::Readable { upto } = event {
                    conn.read(upto);
                }
            }
            let mut out = Transmit::default();
            loop {
                self.force_slow_path(side);
                let Some(conn) = &mut self.ends[side] else { break };
                let sends = if slow_path_only {
                    conn.poll_transmit_slow(now, 1, &mut out)
                } else {
                    conn.poll_transmit_into(now, self.burst, &mut out)
                };
                conn.track_unacked(now);
                if !sends {
                    break;
                }
                for i in 0..out.segments {
                    let released = out.delack_timeout;
                    seen.push(format!("{:?} {:?} {released}", out.segment(i), out.stream_of(i)));
                    self.line[side].push_back(out.segment(i));
                }
            }
            let Some(conn) = &self.ends[side] else { continue };
            seen.push(format!("{:?} {:?}", conn.poll_timeout(), conn.info()));
            // Hidden state that becomes visible later.
            let mut shown = Shown::default();
            if conn.snd.nxt() > 0 {
                conn.probe(&mut shown);
            }
            seen.push(format!("{:?} {:?}", conn.loss_delay(), shown));
        }
        seen
    }
}

/// State variables that a control reports besides its window.
#[derive(Default, Debug)]
struct Shown(Vec<(String, u64)>);

impl Probe for Shown {
    fn value(&mut self, name: &str, _: Unit, value: u64) {
        self.0.push((String::from(name), value));
    }
}

fn config() -> impl Strategy<Value = Config> {
    let profiles: Vec<_> = profile::REGISTRY.all().collect();
    let schemes: Vec<_> = scheme::REGISTRY.all().collect();
    let scheme = prop::option::of(prop::sample::select(schemes));
    let tuned = prop::bool::weighted(0.3);
    let all = (prop::sample::select(profiles), scheme, 1..4_u32, tuned);
    all.prop_map(|(profile, scheme, segments, tuned)| {
        let mut config = profile.config().unwrap();
        if let Some(scheme) = scheme {
            scheme.apply(&mut config).unwrap();
        }
        config.delack_segments = segments;
        if tuned {
            config.buffer_tuning = BufferTuning::Auto;
        }
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn the_fast_paths_equal_the_slow_path(
        config in config(),
        bytes in 0..200_000_u64,
        burst in prop_oneof![Just(1), 2..20_u32],
        steps in prop::collection::vec(step(), 1..500),
    ) {
        let config = Arc::new(config);
        let (mut short, mut long) = (Pair::new(&config, false, burst), Pair::new(&config, true, 1));
        let opening = [Step::Send(0, bytes); 1];
        let handshake = [0, 1, 0].map(|side| Step::Arrive(side, false));
        for step in opening.into_iter().chain(handshake).chain(steps) {
            prop_assert_eq!(short.apply(step), long.apply(step), "{:?}", step);
            prop_assert_eq!(short.poll(), long.poll(), "{:?}", step);
        }
    }
}
