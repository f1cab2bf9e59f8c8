//! Captures, read back by an independent parser of the format.

use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;

/// Type and body of every block; lengths at both ends must agree.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let len = word(bytes, 4) as usize;
        assert!(len.is_multiple_of(4) && len >= 12 && len <= bytes.len(), "block of {len} bytes");
        assert_eq!(word(bytes, len - 4) as usize, len);
        found.push((word(bytes, 0), bytes[8..len - 4].to_vec()));
        bytes = &bytes[len..];
    }
    found
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Code and value of every option, which must end with "end of options".
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    loop {
        let (code, len) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
        if code == 0 {
            assert_eq!((len, bytes.len()), (0, 4));
            return found;
        }
        found.push((code, bytes[4..4 + len].to_vec()));
        let padded = len.next_multiple_of(4);
        assert!(bytes[4 + len..4 + padded].iter().all(|byte| *byte == 0));
        bytes = &bytes[4 + padded..];
    }
}

#[test]
fn a_capture_with_two_interfaces() {
    let mut writer = PcapngWriter::new("lowtide 0.1");
    let nic = writer.interface("sender.nic");
    let port = writer.interface("s1.2");
    writer.packet(nic, Instant::from_ps(1_999), &[1, 2, 3, 4, 5], 1500, "");
    writer.packet(port, Instant::from_ps(5_000_000_000_000_000), &[9; 8], 8, "marked: K = 20");
    let file = writer.take();
    let blocks = blocks(&file);
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6, 6]);

    let section = &blocks[0].1;
    assert_eq!(
        section[..16],
        [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(options(&section[16..]), [(4, b"lowtide 0.1".to_vec())]);

    let interface = &blocks[1].1;
    assert_eq!(interface[..8], [101, 0, 0, 0, 0, 0, 4, 0]);
    assert_eq!(options(&interface[8..]), [(2, b"sender.nic".to_vec()), (9, vec![9])]);
    assert_eq!(options(&blocks[2].1[8..]), [(2, b"s1.2".to_vec()), (9, vec![9])]);

    let first = &blocks[3].1;
    let fields: Vec<u32> = (0..5).map(|n| word(first, 4 * n)).collect();
    assert_eq!(fields, [0, 0, 1, 5, 1500], "interface, time high and low, captured, original");
    assert_eq!(first[20..], [1, 2, 3, 4, 5, 0, 0, 0], "no options without a comment");

    let second = &blocks[4].1;
    let nanos = u64::from(word(second, 4)) << 32 | u64::from(word(second, 8));
    assert_eq!((word(second, 0), nanos), (1, 5_000_000_000_000));
    assert_eq!((word(second, 12), word(second, 16)), (8, 8));
    assert_eq!(options(&second[28..]), [(1, b"marked: K = 20".to_vec())]);
}

#[test]
fn pieces_join_to_the_file() {
    let write = |writer: &mut PcapngWriter, take: bool| {
        let mut file = Vec::new();
        let interface = writer.interface("a");
        for n in 0..5 {
            writer.packet(interface, Instant::from_ps(n), &[0; 3], 3, "x");
            if take {
                file.extend(writer.take());
                assert_eq!(writer.pending(), 0);
            }
        }
        assert_eq!(writer.pending() > 0, !take);
        file.extend(writer.take());
        file
    };
    let whole = write(&mut PcapngWriter::new("t"), false);
    assert_eq!(write(&mut PcapngWriter::new("t"), true), whole);
    assert_eq!(blocks(&whole).len(), 7);
}

#[test]
fn texts_and_packets_that_are_too_long_are_cut() {
    let mut writer = PcapngWriter::new(&"a".repeat(70_000));
    // 65535 is inside the last character that could fit.
    let interface = writer.interface(&"\u{e4}".repeat(40_000));
    writer.packet(interface, Instant::ZERO, &vec![7; 300_000], 300_000, "");
    let file = writer.take();
    let blocks = blocks(&file);
    assert_eq!(options(&blocks[0].1[16..])[0].1.len(), 65_535);
    let name = String::from_utf8(options(&blocks[1].1[8..])[0].1.clone()).unwrap();
    assert_eq!(name.len(), 65_534);
    assert_eq!((word(&blocks[2].1, 12), word(&blocks[2].1, 16)), (262_144, 300_000));
}
