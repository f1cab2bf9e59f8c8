//! The case of one seed: endpoints, links and their faults, connections, applications.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lowtide_tcp::Config;
use lowtide_units::{Duration, Instant};

use crate::config;
use crate::draw::Draw;
use crate::link::Faults;
use crate::middlebox::Middlebox;

pub(crate) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// Amount of data in the connections of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// Up to hundreds of segments, several connections.
    Long,
    /// About 20 segments.
    Short,
}

/// Attacker that injects segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attacker {
    /// None.
    No,
    /// It knows the ports but not the sequence numbers: it must have no effect.
    Blind,
    /// A lying peer: the only requirement is that the host survives.
    LyingPeer,
}

/// Fault level of the links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Impairment {
    /// No loss, delay or damage: no retransmission timer fires.
    Perfect,
    /// Every connection completes unless an application aborts.
    Mild,
    /// Heavy loss, and links may be down for long.
    Heavy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Side 0 connects to a listener of side 1.
    Client,
    /// Both connect.
    Simultaneous,
}

/// Read behaviour of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// Everything, at once.
    Eager,
    /// In pieces with pauses.
    Slow,
    /// Nothing for a long time, then everything: the window closes.
    Lazy,
    /// Nothing for seconds.
    Hoard,
}

/// Close behaviour of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Close {
    /// After writing everything.
    Written,
    /// After writing everything and after the peer's close.
    AfterPeer,
    /// Aborts after this many bytes written plus read.
    Abort(u64),
    /// Its process dies silently at that point: the connection is released, not closed.
    Vanish(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct EndPlan {
    pub(crate) config: Arc<Config>,
    pub(crate) total: u64,
    /// Passes everything to the connection at once, beyond the send buffer.
    pub(crate) flood: bool,
    pub(crate) chunk: u64,
    pub(crate) write_pause: Duration,
    pub(crate) reads: Reads,
    pub(crate) read_chunk: u64,
    pub(crate) read_pause: Duration,
    pub(crate) close: Close,
    pub(crate) close_pause: Duration,
    /// Writes before the handshake is over.
    pub(crate) early: bool,
    /// Lets TIME-WAIT run in the connection instead of the endpoint's table.
    pub(crate) keep_time_wait: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PairPlan {
    pub(crate) open: Open,
    pub(crate) at: [Instant; 2],
    pub(crate) ports: [u16; 2],
    pub(crate) ends: [EndPlan; 2],
    /// A second connection between the same ports follows the first.
    pub(crate) reuses_ports: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) numbers: [Numbers; 2],
    pub(crate) faults: [Faults; 2],
    pub(crate) impairment: Impairment,
    pub(crate) attacker: Attacker,
    /// The middlebox on each link.
    pub(crate) middleboxes: [Option<Middlebox>; 2],
    pub(crate) pairs: Vec<PairPlan>,
    /// Delay of the driver's timers.
    pub(crate) lateness: Duration,
    /// Maximum half-open connections of a listener.
    pub(crate) backlog: usize,
    /// Faults are at most mild and no application aborts: every connection must complete.
    pub(crate) must_complete: bool,
}

impl Case {
    pub(crate) fn draw(size: Size, seed: u64) -> Self {
        let mut d = Draw::new(seed, 0, "case");
        let attacker = match d.below(20) {
            0..=2 => Attacker::Blind,
            3..=4 => Attacker::LyingPeer,
            _ => Attacker::No,
        };
        let impairment = match d.below(20) {
            0 | 1 => Impairment::Perfect,
            2..=12 => Impairment::Mild,
            _ => Impairment::Heavy,
        };
        let attacker = if impairment == Impairment::Perfect { Attacker::No } else { attacker };
        let delay = d.micros(5, 20_000);
        let faults = [(); 2].map(|()| Faults::draw(&mut d, delay, impairment));
        let count = d.pick(&[1, 1, 1, 2, 3, 4]);
        let mut pairs = Vec::new();
        for index in 0..count {
            let pair = PairPlan::draw(&mut d, index, delay, impairment);
            let reuses_ports = pair.open == Open::Client && pair.ports[0] != 0 && d.permille(300);
            // It may meet a TIME-WAIT that delays its SYN.
            let reuses_ports = reuses_ports && impairment != Impairment::Perfect;
            pairs.push(pair.clone());
            if reuses_ports {
                pairs.push(PairPlan { reuses_ports: true, ..pair });
            }
        }
        let lateness = if impairment != Impairment::Perfect && d.permille(200) {
            d.micros(1, 3_000)
        } else {
            Duration::ZERO
        };
        // One listener for all, with a short backlog.
        let shared = d.permille(300);
        if shared {
            let server = pairs[0].ends[1].clone();
            for pair in pairs.iter_mut().filter(|p| p.open == Open::Client) {
                pair.ports[1] = 999;
                pair.ends[1].config = server.config.clone();
            }
        }
        // Drawn separately, so that earlier seeds keep their cases.
        let mut g = Draw::new(seed, 1, "games");
        if size == Size::Short {
            pairs.truncate(1 + g.below(10) as usize / 9);
            for pair in &mut pairs {
                pair.cut_short(&mut g);
            }
        }
        let plays = |g: &mut Draw| impairment != Impairment::Perfect && g.permille(300);
        let middleboxes =
            [(); 2].map(|()| if plays(&mut g) { Some(Middlebox::draw(&mut g)) } else { None });
        if impairment != Impairment::Perfect {
            for end in pairs.iter_mut().flat_map(|p| &mut p.ends) {
                if g.permille(30) {
                    end.reads = Reads::Hoard;
                }
            }
        }
        pairs.iter_mut().for_each(PairPlan::shorten);
        let backlog =
            if shared && impairment != Impairment::Perfect { d.pick(&[1, 2, 16]) } else { 16 };
        let must_complete = impairment != Impairment::Heavy
            && attacker != Attacker::LyingPeer
            && pairs.iter().all(|p| {
                p.open == Open::Client
                    && p.ends
                        .iter()
                        .all(|e| !matches!(e.close, Close::Abort(_) | Close::Vanish(_)) && !e.early)
            });
        let numbers = [(); 2].map(|()| numbers(&mut d));
        Self {
            seed,
            numbers,
            faults,
            impairment,
            attacker,
            middleboxes,
            pairs,
            lateness,
            backlog,
            must_complete,
        }
    }
}

/// The seed of an endpoint, and the drawn numbers of its first connection, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) seed: u64,
    /// Initial sequence number and timestamp offset.
    pub(crate) first: Option<(u32, u32)>,
}

/// For half of the seeds the first connection starts near the end of the sequence space, or its
/// timestamps near the end of theirs.
fn numbers(d: &mut Draw) -> Numbers {
    let seed = d.bits();
    if d.flip() {
        return Numbers { seed, first: None };
    }
    let isn = (0_u32.wrapping_sub(d.doublings(1, 300_000) as u32), d.bits() as u32);
    let base = 0_u32.wrapping_sub(d.doublings(1, 20_000) as u32);
    let first = match d.below(3) {
        0 => isn,
        1 => (isn.1, base),
        _ => (isn.0, base),
    };
    Numbers { seed, first: Some(first) }
}

impl PairPlan {
    fn draw(d: &mut Draw, index: u16, delay: Duration, impairment: Impairment) -> Self {
        let open = if d.permille(120) { Open::Simultaneous } else { Open::Client };
        let first = Instant::ZERO + d.micros(1, 50_000);
        let second = match d.below(4) {
            0 => first,
            1 => first + Duration::from_ps(d.below(2 * delay.as_ps())),
            _ => first + Duration::from_ps(d.below(delay.as_ps())),
        };
        let at = if d.flip() { [first, second] } else { [second, first] };
        let client_port = match open {
            Open::Client if d.flip() => 0,
            _ => 2000 + index,
        };
        let ports = [client_port, 1000 + index];
        let mut ends = [EndPlan::draw(d, delay, impairment), EndPlan::draw(d, delay, impairment)];
        // One end must close first.
        if ends.iter().all(|e| e.close == Close::AfterPeer) {
            ends[d.below(2) as usize].close = Close::Written;
        }
        Self { open, at, ports, ends, reuses_ports: false }
    }

    /// A few segments in one direction, and usually fewer in the other.
    fn cut_short(&mut self, d: &mut Draw) {
        let more = d.below(2) as usize;
        for (side, end) in self.ends.iter_mut().enumerate() {
            let mss = u64::from(end.config.mtu - 40);
            let most = if side == more { 8 } else { 2 };
            end.total = end.total.min(d.below(most * mss));
            end.chunk = end.chunk.max(end.total / 10);
        }
    }

    /// Limits the data through small buffers.
    fn shorten(&mut self) {
        let ends = &mut self.ends;
        // One byte at a time takes one probe each: keep it short.
        for (sender, receiver) in [(0, 1), (1, 0)] {
            let buffer = ends[receiver].config.receive_buffer.as_u64();
            let least = buffer.min(ends[sender].config.send_buffer.as_u64());
            let mtu = u64::from(ends[sender].config.mtu.min(ends[receiver].config.mtu));
            let e = &mut ends[sender];
            e.total = e.total.min(least.saturating_mul(60)).min(mtu * 300);
            e.chunk = e.chunk.max(e.total / 400);
            let e = &mut ends[receiver];
            e.read_chunk = e.read_chunk.max(buffer / 50);
        }
    }
}

impl EndPlan {
    fn draw(d: &mut Draw, delay: Duration, impairment: Impairment) -> Self {
        let config = Arc::new(config::draw(d, impairment));
        let mss = u64::from(config.mtu - 40);
        let total = match d.below(10) {
            0 => 0,
            1 => d.range(1, mss),
            _ => d.doublings(mss, 400 * mss).min(200_000) + d.below(mss),
        };
        let pause = |d: &mut Draw| match d.below(4) {
            0 | 1 => Duration::ZERO,
            2 => Duration::from_ps(d.below(4 * delay.as_ps())),
            _ => d.micros(10, 400_000),
        };
        Self {
            total,
            flood: d.permille(150),
            chunk: d.pick(&[1, 100, mss, 4 * mss, 100_000]),
            write_pause: pause(d),
            reads: d.pick(&[Reads::Eager, Reads::Eager, Reads::Slow, Reads::Lazy]),
            read_chunk: d.pick(&[1, 100, mss / 2, mss, 3 * mss, 65_536]),
            read_pause: pause(d),
            close: match d.below(20) {
                0 => Close::Vanish(d.below(2 * total + 1)),
                1 => Close::Abort(d.below(2 * total + 1)),
                2..=7 => Close::AfterPeer,
                _ => Close::Written,
            },
            close_pause: pause(d),
            early: d.permille(100),
            keep_time_wait: d.permille(400),
            config,
        }
    }
}
