//! Capture points of frames: interfaces of a file, interface indices of cooked captures, VLANs; and
//! packets that the capture lost.

use lowtide_analysis::capture::{CapturePoint, Decoder, Interface, Reader};
use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;

use crate::fixtures::{ADDRESSES, headers, pcap, segment};

fn points(file: &[u8]) -> (Vec<CapturePoint>, Vec<Interface>) {
    let mut reader = Reader::new(file).expect("a capture");
    let mut points = Vec::new();
    while let Some(frame) = reader.next_frame().expect("whole") {
        points.push(frame.point());
    }
    let interfaces = reader.interfaces().to_vec();
    (points, interfaces)
}

/// A section with one packet on each interface.
fn section(names: &[&str]) -> Vec<u8> {
    let mut writer = PcapngWriter::new("test");
    let ids: Vec<_> = names.iter().map(|name| writer.interface(name)).collect();
    let (bytes, len) = headers(&ADDRESSES, &segment(5, 900));
    for id in ids {
        writer.packet(id, Instant::ZERO, &bytes, len, "");
    }
    writer.take()
}

#[test]
fn interfaces_keep_their_numbers_over_sections() {
    let file = [section(&["eth0", "eth1"]), section(&["eth1", "eth0", "eth0"])].concat();
    let (points, interfaces) = points(&file);
    let numbers: Vec<u32> = points.iter().map(|p| p.interface).collect();
    assert_eq!(numbers, [0, 1, 1, 0, 2], "two of one name in a section are two");
    let names: Vec<_> = interfaces.iter().map(|i| i.name.as_deref()).collect();
    assert_eq!(names, [Some("eth0"), Some("eth1"), Some("eth0")]);
}

#[test]
fn cooked_headers_and_vlan_tags_give_the_capture_point() {
    let (packet, len) = headers(&ADDRESSES, &segment(5, 900));
    let point = |link: u32, before: &[u8]| {
        let frame = [before, &packet].concat();
        let whole = len + before.len() as u32;
        points(&pcap(0xa1b2_c3d4, false, link, &[(0, 0, &frame, whole)])).0[0]
    };
    let mut sll2 = [0_u8; 20];
    sll2[0] = 8;
    sll2[4..8].copy_from_slice(&7_u32.to_be_bytes());
    assert_eq!(point(276, &sll2), CapturePoint { if_index: Some(7), ..CapturePoint::default() });
    let mut sll = [0_u8; 16];
    (sll[1], sll[14]) = (4, 8);
    assert_eq!(point(113, &sll), CapturePoint { outgoing: Some(true), ..CapturePoint::default() });
    sll[1] = 0;
    assert_eq!(point(113, &sll), CapturePoint { outgoing: Some(false), ..CapturePoint::default() });
    let tagged = [&[0; 12][..], &[0x81, 0, 0xe0, 0x2a, 8, 0]].concat();
    assert_eq!(
        point(1, &tagged),
        CapturePoint { vlan: Some(42), ..CapturePoint::default() },
        "no priority in it"
    );
    let plain = [&[0; 12][..], &[8, 0]].concat();
    assert_eq!(point(1, &plain), CapturePoint::default());
}

#[test]
fn interface_statistics_give_the_capture_losses() {
    let mut file = section(&["eth0", "eth1"]);
    assert!(points(&file).1.iter().all(|i| i.dropped.is_none()));
    let statistics = |id: u32, counts: &[(u16, u64)]| {
        let mut body = [id.to_le_bytes(), [0; 4], [0; 4]].concat();
        for (code, n) in counts {
            body.extend([code.to_le_bytes(), 8_u16.to_le_bytes()].concat());
            body.extend(n.to_le_bytes());
        }
        body.extend([0; 4]);
        let len = (body.len() as u32 + 12).to_le_bytes();
        [&5_u32.to_le_bytes()[..], &len, &body, &len].concat()
    };
    // Received packets (4) are no loss; the later count includes the earlier; interface 9 is not
    // described.
    for block in [
        statistics(1, &[(4, 900), (5, 2)]),
        statistics(1, &[(5, 10), (7, 5)]),
        statistics(9, &[(5, 1)]),
    ] {
        file.extend(block);
    }
    let dropped: Vec<_> = points(&file).1.iter().map(|i| i.dropped).collect();
    assert_eq!(dropped, [None, Some(15)]);
}

#[test]
fn the_hop_limit_is_that_of_the_ip_header() {
    let (mut packet, len) = headers(&ADDRESSES, &segment(5, 900));
    packet[8] = 57;
    let file = pcap(0xa1b2_c3d4, false, 101, &[(0, 0, &packet, len)]);
    let mut reader = Reader::new(&file[..]).expect("a capture");
    let frame = reader.next_frame().expect("whole").expect("one");
    let seen = Decoder::default().segment(&frame).expect("TCP");
    assert_eq!(seen.packet.hop_limit, 57);
}
