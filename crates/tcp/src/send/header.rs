//! Headers of data segments, ACKs and RST; `handshake` builds those of SYNs.
//!
//! Frequent segments are written in place ([`Connection::poll_transmit_into`]): copying a header
//! costs as much as building it.

use core::ops::Range;

use lowtide_units::Instant;
use lowtide_wire::{
    DelayStamps, Ecn, ExtraOption, Flags, Options, RxMeta, SackBlocks, Segment, SeqNum, options,
};

use crate::connection::Connection;
use crate::ecn::PacketClass;
use crate::transmit::Transmit;

/// An empty header. A constant is written field by field; a default would be built first and
/// copied.
const EMPTY_HEADER: Segment = Segment {
    src_port: 0,
    dst_port: 0,
    seq: SeqNum::new(0),
    ack: SeqNum::new(0),
    flags: Flags::NONE,
    window: 0,
    urgent: 0,
    ecn: Ecn::NotEct,
    payload_len: 0,
    options: Options {
        timestamps: None,
        sack: SackBlocks::EMPTY,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        extra: None,
    },
    rx: RxMeta {
        stamp: None,
        coalesced: 0,
        ce_coalesced: 0,
        host_wait_us: 0,
        delack_timeout: None,
    },
};

impl Connection {
    /// A header with the fields common to all segments of a synchronised connection. It
    /// acknowledges all received data, so no ACK is due afterwards.
    #[inline(never)]
    pub(crate) fn segment(
        &mut self,
        now: Instant,
        seq: SeqNum,
        class: PacketClass,
        payload: u32,
    ) -> Segment {
        let mut out = Transmit::default();
        self.put_header(now, seq, class, &mut out);
        if self.has_extra_option {
            self.put_extra_option(now, class, payload, &mut out.header);
        }
        out.header
    }

    /// As [`Self::segment`], written in place and without its extra option.
    #[inline]
    pub(crate) fn put_header(
        &mut self,
        now: Instant,
        seq: SeqNum,
        class: PacketClass,
        out: &mut Transmit,
    ) {
        let (window, echo) = self.rcv.acknowledge(now);
        let flags = match self.ecn.ace() {
            Some(ace) => Flags::ACK.with_ace(ace),
            None if echo => Flags::ACK.with(Flags::ECE),
            None => Flags::ACK,
        };
        let timestamps = self.ts.as_ref().map(|ts| ts.stamp(now));
        out.header = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq,
            ack: self.rcv.next_seq(),
            flags,
            window,
            ecn: self.ecn.codepoint(class),
            options: Options { timestamps, ..EMPTY_HEADER.options },
            ..EMPTY_HEADER
        };
    }

    /// Adds the delay option, or the AccECN option if one is due and `payload` bytes leave room. A
    /// separate function, because most connections use neither.
    #[inline(never)]
    pub(crate) fn put_extra_option(
        &mut self,
        now: Instant,
        class: PacketClass,
        payload: u32,
        seg: &mut Segment,
    ) {
        if let Some(delay) = &mut self.delay {
            seg.options.set_delay(delay.next_option());
        } else {
            self.put_accecn_option(now, class, payload, None, seg);
        }
    }

    /// Adds the AccECN option if one is due, after the SACK blocks, the first of which is a DSACK
    /// from `dsack` on. Counters that have not changed are omitted if room is short. Two blocks
    /// remain at least (RFC 9768 §3.2.3.3; Linux `tcp_options_fit_accecn`).
    fn put_accecn_option(
        &mut self,
        now: Instant,
        class: PacketClass,
        payload: u32,
        dsack: Option<SeqNum>,
        seg: &mut Segment,
    ) {
        let Some((all, required)) = self.ecn.option_due(now, self.rtt.srtt(), class) else {
            return;
        };
        // Options take payload of a full segment (RFC 9293 §3.7.1).
        let most = if payload > 0 {
            self.snd.mss + self.option_bytes()
        } else {
            self.config.mtu.saturating_sub(self.ip.headers_len())
        };
        let room = options::MAX_LEN.min(most.saturating_sub(payload) as usize);
        let bare = seg.options;
        let (mut option, mut blocks) = (all, bare.sack.len());
        loop {
            seg.options.extra = Some(ExtraOption::AccEcn(option));
            seg.options.sack = bare.sack.truncated(blocks);
            if seg.options.wire_len() <= room {
                self.ecn.on_option_sent(now, dsack);
                return;
            }
            if option.len() > required {
                option = option.shortened();
            } else if blocks > 2 && required > 0 {
                (option, blocks) = (all, blocks - 1);
            } else {
                seg.options = bare;
                return;
            }
        }
    }

    pub(crate) fn pure_ack(&mut self, now: Instant, out: &mut Transmit) {
        let at = self.snd.nxt;
        self.put_header(now, self.snd.seq(at), PacketClass::Control, out);
        if self.has_extra_option {
            self.put_extra_on_ack(now, out);
        } else {
            self.put_blocks(out);
        }
        self.complete_control(out);
    }

    /// Adds SACK blocks beside the extra option.
    #[inline(never)]
    fn put_extra_on_ack(&mut self, now: Instant, out: &mut Transmit) {
        if let Some(delay) = &mut self.delay {
            out.header.options.set_delay(delay.next_option());
            self.put_blocks(out);
        } else {
            let dsack = self.rcv.pending_dsack();
            self.put_blocks(out);
            self.put_accecn_option(now, PacketClass::Control, 0, dsack, &mut out.header);
        }
    }

    #[inline]
    fn put_blocks(&mut self, out: &mut Transmit) {
        if self.sack_ok && self.rcv.has_blocks() {
            let header = &mut out.header;
            // As many blocks as the header and the MTU have room for.
            let room = (self.config.mtu.saturating_sub(self.ip.header_len()) as usize)
                .saturating_sub(header.header_len() + 4)
                / 8;
            let most = header.options.room_for_sack();
            header.options.sack = self.rcv.sack_blocks(most.min(room));
        }
    }

    /// A pure ACK without SACK blocks (RFC 9768 §3.2.2.1, §3.2.2.5.1).
    #[cold]
    #[inline(never)]
    pub(crate) fn ack_without_sack(&mut self, now: Instant) -> Transmit {
        let blocks = self.sack_ok && self.rcv.has_blocks();
        let at = self.snd.nxt;
        let mut header = self.segment(now, self.snd.seq(at), PacketClass::Control, 0);
        if let Some(ace) = self.ecn.take_ack_without_sack() {
            header.flags = header.flags.with_ace(ace);
            if blocks {
                self.rcv.schedule_ack_now();
            }
        }
        self.control_segment(header)
    }

    /// The ACK that precedes a change of the echo (RFC 8257 §3.2): an older number with the older
    /// echo. Later data is still to be acknowledged.
    #[inline(never)]
    pub(crate) fn prior_ack(&mut self, now: Instant, upto: u64, echo: bool, out: &mut Transmit) {
        let timestamps = self.ts.as_ref().map(|ts| ts.stamp(now));
        out.header = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq: self.snd.seq(self.snd.nxt),
            ack: self.rcv.seq(upto),
            flags: if echo { Flags::ACK | Flags::ECE } else { Flags::ACK },
            window: self.rcv.advertise_window_from(upto, false),
            ecn: self.ecn.codepoint(PacketClass::Control),
            options: Options { timestamps, ..EMPTY_HEADER.options },
            ..EMPTY_HEADER
        };
        if self.delay.is_some() {
            out.header.options.set_delay(DelayStamps::default());
        }
        self.complete_control(out);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn reset_segment(&mut self, now: Instant, seq: SeqNum) -> Transmit {
        let mut header = Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq,
            flags: Flags::RST,
            ecn: self.ecn.codepoint(PacketClass::Control),
            ..Segment::default()
        };
        if !self.rst_without_ack && (self.rcv.nxt() > 0 || self.cc.is_some()) {
            header.ack = self.rcv.next_seq();
            header.flags |= Flags::ACK;
            header.options.timestamps = self.ts.as_ref().map(|ts| ts.stamp(now));
        }
        self.control_segment(header)
    }

    pub(crate) fn control_segment(&mut self, header: Segment) -> Transmit {
        let mut out = Transmit { header, ..Transmit::default() };
        self.complete_control(&mut out);
        out
    }

    #[inline]
    pub(crate) fn complete_control(&mut self, out: &mut Transmit) {
        // A FIN that was sent counts one in SND.NXT but is not a byte of the stream.
        let at = self.snd.nxt.min(self.snd.write_seq);
        self.complete(at..at, 1, out);
    }

    pub(crate) fn transmit(
        &mut self,
        header: Segment,
        stream: Range<u64>,
        segments: u32,
    ) -> Transmit {
        let mut out = Transmit { header, ..Transmit::default() };
        self.complete(stream, segments, &mut out);
        out
    }

    /// Fills in all fields except the header.
    #[inline]
    pub(crate) fn complete(&mut self, stream: Range<u64>, segments: u32, out: &mut Transmit) {
        out.id = self.new_id();
        out.stream = stream;
        out.mss = self.snd.mss;
        out.segments = segments;
        out.accecn = self.ecn.is_accecn();
        out.delack_timeout = false;
    }
}
