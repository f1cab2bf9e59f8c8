//! Strategies for segments and addresses of every shape that a header can hold.

use lowtide_wire::{
    AccEcnOption, AccEcnOrder, Addresses, Ecn, Experimental, ExtraOption, Flags, Options, RxMeta,
    SackBlocks, Segment, SeqNum, Timestamps,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

prop_compose! {
    fn extra()(
        accecn: bool,
        order: bool,
        counters in vec(any::<u32>(), 0..=3),
        exid: u16,
        data in vec(any::<u8>(), 0..=Experimental::MAX_DATA),
    ) -> Option<ExtraOption> {
        let order = if order { AccEcnOrder::Ect1First } else { AccEcnOrder::Ect0First };
        if accecn {
            return Some(ExtraOption::AccEcn(AccEcnOption::new(order, &counters)));
        }
        Experimental::new(exid, &data).map(ExtraOption::Experimental)
    }
}

prop_compose! {
    /// Options that fit: SACK blocks are limited to the room left by the others.
    pub(crate) fn options()(
        timestamps in option::of(any::<(u32, u32)>()),
        blocks in vec(any::<(u32, u32)>(), 0..=SackBlocks::MAX),
        mss: Option<u16>,
        window_scale: Option<u8>,
        sack_permitted: bool,
        extra in option::of(extra()),
    ) -> Options {
        let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        let sack = SackBlocks::EMPTY;
        let mut options = Options { timestamps, sack, mss, window_scale, sack_permitted, extra: extra.flatten() };
        for (start, end) in blocks.into_iter().take(options.room_for_sack()) {
            assert!(options.sack.push(SeqNum::new(start), SeqNum::new(end)));
        }
        options
    }
}

prop_compose! {
    pub(crate) fn addresses()(v6: bool, src: u128, dst: u128) -> Addresses {
        if v6 {
            Addresses::V6 { src: src.into(), dst: dst.into() }
        } else {
            Addresses::V4 { src: (src as u32).into(), dst: (dst as u32).into() }
        }
    }
}

prop_compose! {
    /// A segment and its payload.
    pub(crate) fn segment()(
        ports: (u16, u16),
        numbers: (u32, u32),
        flags in 0_u16..0x200,
        window: u16,
        urgent: u16,
        ecn in 0_u8..4,
        payload in vec(any::<u8>(), 0..200),
        options in options(),
    ) -> (Segment, Vec<u8>) {
        let segment = Segment {
            src_port: ports.0,
            dst_port: ports.1,
            seq: SeqNum::new(numbers.0),
            ack: SeqNum::new(numbers.1),
            flags: Flags::from_bits(flags),
            window,
            urgent,
            ecn: Ecn::from_bits(ecn),
            payload_len: payload.len() as u32,
            options,
            rx: RxMeta::default(),
        };
        (segment, payload)
    }
}
