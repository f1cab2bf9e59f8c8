//! Two hosts, two faulty links, virtual time: runs one case to its end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use lowtide_tcp::{ConnId, Endpoint, OpenError};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Segment, SeqNum};

use crate::case::{ADDRESSES, Attacker, Case, Numbers, Open};
use crate::draw::Draw;
use crate::end::End;
use crate::link::Link;
use crate::pattern::Pattern;
use crate::tally::Tally;

/// More than all pauses, blackouts and backed-off timeouts of a case together.
const STALL_TIMEOUT: Duration = Duration::from_secs(400);
/// More steps than any case needs.
const MAX_STEPS: u64 = 400_000;
/// Two ends that disagree on sequence numbers acknowledge each other without limit (RFC 5961 §10
/// limits that, RFC 9293 does not). A lying peer causes this, so the case is ended early.
const MAX_STEPS_LYING_PEER: u64 = 20_000;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Job {
    Open(usize, usize),
    App(usize),
    Arrive(Box<Packet>),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packet {
    pub(crate) to: usize,
    pub(crate) bytes: Vec<u8>,
    /// The original, if it was damaged since.
    pub(crate) original: Option<Vec<u8>>,
    /// Wire segments that it represents.
    pub(crate) segments: u16,
    pub(crate) genuine: bool,
    /// The connection that sent it, or the latest one if a host answered an unknown segment.
    pub(crate) pair: usize,
}

pub(crate) struct World {
    pub(crate) case: Case,
    pub(crate) now: Instant,
    pub(crate) hosts: [Endpoint; 2],
    pub(crate) links: [Link; 2],
    jobs: BinaryHeap<Reverse<(Instant, u64, Job)>>,
    job_count: u64,
    pub(crate) ends: Vec<End>,
    /// Ports in use, side 0 first, with the pair; the newest last.
    ports: Vec<([u16; 2], usize)>,
    /// Maximum concurrent connections on each side: this many slots suffice.
    most_live: [usize; 2],
    /// Time of the last progress of each pair.
    pub(crate) progress: Vec<Instant>,
    pub(crate) resets: Vec<[bool; 2]>,
    /// Last acknowledgement of each side, for the middlebox.
    pub(crate) last_acks: Vec<[Option<SeqNum>; 2]>,
    pub(crate) draw: Draw,
    pub(crate) forgeries_left: u32,
    giving_up: bool,
    pub(crate) trace: bool,
    pub(crate) tally: Tally,
}

fn host(numbers: Numbers) -> Endpoint {
    let mut host = Endpoint::new(numbers.seed);
    if let Some((isn, base)) = numbers.first {
        host.set_next_draw(SeqNum::new(isn), base);
    }
    host
}

impl World {
    pub(crate) fn new(case: Case, trace: bool) -> Self {
        let seed = case.seed;
        let links = [0, 1].map(|side: usize| {
            Link::new(case.faults[side].clone(), Draw::new(seed, side as u64, "link"))
        });
        let pairs = case.pairs.len();
        let mut world = Self {
            now: Instant::ZERO,
            hosts: case.numbers.map(host),
            links,
            jobs: BinaryHeap::new(),
            job_count: 0,
            ends: Vec::new(),
            ports: Vec::new(),
            most_live: [0; 2],
            progress: vec![Instant::ZERO; pairs],
            resets: vec![[false; 2]; pairs],
            last_acks: vec![[None; 2]; pairs],
            draw: Draw::new(seed, 0, "world"),
            forgeries_left: 60,
            giving_up: false,
            trace,
            tally: Tally { cases: 1, connections: pairs as u64, ..Tally::default() },
            case,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        for pair in 0..self.case.pairs.len() {
            let plan = self.case.pairs[pair].clone();
            self.tally.calm += u64::from(self.case.must_complete);
            if plan.reuses_ports {
                continue;
            }
            if plan.open == Open::Client {
                let config = plan.ends[1].config.clone();
                let backlog = self.case.backlog;
                let first = self.case.pairs[..pair]
                    .iter()
                    .all(|p| p.open == Open::Simultaneous || p.ports[1] != plan.ports[1]);
                let listens = self.hosts[1].listen(plan.ports[1], config, backlog);
                assert_eq!(listens.is_ok(), first, "one listener for each port");
            } else {
                self.add(plan.at[1], Job::Open(pair, 1));
            }
            self.add(plan.at[0], Job::Open(pair, 0));
        }
    }

    pub(crate) fn add(&mut self, at: Instant, job: Job) {
        self.job_count += 1;
        self.jobs.push(Reverse((at, self.job_count, job)));
    }

    /// Runs until no job is left.
    pub(crate) fn run(&mut self) {
        let mut steps = 0_u64;
        loop {
            steps += 1;
            let lies = self.case.attacker == Attacker::LyingPeer && !self.giving_up;
            if steps > if lies { MAX_STEPS_LYING_PEER } else { MAX_STEPS } {
                assert!(lies, "the case does not end");
                self.give_up();
                steps = 0;
            }
            let timer = (self.ends.iter().enumerate())
                .filter_map(|(i, e)| e.timeout.filter(|_| !e.released).map(|at| (at, i)))
                .min();
            let job = self.jobs.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = timer.map(|t| t.0).into_iter().chain(job).min() else {
                if !self.give_up_stalled(Instant::FAR_FUTURE) {
                    break;
                }
                continue;
            };
            if self.give_up_stalled(at) {
                continue;
            }
            assert!(at >= self.now, "time goes back");
            self.now = at;
            match timer {
                Some((t, end)) if job.is_none_or(|j| t <= j) => self.time_out(end),
                _ => {
                    let Some(Reverse((_, _, job))) = self.jobs.pop() else { break };
                    self.work(job);
                }
            }
        }
    }

    fn work(&mut self, job: Job) {
        match job {
            Job::Open(pair, side) => self.open(pair, side),
            Job::App(end) => self.pump(end),
            Job::Arrive(packet) => self.arrive(&packet),
        }
    }

    fn open(&mut self, pair: usize, side: usize) {
        let plan = &self.case.pairs[pair];
        let [local, remote] = [ADDRESSES[side], ADDRESSES[1 - side]].map(IpAddr::V4);
        let (mine, theirs) = (plan.ports[side], plan.ports[1 - side]);
        let config = plan.ends[side].config.clone();
        match self.hosts[side].connect(self.now, local, mine, remote, theirs, config) {
            Ok(id) => {
                let tuple = self.hosts[side].tuple(id).expect("just opened");
                let ports = if side == 0 { [tuple.local_port, theirs] } else { [theirs, mine] };
                self.ports.push((ports, pair));
                self.begin(pair, side, id, None);
            }
            Err(OpenError::InUse(_)) => {
                assert!(self.case.pairs[pair].reuses_ports, "the port is free");
                self.tally.ports_in_use += 1;
                // TIME-WAIT: retry later.
                self.progress[pair] = self.now;
                self.add(self.now + Duration::from_ms(250), Job::Open(pair, side));
            }
            Err(other) => panic!("{other}, among 16000"),
        }
    }

    /// A connection was created: by an active open, or because `syn` arrived.
    pub(crate) fn begin(&mut self, pair: usize, side: usize, id: ConnId, syn: Option<&Segment>) {
        let patterns = [0, 1].map(|side| Pattern::new(self.case.seed, pair, side));
        let plan = self.case.pairs[pair].ends[side].clone();
        let honest = self.case.attacker != Attacker::LyingPeer;
        let mut end = End::new(self.now, pair, side, id, plan, patterns, honest);
        if let Some(syn) = syn {
            end.invariants.arrived(syn, true);
        }
        self.ends.push(end);
        let live = self.ends.iter().filter(|e| e.side == side && !e.released).count();
        let most = self.most_live[side].max(live);
        assert!((id.0 as usize) < most, "{id:?}, and no more than {most} at a time");
        self.most_live[side] = most;
        self.progress[pair] = self.now;
        self.tally.ends += 1;
        self.pump(self.ends.len() - 1);
    }

    pub(crate) fn pair_of(&self, ports: [u16; 2]) -> Option<usize> {
        self.ports.iter().rev().find(|(p, _)| *p == ports).map(|(_, pair)| *pair)
    }

    /// Gives up pairs without progress for long before `at`. This is allowed only if one end is
    /// gone and the other has nothing to send, so it cannot know. True if there were any.
    fn give_up_stalled(&mut self, at: Instant) -> bool {
        let late = |w: &Self, e: &End| !e.is_over() && w.progress[e.pair] + STALL_TIMEOUT < at;
        let Some(end) = (0..self.ends.len()).find(|i| late(self, &self.ends[*i])) else {
            return false;
        };
        let (pair, side) = (self.ends[end].pair, self.ends[end].side);
        self.now = self.now.max(self.progress[pair] + STALL_TIMEOUT);
        self.progress[pair] = self.now;
        let peer_lives = self.ends.iter().any(|e| e.pair == pair && e.side != side && !e.is_over());
        let lies = self.case.attacker == Attacker::LyingPeer;
        assert!(lies || !peer_lives, "both ends of connection {pair} live and nothing happens");
        assert!(!self.case.must_complete, "an end of connection {pair} is left alone");
        self.tally.abandoned += 1;
        self.abort(end);
        true
    }

    fn give_up(&mut self) {
        self.giving_up = true;
        self.forgeries_left = 0;
        self.tally.endless += 1;
        for end in 0..self.ends.len() {
            if !self.ends[end].is_over() {
                self.abort(end);
            }
        }
    }

    fn abort(&mut self, end: usize) {
        let (side, id) = (self.ends[end].side, self.ends[end].id);
        if let Some(conn) = self.hosts[side].conn(id) {
            conn.abort();
        }
        self.pump(end);
    }

    fn time_out(&mut self, end: usize) {
        let (side, id) = (self.ends[end].side, self.ends[end].id);
        if let Some(conn) = self.hosts[side].conn(id) {
            conn.handle_timeout(self.now);
        }
        self.inspect(end);
        self.pump(end);
    }
}
