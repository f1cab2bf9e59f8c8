//! One direction of a connection: the data of one end, and what the other end answers.

use lowtide_wire::{Ecn, Flags, Segment, SeqNum};

use super::alpha::Alpha;
use super::delay::Delays;
use super::echo::Echo;
use super::opening::Mode;
use super::series::{Bins, DRAWN_BINS, LISTED_BINS};
use super::stalls::Stalls;
use super::stream::{Sent, Stream};
use super::trace::Trace;
use super::window::Window;

/// Settings of the analysis of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// g of alpha.
    pub(super) gain: f64,
    /// Least retransmission timeout of the senders' stacks, nanoseconds.
    pub(super) rto_min: u64,
    /// A plot is wanted.
    pub(super) traced: bool,
}

/// What both directions of a connection tell about a packet of this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    pub(super) time: u64,
    pub(super) mode: Mode,
    /// Payload of a full segment.
    pub(super) mss: u32,
    /// Least round trip of the whole path.
    pub(super) round_trip: Option<u64>,
    /// Least round trip between the capture and this sender, and a usual one.
    pub(super) to_sender: Option<u64>,
    pub(super) usual_to_sender: Option<u64>,
    /// How long no packet of the connection had come by.
    pub(super) silence: u64,
}

/// A silence that long before a segment is sent again is a timeout, where no round trip is known.
const LONG_SILENCE_NS: u64 = 100_000_000;
/// A capture is at a sender when the way to the receiver is so many times as long.
pub(super) const NEAR: u64 = 4;

#[derive(Clone, Debug)]
pub(super) struct Half {
    pub(super) stream: Stream,
    pub(super) delays: Delays,
    pub(super) echo: Echo,
    pub(super) alpha: Alpha,
    pub(super) stalls: Stalls,
    pub(super) window: Window,
    pub(super) goodput: Bins,
    pub(super) first_data: Option<u64>,
    pub(super) last_data: u64,
    /// The first ACK that advanced.
    pub(super) first_ack: Option<u64>,
    pub(super) last_ack: u64,
    /// ACKs of this data in the capture, and those with SACK blocks above the number that they
    /// acknowledge.
    pub(super) acks: u64,
    pub(super) sack_acks: u64,
    /// DSACK blocks (RFC 2883), and ACKs that repeat the number before.
    pub(super) dsacks: u64,
    pub(super) duplicate_acks: u64,
    /// Packets captured twice.
    pub(super) copies: u64,
    last_window: Option<u16>,
    pub(super) fin: Option<u64>,
    pub(super) reset: Option<u64>,
    pub(super) trace: Option<Box<Trace>>,
}

impl Half {
    pub(super) fn new(settings: Settings) -> Self {
        let Settings { gain, rto_min, traced } = settings;
        let bins = if traced { DRAWN_BINS } else { LISTED_BINS };
        Self {
            stream: Stream::default(),
            delays: Delays::default(),
            echo: Echo::default(),
            alpha: Alpha::new(gain, bins),
            stalls: Stalls::new(rto_min),
            window: Window::new(bins),
            goodput: Bins::default(),
            first_data: None,
            last_data: 0,
            first_ack: None,
            last_ack: 0,
            acks: 0,
            sack_acks: 0,
            dsacks: 0,
            duplicate_acks: 0,
            copies: 0,
            last_window: None,
            fin: None,
            reset: None,
            trace: traced.then(Box::default),
        }
    }

    /// How long a silence is a timeout's.
    fn threshold(&self, around: &Surroundings) -> u64 {
        let Some(smoothed) = self.delays.smoothed() else { return LONG_SILENCE_NS };
        let back = around.to_sender.unwrap_or(0);
        if self.delays.min().is_some_and(|there| there > back.saturating_mul(NEAR)) {
            // Whatever an ACK makes the sender do follows at once here.
            (smoothed / 2).max(back.saturating_mul(NEAR))
        } else {
            // Here a whole round trip may pass between an ACK and what it makes the sender do.
            let usual = around.usual_to_sender.unwrap_or(back);
            (smoothed + usual.max(back)).saturating_mul(3)
        }
    }

    /// This end sends a segment without SYN.
    pub(super) fn on_segment(&mut self, segment: &Segment, around: &Surroundings) {
        let time = around.time;
        if let Some(stamps) = segment.options.timestamps {
            self.delays.stamp(time, stamps.value);
        }
        if segment.flags.contains(Flags::FIN) {
            self.fin.get_or_insert(time);
        }
        let head_sent = self.stream.head_sent();
        let (sent, start) = self.stream.send(time, segment, around.mss, around.round_trip);
        if segment.payload_len == 0 || sent == Sent::Nothing {
            return;
        }
        self.first_data.get_or_insert(time);
        self.last_data = time;
        let fresh = matches!(sent, Sent::New | Sent::Late);
        let accurate = around.mode == Mode::Accecn;
        self.echo.on_data(segment, start, around.mss, fresh, accurate);
        if let Sent::Again { head, tail } = sent {
            let threshold = self.threshold(around);
            let armed = head_sent.unwrap_or(0).max(self.last_ack);
            let fired = head && self.stalls.on_head_again(time, around.silence, threshold, armed);
            if tail && !head && !fired {
                self.stalls.on_tail_again(around.silence, threshold);
            }
        }
        self.window.on_data(time, self.stream.flight());
        if let Some(trace) = &mut self.trace {
            let end = start + u64::from(segment.payload_len);
            let cwr = !accurate && segment.flags.contains(Flags::CWR);
            trace.on_data(time, end, sent, segment.ecn == Ecn::Ce, cwr);
        }
    }

    /// The other end sends a segment without SYN that acknowledges.
    pub(super) fn on_ack(&mut self, segment: &Segment, around: &Surroundings) {
        let (time, mss) = (around.time, around.mss);
        if let Some(stamps) = segment.options.timestamps {
            self.delays.echo(time, stamps.echo);
        }
        let Some(covered) = self.stream.acknowledge(time, segment.ack) else { return };
        self.acks += 1;
        self.stalls.on_window(time, segment.window);
        let newly = covered.newly();
        let pure = segment.payload_len == 0 && !segment.flags.contains(Flags::FIN);
        let edges = |n: SeqNum| self.stream.place(n).is_some_and(|at| at < covered.ack);
        let blocks = segment.options.sack.as_slice();
        self.dsacks += u64::from(blocks.first().is_some_and(|(first, _)| edges(*first)));
        self.sack_acks += u64::from(blocks.iter().any(|(first, _)| !edges(*first)));
        let same_window = self.last_window.replace(segment.window) == Some(segment.window);
        if pure && newly == 0 && !covered.old && covered.flight > 0 && same_window {
            self.duplicate_acks += 1;
        }
        let lone = newly > 0 && newly == covered.flight;
        let least = self.delays.without_timer();
        let waited = covered.rtt.zip(least).filter(|_| lone && !covered.gap);
        let (mut late, mut marked) = (false, 0);
        if let Some((rtt, least)) = waited {
            let before = self.stalls.ack_waits.count();
            self.stalls.on_lone_ack(rtt, covered.owed, least);
            late = self.stalls.ack_waits.count() > before;
        }
        if let Some(rtt) = covered.rtt {
            self.delays.acknowledged(rtt, newly == covered.flight);
        }
        let echo = match around.mode {
            Mode::Accecn => {
                let ahead = self.echo.on_accurate(segment, &covered);
                marked = ahead.saturating_mul(u64::from(mss));
                ahead > 0
            }
            _ if covered.old => false,
            _ => {
                self.echo.on_ack(time, segment, &covered, mss, late);
                let echo = segment.flags.contains(Flags::ECE);
                marked = if echo { newly } else { 0 };
                echo
            }
        };
        if newly > 0 {
            self.first_ack.get_or_insert(time);
            self.last_ack = time;
            self.stalls.on_advance();
            self.goodput.add(time, newly);
            self.window.on_ack(time, &covered, echo, mss, around.round_trip);
            let now = (time, around.round_trip.unwrap_or(0));
            self.alpha.on_ack(now, covered.ack, (newly, marked), self.stream.highest);
        }
        if let Some(trace) = &mut self.trace
            && self.stream.highest > 0
        {
            let sacked = segment.options.sack.as_slice();
            let sacked = sacked.iter().flat_map(|(a, b)| [*a, *b]);
            let sacked: Vec<u64> = sacked.filter_map(|n| self.stream.place(n)).collect();
            trace.on_ack(time, covered.ack, echo, &sacked);
        }
    }
}
