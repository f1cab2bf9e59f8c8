//! What one seed means: the endpoints, the links and their faults, the connections, what their
//! applications do.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lowtide_tcp::{
    Config, CutRule, CwrRule, EcnWish, EctClass, FreezeGrowth, InitialWindow, RecoveryRule, Recut,
    RtoMinApplies, ack, cc, feedback,
};
use lowtide_units::{Bytes, Duration, Instant};

use crate::draw::Draw;
use crate::link::Faults;

pub(crate) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// Who else puts segments on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hostile {
    /// Nobody.
    No,
    /// Somebody who knows the ports and not the sequence numbers: nothing may come of it.
    Blind,
    /// A peer that lies: nothing is certain but that the host survives.
    Insider,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Side 0 connects to a listener of side 1.
    Client,
    /// Both connect.
    Simultaneous,
}

/// How an application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// Everything, at once.
    Eager,
    /// Pieces with pauses.
    Slow,
    /// Nothing for a long time, then everything: the window closes.
    Lazy,
}

/// When an application closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Close {
    /// When it has written everything.
    Written,
    /// When it has written everything and the peer has closed.
    AfterPeer,
    /// It aborts when that many bytes are written or read in sum.
    Abort(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct EndPlan {
    pub(crate) config: Arc<Config>,
    pub(crate) total: u64,
    /// Gives the connection everything at once, beyond the send buffer.
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
    /// Lets TIME-WAIT run in the connection and not in the endpoint's table.
    pub(crate) keep_time_wait: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PairPlan {
    pub(crate) open: Open,
    pub(crate) at: [Instant; 2],
    pub(crate) ports: [u16; 2],
    pub(crate) ends: [EndPlan; 2],
    /// A second connection between the same ports follows the first.
    pub(crate) sequel: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) endpoint_seeds: [u64; 2],
    pub(crate) faults: [Faults; 2],
    pub(crate) hostile: Hostile,
    pub(crate) pairs: Vec<PairPlan>,
    /// Faults are mild and nobody aborts: everything must end well.
    pub(crate) calm: bool,
}

impl Case {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut d = Draw::new(seed, 0, "case");
        let hostile = match d.below(20) {
            0..=2 => Hostile::Blind,
            3..=4 => Hostile::Insider,
            _ => Hostile::No,
        };
        let heavy = d.permille(300);
        let delay = d.micros(5, 20_000);
        let faults = [(); 2].map(|()| Faults::draw(&mut d, delay, heavy));
        let count = d.pick(&[1, 1, 1, 2, 3, 4]);
        let mut pairs = Vec::new();
        for index in 0..count {
            let pair = PairPlan::draw(&mut d, index, delay, heavy);
            let sequel = pair.open == Open::Client && pair.ports[0] != 0 && d.permille(300);
            pairs.push(pair.clone());
            if sequel {
                pairs.push(PairPlan { sequel: true, ..pair });
            }
        }
        let calm = !heavy
            && hostile != Hostile::Insider
            && faults.iter().all(|f| f.blackouts.is_empty())
            && pairs.iter().all(|p| {
                p.open == Open::Client
                    && p.ends.iter().all(|e| !matches!(e.close, Close::Abort(_)) && !e.early)
            });
        let endpoint_seeds = [(); 2].map(|()| endpoint_seed(&mut d));
        Self { seed, endpoint_seeds, faults, hostile, pairs, calm }
    }
}

/// Half of the seeds make the first connection start near the end of the sequence space, or its
/// timestamps near the end of theirs.
///
/// The endpoint draws with splitmix64, a bijection: the state behind a wished draw is computed. Were
/// the endpoint to draw otherwise, these seeds were as good as any, and the tally of wraps would
/// tell.
fn endpoint_seed(d: &mut Draw) -> u64 {
    let any = d.bits();
    if d.flip() {
        return any;
    }
    let isn = (0_u32.wrapping_sub(d.doublings(1, 300_000) as u32), d.bits() as u32);
    let base = 0_u32.wrapping_sub(d.doublings(1, 20_000) as u32);
    let wished = match d.below(3) {
        0 => u64::from(isn.0) | u64::from(isn.1) << 32,
        1 => u64::from(isn.1) | u64::from(base) << 32,
        _ => u64::from(isn.0) | u64::from(base) << 32,
    };
    // The first draw of an endpoint is its first ephemeral port.
    unmix(wished).wrapping_sub(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2))
}

fn unmix(z: u64) -> u64 {
    let z = unshift(z, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
    let z = unshift(z, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
    unshift(z, 30)
}

/// Solves `x ^ (x >> n) = z`.
fn unshift(z: u64, n: u32) -> u64 {
    (0..64 / n).fold(z, |x, _| z ^ (x >> n))
}

/// Modulo 2^64, by Newton's method.
fn inverse(a: u64) -> u64 {
    (0..6).fold(a, |x, _| x.wrapping_mul(2_u64.wrapping_sub(a.wrapping_mul(x))))
}

impl PairPlan {
    fn draw(d: &mut Draw, index: u16, delay: Duration, heavy: bool) -> Self {
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
        let mut ends = [EndPlan::draw(d, delay, heavy), EndPlan::draw(d, delay, heavy)];
        // Somebody must close first.
        if ends.iter().all(|e| e.close == Close::AfterPeer) {
            ends[d.below(2) as usize].close = Close::Written;
        }
        // A byte at a time takes one probe each: keep it short.
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
        Self { open, at, ports, ends, sequel: false }
    }
}

impl EndPlan {
    fn draw(d: &mut Draw, delay: Duration, heavy: bool) -> Self {
        let config = Arc::new(draw_config(d, heavy));
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
                0 | 1 => Close::Abort(d.below(2 * total + 1)),
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

fn draw_config(d: &mut Draw, heavy: bool) -> Config {
    let buffer = |d: &mut Draw| {
        Bytes::new(match d.below(20) {
            0 => d.doublings(1, 500),
            1..=5 => d.doublings(500, 8_000),
            6..=12 => d.doublings(8_000, 100_000),
            _ => d.doublings(65_536, 1_000_000),
        })
    };
    let names = (cc::names(), feedback::names(), ack::names());
    Config {
        cc: d.pick(&names.0),
        feedback: d.pick(&names.1),
        ack: d.pick(&names.2),
        ecn: d.pick(&[EcnWish::Off, EcnWish::Rfc3168, EcnWish::Rfc3168, EcnWish::Passive]),
        ect: d.pick(&[EctClass::Data, EctClass::All, EctClass::AllButSyn]),
        cwr: d.pick(&[CwrRule::Never, CwrRule::AfterReduction]),
        cut: d.pick(&[CutRule::PerWindow, CutRule::PerWindow, CutRule::PerMarkedAck]),
        recut: d.pick(&[Recut::AtPoint, Recut::PastPoint]),
        freeze_growth: d.pick(&[FreezeGrowth::Off, FreezeGrowth::EceAcks, FreezeGrowth::Round]),
        window_floor: d.range(1, 2) as u32,
        initial_window: d.pick(&[
            InitialWindow::Rfc6928,
            InitialWindow::Rfc3390,
            InitialWindow::Segments(1),
            InitialWindow::Segments(2),
            InitialWindow::Segments(100),
        ]),
        abc_limit: d.pick(&[1, 2, 8, u32::MAX]),
        idle_restart: d.flip(),
        recovery: d.pick(&[RecoveryRule::Sack, RecoveryRule::Sack, RecoveryRule::NewReno]),
        limited_transmit: d.flip(),
        nagle: d.flip(),
        pacing: true,
        rto_initial: d.micros(5_000, 1_000_000),
        rto_min: d.micros(1_000, 300_000),
        rto_min_applies: d.pick(&[RtoMinApplies::Timeout, RtoMinApplies::Variance]),
        rto_max: d.micros(400_000, 10_000_000),
        rto_granularity: d.pick(&[
            Duration::from_us(1),
            Duration::from_ms(1),
            Duration::from_ms(4),
        ]),
        syn_retries: if heavy { d.range(1, 8) as u32 } else { 20 },
        retries: if heavy { d.range(3, 15) as u32 } else { 20 },
        send_buffer: buffer(d),
        tso_segments: d.pick(&[1, 1, 2, 3, 8]),
        delack_segments: d.pick(&[1, 2, 2, 4, 20]),
        delack_timer: d.pick(&[
            Duration::ZERO,
            Duration::from_us(500),
            Duration::from_ms(10),
            Duration::from_ms(200),
        ]),
        receive_buffer: buffer(d),
        dsack: d.flip(),
        mtu: d.pick(&[576, 1280, 1500, 1500, 9000, d.clone().range(577, 9000) as u32]),
        timestamps: d.flip(),
        timestamp_granularity: d.pick(&[
            Duration::from_us(1),
            Duration::from_ms(1),
            Duration::from_ms(10),
        ]),
        sack: d.permille(650),
        window_scaling: d.permille(650),
        time_wait: d.micros(1_000_000, 4_000_000),
        ..Config::default()
    }
}
