//! Byte layouts, written out by hand.

use lowtide_units::HostStamp;
use lowtide_wire::checksum::Checksum;
use lowtide_wire::{
    AccEcnOption, AccEcnOrder, Addresses, DelayStamps, Ecn, Experimental, ExtraOption, Flags,
    Options, SackBlocks, Segment, SeqNum, Timestamps, options, packet,
};

fn bytes(set: &Options) -> Vec<u8> {
    let mut out = [0; options::MAX_LEN];
    let len = set.emit(&mut out).expect("fits");
    out[..len].to_vec()
}

fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
    let mut sack = SackBlocks::EMPTY;
    for (start, end) in blocks {
        assert!(sack.push(SeqNum::new(*start), SeqNum::new(*end)));
    }
    sack
}

const TIMES: Timestamps = Timestamps { value: 0x0102_0304, echo: 0x0506_0708 };

#[test]
fn a_syn_looks_like_that_of_linux() {
    let syn = Options {
        mss: Some(1460),
        sack_permitted: true,
        timestamps: Some(TIMES),
        window_scale: Some(7),
        ..Options::default()
    };
    let wanted = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3, 7];
    assert_eq!(bytes(&syn), wanted);
    let without_timestamps = Options { timestamps: None, ..syn };
    assert_eq!(bytes(&without_timestamps), [2, 4, 0x05, 0xb4, 1, 1, 4, 2, 1, 3, 3, 7]);
    let without_sack = Options { sack_permitted: false, ..syn };
    assert_eq!(bytes(&without_sack)[4..10], [1, 1, 8, 10, 1, 2]);
}

#[test]
fn data_and_acks_align_to_four() {
    let data = Options { timestamps: Some(TIMES), ..Options::default() };
    assert_eq!(bytes(&data), [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    let ack = Options { sack: sack(&[(1, 2), (3, 0xffff_ffff)]), ..Options::default() };
    let wanted = [1, 1, 5, 18, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 255, 255, 255, 255];
    assert_eq!(bytes(&ack), wanted);
    assert_eq!(bytes(&Options::default()), []);
}

#[test]
fn experimental_options_are_padded_at_the_end() {
    let extra = Experimental::new(0xacce, &[9]).map(ExtraOption::Experimental);
    let set = Options { extra, ..Options::default() };
    assert_eq!(bytes(&set), [254, 5, 0xac, 0xce, 9, 1, 1, 1]);
    assert_eq!(Experimental::new(0, &[0; 13]), None);
}

/// The option of DX §V-B, with the identifier required by RFC 6994.
#[test]
fn delay_stamps_are_three_words_after_the_exid() {
    let mut set = Options { timestamps: Some(TIMES), ..Options::default() };
    set.set_delay(DelayStamps { sent: 0x0102_0304, arrived: 0xfffe_fdfc, left: 0 });
    let mut segment = Segment { options: set, ..Segment::default() };
    // 4.295 s: the clock has wrapped once, and its upper half is not sent.
    segment.stamp_departure(HostStamp(0x0001_1122_3344));
    let got = bytes(&segment.options);
    assert_eq!(got[12..16], [254, 16, 0x44, 0x58]);
    assert_eq!(
        got[16..],
        [1, 2, 3, 4, 0xff, 0xfe, 0xfd, 0xfc, 0x11, 0x22, 0x33, 0x44],
        "t1, t2, t3"
    );
    let stamps = Options::parse(&got).expect("whole").delay().expect("there");
    assert_eq!(stamps.echo(), Some((0x0102_0304, 0xfffe_fdfc)));
    assert_eq!(stamps.left, 0x1122_3344);
    assert_eq!(DelayStamps { left: 7, ..DelayStamps::default() }.echo(), None);

    let mut offer = Options::default();
    offer.offer_delay();
    assert_eq!(bytes(&offer), [254, 4, 0x44, 0x58]);
    assert!(offer.offers_delay() && offer.delay().is_none());
    // An unknown option, and a timestamp without an option for it.
    let unknown = Experimental::new(0xacce, &[0; 12]).map(ExtraOption::Experimental);
    let other = Options { extra: unknown, ..offer };
    assert!(!other.offers_delay() && other.delay().is_none());
    let mut plain = Segment { options: other, ..Segment::default() };
    plain.stamp_departure(HostStamp(9));
    assert_eq!(plain.options, other);
}

/// RFC 9768 figure 4 and table 5.
#[test]
fn accecn_options_have_three_bytes_per_counter() {
    let option = |order, counters: &[u32]| Options {
        extra: Some(ExtraOption::AccEcn(AccEcnOption::new(order, counters))),
        ..Options::default()
    };
    let all = [0x0102_0304, 5, 0xff06_0708];
    let first = option(AccEcnOrder::Ect1First, &all);
    assert_eq!(bytes(&first), [174, 11, 2, 3, 4, 0, 0, 5, 6, 7, 8, 1]);
    let counters: Vec<_> = first.accecn().expect("there").counters().collect();
    assert_eq!(counters, [(Ecn::Ect1, 0x02_0304), (Ecn::Ce, 5), (Ecn::Ect0, 0x06_0708)]);
    let two = option(AccEcnOrder::Ect0First, &all[..2]);
    assert_eq!(bytes(&two), [172, 8, 2, 3, 4, 0, 0, 5]);
    let counters: Vec<_> = two.accecn().expect("there").counters().collect();
    assert_eq!(counters, [(Ecn::Ect0, 0x02_0304), (Ecn::Ce, 5)]);
    assert_eq!(bytes(&option(AccEcnOrder::Ect0First, &all[..1])), [172, 5, 2, 3, 4, 1, 1, 1]);
    assert_eq!(bytes(&option(AccEcnOrder::Ect1First, &[])), [174, 2, 1, 1]);

    // The last bytes of a short option replace the NOPs of the next option.
    let with_sack = |options: Options| Options { sack: sack(&[(1, 2)]), ..options };
    let short = with_sack(option(AccEcnOrder::Ect1First, &all[..1]));
    assert_eq!(bytes(&short)[..8], [174, 5, 2, 3, 4, 1, 5, 10]);
    let empty = with_sack(option(AccEcnOrder::Ect1First, &[]));
    assert_eq!(bytes(&empty)[..4], [174, 2, 5, 10]);
    let syn = Options { sack_permitted: true, window_scale: Some(7), ..empty };
    let syn = Options { sack: SackBlocks::EMPTY, ..syn };
    assert_eq!(bytes(&syn), [174, 2, 4, 2, 1, 3, 3, 7]);
    let scaled = Options { window_scale: Some(7), ..option(AccEcnOrder::Ect1First, &all[..1]) };
    assert_eq!(bytes(&scaled), [174, 5, 2, 3, 4, 3, 3, 7]);
}

#[test]
fn room_for_sack() {
    let none = Options::default();
    assert_eq!(none.room_for_sack(), 4);
    let times = Options { timestamps: Some(TIMES), ..none };
    assert_eq!(times.room_for_sack(), 3);
    let extra = Experimental::new(1, &[0; 8]).map(ExtraOption::Experimental);
    assert_eq!(Options { extra, ..times }.room_for_sack(), 1);
    let extra = Experimental::new(1, &[0; 12]).map(ExtraOption::Experimental);
    let full = Options { extra, mss: Some(1), window_scale: Some(1), ..times };
    assert_eq!(full.room_for_sack(), 0);
    let (mut stamped, mut both) = (none, times);
    stamped.set_delay(DelayStamps::default());
    both.set_delay(DelayStamps::default());
    assert_eq!((stamped.room_for_sack(), both.room_for_sack()), (2, 1));
    let long = Experimental { exid: 0, len: 255, data: [0; 12] };
    let over = Options { extra: Some(ExtraOption::Experimental(long)), ..none };
    assert_eq!(over.room_for_sack(), 0);
}

#[test]
fn a_whole_packet() {
    let addresses = Addresses::V4 { src: [10, 0, 0, 1].into(), dst: [10, 0, 0, 2].into() };
    let segment = Segment {
        src_port: 0x1234,
        dst_port: 80,
        seq: SeqNum::new(0xdead_beef),
        ack: SeqNum::new(0x0000_0001),
        flags: Flags::ACK | Flags::AE | Flags::CWR | Flags::ECE,
        window: 0xfffe,
        ecn: Ecn::Ect0,
        payload_len: 3,
        ..Segment::default()
    };
    let mut out = [0; 64];
    let len = packet::emit(&addresses, &segment, &[0xaa, 0xbb, 0xcc], &mut out).unwrap();
    #[rustfmt::skip]
    let wanted = [
        0x45, 0x02, 0, 43, 0, 0, 0x40, 0, 64, 6, 0x26, 0xc9, 10, 0, 0, 1, 10, 0, 0, 2,
        0x12, 0x34, 0, 80, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 1,
        0x51, 0xd0, 0xff, 0xfe, 0x00, 0x00, 0, 0,
        0xaa, 0xbb, 0xcc,
    ];
    // The checksum is checked against the definition below and against etherparse elsewhere.
    let mut unsummed = out;
    unsummed[36..38].fill(0);
    assert_eq!(unsummed[..len], wanted);
    let mut sum = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 6 + 23;
    for pair in unsummed[20..44].chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair[1]);
    }
    let sum = (sum & 0xffff) + (sum >> 16);
    assert_eq!(u16::from_be_bytes([out[36], out[37]]), !(sum as u16));
}

#[test]
fn codepoints_and_flags() {
    for bits in 0..=255 {
        assert_eq!(Ecn::from_bits(bits).bits(), bits & 3);
        assert_eq!(Ecn::from_bits(bits).is_capable(), bits & 3 != 0);
    }
    assert_eq!(Flags::from_bits(0xffff).bits(), 0x1ff);
    assert_eq!(format!("{:?}", Flags::SYN | Flags::ACK | Flags::ECE), "S.E");
    assert_eq!(format!("{:?}", Flags::from_bits(0x1ff)), "SFRP.UEWA");
    // The ACE field: AE is the highest bit, ECE the lowest (RFC 9768 §3.2.2, figure 3).
    for ace in 0..8_u8 {
        let flags = Flags::from_bits(0x1ff).with_ace(ace);
        assert_eq!((flags.ace(), flags.without(Flags::ACE).bits()), (ace, 0x3f));
        let bits = [Flags::ECE, Flags::CWR, Flags::AE].map(|f| u8::from(flags.contains(f)));
        assert_eq!(bits[0] | bits[1] << 1 | bits[2] << 2, ace);
    }
    assert_eq!(Flags::ACK.with_ace(0xfa), Flags::ACK | Flags::CWR);
    assert_eq!((Flags::SYN | Flags::ACK).without(Flags::SYN), Flags::ACK);
    assert!(!Flags::SYN.contains(Flags::SYN | Flags::ACK));
    assert!(Flags::SYN.intersects(Flags::SYN | Flags::ACK));
}

/// The example of RFC 1071 §3, and the extreme sums.
#[test]
fn checksums() {
    let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(Checksum::new().with(&example).finish(), !0xddf2);
    assert_eq!(Checksum::new().finish(), 0xffff);
    assert_eq!(Checksum::new().with(&[0xff; 1000]).finish(), 0);
    assert_eq!(Checksum::new().with(&[0x12]).finish(), !0x1200);
    for len in 0..40 {
        let bytes: Vec<u8> = (1..=len).collect();
        let slow = bytes.chunks(2).fold(0_u32, |sum, pair| {
            sum + (u32::from(pair[0]) << 8) + u32::from(*pair.get(1).unwrap_or(&0))
        });
        let wanted = !((slow & 0xffff) + (slow >> 16)) as u16;
        for cut in (0..=bytes.len()).step_by(2) {
            let (a, b) = bytes.split_at(cut);
            let parts = Checksum::new().with(a).with_sum(Checksum::new().with(b));
            assert_eq!(parts.finish(), wanted, "{len} bytes cut at {cut}");
        }
    }
}
