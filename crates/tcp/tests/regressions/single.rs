//! One connection whose peer is the test: sequence numbers are offsets, both streams start at 0.

use std::sync::Arc;

use lowtide_tcp::{Accepted, Config, Connection, Event, SegmentError, Transmit};
use lowtide_units::{Duration, Instant};
use lowtide_wire::{Flags, Options, Segment, SeqNum};

/// Our initial sequence number, and the peer's.
const ISN: u32 = 1000;
const IRS: u32 = u32::MAX - 100;

pub(crate) struct SingleConnection {
    pub(crate) conn: Connection,
    pub(crate) now: Instant,
    /// The window field of arriving segments.
    pub(crate) window: u16,
}

/// No options, no Nagle, an acknowledgement for each segment.
pub(crate) fn plain() -> Config {
    Config {
        timestamps: false,
        sack: false,
        window_scaling: false,
        nagle: false,
        delack_segments: 1,
        ..Config::default()
    }
}

impl SingleConnection {
    /// An established connection that was opened actively, with an MSS of 1000 B, or of 8960 B with
    /// a larger MTU than 1500 B.
    pub(crate) fn established(config: Config) -> Self {
        Self::opened(config, 65_535)
    }

    /// As [`Self::established`], with the window field of the peer's SYN-ACK.
    pub(crate) fn opened(config: Config, window: u16) -> Self {
        let sack_permitted = config.sack;
        let window_scale = config.window_scaling.then_some(7);
        let mss = Some(if config.mtu > 1500 { 8960 } else { 1000 });
        let conn = Connection::connect(Arc::new(config), 1, 2, SeqNum::new(ISN), 0);
        let mut single = Self { conn, now: Instant::ZERO, window };
        assert!(single.sends().is_some_and(|t| t.header.flags.contains(Flags::SYN)));
        single.later(Duration::from_ms(1));
        let syn_ack = Segment {
            seq: SeqNum::new(IRS),
            ack: SeqNum::new(ISN + 1),
            flags: Flags::SYN | Flags::ACK,
            window,
            options: Options { mss, sack_permitted, window_scale, ..Options::default() },
            ..single.segment()
        };
        assert_eq!(single.takes(&syn_ack), Ok(Accepted::default()));
        assert_eq!(single.conn.poll_event(), Some(Event::Established));
        assert!(single.sends().is_some(), "the ACK of the SYN-ACK");
        assert!(single.sends().is_none());
        single
    }

    fn segment(&self) -> Segment {
        Segment { src_port: 2, dst_port: 1, window: self.window, ..Segment::default() }
    }

    /// A segment of the peer: payload from `seq` on, acknowledging everything below `ack`.
    pub(crate) fn of_peer(&self, seq: u64, len: u32, ack: u64, flags: Flags) -> Segment {
        Segment {
            seq: SeqNum::new(IRS).add(1 + seq),
            ack: SeqNum::new(ISN).add(1 + ack),
            flags: flags | Flags::ACK,
            payload_len: len,
            ..self.segment()
        }
    }

    pub(crate) fn arrives(
        &mut self,
        seq: u64,
        len: u32,
        ack: u64,
        flags: Flags,
    ) -> Result<Accepted, SegmentError> {
        self.takes(&self.of_peer(seq, len, ack, flags))
    }

    pub(crate) fn takes(&mut self, seg: &Segment) -> Result<Accepted, SegmentError> {
        self.conn.handle_segment(self.now, seg)
    }

    /// The next transmission.
    pub(crate) fn sends(&mut self) -> Option<Transmit> {
        self.conn.poll_transmit(self.now)
    }

    /// All transmissions that are possible now.
    pub(crate) fn sends_all(&mut self) -> Vec<Transmit> {
        std::iter::from_fn(|| self.sends()).take(1000).collect()
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.conn.poll_event()).collect()
    }

    pub(crate) fn later(&mut self, d: Duration) {
        self.now += d;
    }
}
