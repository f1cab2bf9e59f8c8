//! Costs that one peer can cause: work, memory and segments sent per received segment, against the
//! bounds stated in `docs/howto/live.md`.

mod bounds;
mod timing;
mod work;

use alloc::sync::Arc;
use alloc::vec::Vec;

use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Options, Segment, SeqNum, Timestamps};

use crate::connection::Connection;
use crate::loss::recovery::take_visits;
use crate::profile;
use crate::send::sender::Sender;
use crate::settings::config::Config;
use crate::transmit::Transmit;

const ISN: u32 = 1000;
const IRS: u32 = 5000;

/// Scoreboard entries that an ACK may visit in addition to those that it changes.
const VISITS_PER_ACK: u64 = 16;
/// Entries visited per segment sent or retransmitted, over all ACKs.
const VISITS_PER_SEGMENT: u64 = 8;
/// Memory of a connection per segment that may be in flight, bytes.
const BYTES_PER_SEGMENT: usize = 200;

/// A connection whose peer chooses its MSS and its ACKs.
struct HostilePeer {
    conn: Connection,
    now: Instant,
    timestamps: bool,
    /// Segments received and segments sent.
    acks: u64,
    sent: u64,
    /// Maximum of entries visited by one ACK and the segments that it released.
    max_visits_per_ack: u64,
    visits: u64,
}

impl HostilePeer {
    fn open(config: Config, mss: u16) -> Self {
        let (sack_permitted, timestamps) = (config.sack, config.timestamps);
        let now = Instant::ZERO + Duration::from_secs(1);
        let syn = Segment {
            seq: SeqNum::new(IRS),
            flags: Flags::SYN,
            window: 65_535,
            options: Options {
                mss: Some(mss),
                window_scale: Some(14),
                sack_permitted,
                timestamps: timestamps.then_some(Timestamps { value: 1, echo: 0 }),
                ..Options::default()
            },
            ..Segment::default()
        };
        let conn = Connection::accept(Arc::new(config), now, &syn, SeqNum::new(ISN), 0);
        let (acks, sent, most_steps, steps) = (0, 0, 0, 0);
        let mut hostile = Self {
            conn,
            now,
            timestamps,
            acks,
            sent,
            max_visits_per_ack: most_steps,
            visits: steps,
        };
        assert!(hostile.conn.poll_transmit(now).is_some(), "the SYN-ACK");
        hostile.advance(Duration::from_ms(1));
        hostile.ack(0, &[]);
        hostile
    }

    fn advance(&mut self, time: Duration) {
        self.now += time;
    }

    fn mss(&self) -> u64 {
        u64::from(self.conn.info().mss)
    }

    /// Processes an ACK and returns all segments sent after it.
    fn ack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> Vec<Transmit> {
        self.ack_with_echo(ack, blocks, 1)
    }

    fn ack_with_echo(&mut self, ack: u64, blocks: &[(u64, u64)], echo: u32) -> Vec<Transmit> {
        let at = |offset: u64| SeqNum::new(ISN + 1).add(offset);
        let mut options = Options {
            timestamps: self.timestamps.then_some(Timestamps { value: 2, echo }),
            ..Options::default()
        };
        for (start, end) in blocks.iter().filter(|(start, end)| start < end) {
            assert!(options.sack.push(at(*start), at(*end)));
        }
        let segment = Segment {
            seq: SeqNum::new(IRS + 1),
            ack: at(ack),
            flags: Flags::ACK,
            window: 65_535,
            options,
            ..Segment::default()
        };
        self.acks += 1;
        self.conn.handle_segment(self.now, &segment).unwrap();
        self.drain_transmits()
    }

    fn drain_transmits(&mut self) -> Vec<Transmit> {
        let sent: Vec<_> = core::iter::from_fn(|| self.conn.poll_transmit(self.now)).collect();
        self.sent += sent.iter().map(|t| u64::from(t.segments)).sum::<u64>();
        let steps = take_visits();
        self.max_visits_per_ack = self.max_visits_per_ack.max(steps);
        self.visits += steps;
        sent
    }

    fn fire_timer(&mut self) {
        self.now = self.conn.poll_timeout().expect("a timer");
        self.conn.handle_timeout(self.now);
        self.drain_transmits();
    }

    /// Acknowledges segment by segment until `segments` are in flight, or the send buffer allows no
    /// more. Returns the bytes acknowledged.
    fn fill(&mut self, segments: u64) -> u64 {
        self.conn.send(1 << 40);
        self.drain_transmits();
        let (mut acked, mut before) = (0, 0);
        loop {
            let flight = self.conn.sent_upto() - acked;
            if flight >= segments * self.mss() || (acked > 1 << 22 && flight == before) {
                return acked;
            }
            before = flight;
            // Half a window per round trip keeps the window growing.
            for _ in 0..(flight / self.mss()).div_ceil(4).max(1) {
                acked += (2 * self.mss()).min(flight);
                self.ack(acked, &[]);
            }
            self.advance(Duration::from_us(100));
        }
    }

    /// Checks that the number of ACKs, and of all segments ever sent, explains the entries visited
    /// since the last reset.
    #[track_caller]
    fn check_bounds(&self, what: &str, acks: u64) {
        let max_visits = VISITS_PER_ACK * acks + VISITS_PER_SEGMENT * self.sent;
        assert!(
            self.visits <= max_visits,
            "{what}: {} entries visited, at most {max_visits}",
            self.visits
        );
        let bytes = self.conn.memory();
        let allowed = 4096 + BYTES_PER_SEGMENT * 2 * Sender::max_segments(self.conn.config());
        assert!(bytes <= allowed, "{what}: {bytes} B of memory, at most {allowed}");
    }

    fn reset_visits(&mut self) {
        (self.acks, self.visits, self.max_visits_per_ack) = (0, 0, 0);
    }
}

fn profile(name: &str) -> Config {
    profile::REGISTRY.find(name).unwrap().config().unwrap()
}
