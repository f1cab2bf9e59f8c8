//! Comparison with etherparse, an independent implementation.

use etherparse::{IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, TcpOptionElement};
use lowtide_wire::{Addresses, Ecn, Flags, Options, Segment, ipv4, ipv6, packet, tcp};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::strategy;

/// The nine bits as read by etherparse.
fn flags(header: &TcpHeader) -> Flags {
    let bits = [
        (header.fin, Flags::FIN),
        (header.syn, Flags::SYN),
        (header.rst, Flags::RST),
        (header.psh, Flags::PSH),
        (header.ack, Flags::ACK),
        (header.urg, Flags::URG),
        (header.ece, Flags::ECE),
        (header.cwr, Flags::CWR),
        (header.ns, Flags::AE),
    ];
    bits.into_iter().filter(|(set, _)| *set).fold(Flags::NONE, |all, (_, bit)| all | bit)
}

/// The options as read by etherparse; it stops at the first unknown kind.
fn elements(header: &TcpHeader) -> Vec<TcpOptionElement> {
    let known = header.options_iterator().map_while(Result::ok);
    known.filter(|element| *element != TcpOptionElement::Noop).collect()
}

/// Our options in the order in which we write them.
fn our_elements(options: &Options) -> Vec<TcpOptionElement> {
    use TcpOptionElement as E;
    let mut all = Vec::new();
    all.extend(options.mss.map(E::MaximumSegmentSize));
    all.extend(options.sack_permitted.then_some(E::SelectiveAcknowledgementPermitted));
    all.extend(options.timestamps.map(|t| E::Timestamp(t.value, t.echo)));
    all.extend(options.window_scale.map(E::WindowScale));
    let mut blocks = options.sack.as_slice().iter().map(|(start, end)| (start.raw(), end.raw()));
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        all.push(E::SelectiveAcknowledgement(first, rest));
    }
    all
}

fn check_tcp(
    bytes: &[u8],
    sum: impl FnOnce(&TcpHeader, &[u8]) -> u16,
    segment: &Segment,
    payload: &[u8],
) {
    let (header, rest) = TcpHeader::from_slice(bytes).expect("a header");
    assert_eq!(header.checksum, sum(&header, rest));
    assert_eq!(rest, payload);
    assert_eq!((header.source_port, header.destination_port), (segment.src_port, segment.dst_port));
    assert_eq!(header.sequence_number, segment.seq.raw());
    assert_eq!(header.acknowledgment_number, segment.ack.raw());
    assert_eq!((header.window_size, header.urgent_pointer), (segment.window, segment.urgent));
    assert_eq!(flags(&header), segment.flags);
    // It stops at the kinds of AccECN, which are in front of others.
    if segment.options.accecn().is_none() {
        assert_eq!(elements(&header), our_elements(&segment.options));
    }
    assert_eq!(header.header_len(), segment.header_len());
}

proptest! {
    #[test]
    fn etherparse_reads_our_packets(addresses in strategy::addresses(), (segment, payload) in strategy::segment()) {
        let mut out = [0; 500];
        let len = packet::emit(&addresses, &segment, &payload, &mut out).unwrap();
        let bytes = &out[..len];
        match addresses {
            Addresses::V4 { src, dst } => {
                let (ip, rest) = Ipv4Header::from_slice(bytes).unwrap();
                prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                prop_assert_eq!((ip.source, ip.destination), (src.octets(), dst.octets()));
                prop_assert_eq!(usize::from(ip.total_len), len);
                prop_assert_eq!((ip.ecn.value(), ip.dscp.value()), (segment.ecn.bits(), 0));
                prop_assert!(ip.dont_fragment && !ip.is_fragmenting_payload());
                prop_assert_eq!((ip.time_to_live, ip.protocol), (64, IpNumber::TCP));
                let sum = |tcp: &TcpHeader, data: &[u8]| tcp.calc_checksum_ipv4(&ip, data).unwrap();
                check_tcp(rest, sum, &segment, &payload);
            }
            Addresses::V6 { src, dst } => {
                let (ip, rest) = Ipv6Header::from_slice(bytes).unwrap();
                prop_assert_eq!((ip.source, ip.destination), (src.octets(), dst.octets()));
                prop_assert_eq!(usize::from(ip.payload_length), len - 40);
                prop_assert_eq!(ip.traffic_class, segment.ecn.bits());
                prop_assert_eq!(ip.flow_label, Ipv6FlowLabel::ZERO);
                prop_assert_eq!((ip.hop_limit, ip.next_header), (64, IpNumber::TCP));
                let sum = |tcp: &TcpHeader, data: &[u8]| tcp.calc_checksum_ipv6(&ip, data).unwrap();
                check_tcp(rest, sum, &segment, &payload);
            }
        }
    }

    #[test]
    fn we_read_etherparse_ipv4(
        (src, dst) in any::<([u8; 4], [u8; 4])>(),
        class: u8,
        (identification, ttl, protocol) in any::<(u16, u8, u8)>(),
        dont_fragment: bool,
        options in vec(any::<[u8; 4]>(), 0..=10),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let len = payload.len() as u16;
        let mut ip = Ipv4Header::new(len, ttl, IpNumber(protocol), src, dst).unwrap();
        ip.identification = identification;
        ip.dont_fragment = dont_fragment;
        ip.dscp = (class >> 2).try_into().unwrap();
        ip.ecn = (class & 3).try_into().unwrap();
        ip.options = options.as_flattened().try_into().unwrap();
        ip.set_payload_len(payload.len()).unwrap();
        ip.header_checksum = ip.calc_header_checksum();
        let mut bytes = ip.to_bytes().to_vec();
        bytes.extend(&payload);
        let (read, range) = ipv4::parse(&bytes).unwrap();
        let ecn = Ecn::from_bits(class);
        let (src, dst, dscp) = (src.into(), dst.into(), class >> 2);
        let wanted =
            ipv4::Ipv4Header { src, dst, dscp, ecn, identification, dont_fragment, ttl, protocol };
        prop_assert_eq!(read, wanted);
        prop_assert_eq!(&bytes[range], &payload[..]);
        if options.is_empty() {
            prop_assert_eq!(&ipv4::emit(&read, payload.len()).unwrap()[..], &bytes[..20]);
        }
    }

    #[test]
    fn we_read_etherparse_ipv6(
        (source, destination) in any::<([u8; 16], [u8; 16])>(),
        traffic_class: u8,
        flow_label in 0_u32..1 << 20,
        (next_header, hop_limit) in any::<(u8, u8)>(),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let ip = Ipv6Header {
            traffic_class,
            flow_label: flow_label.try_into().unwrap(),
            payload_length: payload.len() as u16,
            next_header: IpNumber(next_header),
            hop_limit,
            source,
            destination,
        };
        let mut bytes = ip.to_bytes().to_vec();
        bytes.extend(&payload);
        let (read, range) = ipv6::parse(&bytes).unwrap();
        let (src, dst) = (source.into(), destination.into());
        let (dscp, ecn) = (traffic_class >> 2, Ecn::from_bits(traffic_class));
        let wanted = ipv6::Ipv6Header { src, dst, dscp, ecn, flow_label, next_header, hop_limit };
        prop_assert_eq!(read, wanted);
        prop_assert_eq!(&bytes[range], &payload[..]);
        prop_assert_eq!(&ipv6::emit(&read, payload.len()).unwrap()[..], &bytes[..40]);
    }

    /// Its options come in any order and alignment.
    #[test]
    fn we_read_etherparse_tcp(
        (src, dst) in any::<([u8; 4], [u8; 4])>(),
        (segment, payload) in strategy::segment(),
        order in any::<prop::sample::Index>(),
    ) {
        // etherparse has neither experimental nor AccECN options.
        let options = Options { extra: None, ..segment.options };
        let mut written = our_elements(&options);
        let middle = order.index(written.len() + 1);
        written.rotate_left(middle);
        let mut header = TcpHeader::new(segment.src_port, segment.dst_port, segment.seq.raw(), segment.window);
        header.acknowledgment_number = segment.ack.raw();
        header.urgent_pointer = segment.urgent;
        header.ack = segment.flags.contains(Flags::ACK);
        header.syn = segment.flags.contains(Flags::SYN);
        header.fin = segment.flags.contains(Flags::FIN);
        header.rst = segment.flags.contains(Flags::RST);
        header.psh = segment.flags.contains(Flags::PSH);
        header.urg = segment.flags.contains(Flags::URG);
        header.ece = segment.flags.contains(Flags::ECE);
        header.cwr = segment.flags.contains(Flags::CWR);
        header.ns = segment.flags.contains(Flags::AE);
        header.set_options(&written).unwrap();
        header.checksum = header.calc_checksum_ipv4_raw(src, dst, &payload).unwrap();
        let mut bytes = header.to_bytes().to_vec();
        bytes.extend(&payload);
        let addresses = Addresses::V4 { src: src.into(), dst: dst.into() };
        let (read, range) = tcp::parse(&bytes, &addresses).unwrap();
        prop_assert_eq!(read, Segment { options, ecn: Ecn::NotEct, ..segment });
        prop_assert_eq!(&bytes[range], &payload[..]);
    }
}
