//! Formats, byte orders, timestamps, and damaged files.

use lowtide_analysis::capture::Reader;

use crate::fixtures::{ADDRESSES, all, headers, pcap, pcapng, segment};

#[test]
fn classic_files_of_both_orders_and_resolutions() {
    let (bytes, len) = headers(&ADDRESSES, &segment(5, 900));
    for (magic, per) in [(0xa1b2_c3d4_u32, 1_000), (0xa1b2_3c4d, 1)] {
        for big in [false, true] {
            let file = pcap(magic, big, 101, &[(3, 250, &bytes, len), (4, 0, &bytes, len)]);
            let (frames, end) = all(&file);
            assert_eq!(end, Ok(()));
            let stamps: Vec<u64> = frames.iter().map(|f| f.1).collect();
            assert_eq!(stamps, [3_000_000_000 + 250 * per, 4_000_000_000], "{magic:x} {big}");
            let seen = frames[0].2.expect("a segment");
            assert_eq!(seen.segment, segment(5, 900), "the payload counts, captured or not");
            assert_eq!(frames[0].0, 24, "offset of the first record");
        }
    }
}

#[test]
fn pcapng_as_lowtide_writes_it() {
    let (frames, end) = all(&pcapng(3));
    assert_eq!(end, Ok(()));
    let seqs: Vec<(u64, u32)> =
        frames.iter().map(|(_, t, s)| (*t, s.expect("a segment").segment.seq.raw())).collect();
    assert_eq!(seqs, [(0, 0), (1000, 1000), (2000, 2000)]);
}

/// A pcapng block of that type with a padded body.
fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = word(body.len() as u32 + 12);
    [&word(kind)[..], &len, &body, &len].concat()
}

/// A file with an interface of that resolution and time offset, and one packet of raw IP.
fn resolved(big: bool, resolution: u8, offset: i64, stamp: u64) -> Vec<u8> {
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let long = |n: i64| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let interface = [
        &half(101)[..],
        &half(0),
        &word(0),
        &half(9),
        &half(1),
        &[resolution, 0, 0, 0],
        &half(14),
        &half(8),
        &long(offset),
        &half(0),
        &half(0),
    ]
    .concat();
    let (bytes, len) = headers(&ADDRESSES, &segment(5, 900));
    let (high, low) = ((stamp >> 32) as u32, stamp as u32);
    let packet =
        [&word(0)[..], &word(high), &word(low), &word(bytes.len() as u32), &word(len), &bytes];
    let packet = packet.concat();
    [block(big, 0x0a0d_0d0a, &section), block(big, 1, &interface), block(big, 6, &packet)].concat()
}

#[test]
fn timestamps_of_every_resolution_become_nanoseconds() {
    for big in [false, true] {
        for (resolution, offset, stamp, ns) in [
            (6, 0, 1_500_000, 1_500_000_000),
            (9, 0, 1_500_000_000, 1_500_000_000),
            (3, 0, 1_500, 1_500_000_000),
            (12, 0, 1_500_000_000_000, 1_500_000_000),
            (0x8a, 0, 1_536, 1_500_000_000),
            (6, 5, 1_500_000, 6_500_000_000),
            (6, -1, 1_500_000, 500_000_000),
        ] {
            let (frames, end) = all(&resolved(big, resolution, offset, stamp));
            assert_eq!((end, frames.len()), (Ok(()), 1), "{resolution} {big}");
            assert_eq!(frames[0].1, ns, "{resolution:x} {offset} {big}");
            assert!(frames[0].2.is_ok());
        }
    }
}

#[test]
fn other_files_are_rejected() {
    for (bytes, said) in [
        (&b""[..], "it is empty"),
        (b"\x89PNG\r\n", "begins with 89 50 4e 47"),
        (&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0], "file header at offset 0 needs 24 bytes, 6 are left"),
    ] {
        let (_, end) = all(bytes);
        assert!(end.as_ref().is_err_and(|e| e.contains(said)), "{end:?}");
    }
}

#[test]
fn a_truncated_file_gives_all_frames_before_the_cut_and_its_offset() {
    for file in [pcapng(4), {
        let (bytes, len) = headers(&ADDRESSES, &segment(5, 900));
        pcap(0xa1b2_c3d4, false, 101, &[(1, 0, &bytes, len), (2, 0, &bytes, len)])
    }] {
        let (whole, _) = all(&file);
        for len in 28..file.len() {
            let (frames, end) = all(&file[..len]);
            assert_eq!(frames[..], whole[..frames.len()], "cut at {len}");
            let next = whole.get(frames.len()).map_or(file.len() as u64, |f| f.0);
            match end {
                Ok(()) => assert!(frames.is_empty() || frames.len() < whole.len(), "{len}"),
                Err(e) if next < len as u64 => {
                    assert!(e.contains(&format!("at offset {next} ")), "{len}: {e}");
                }
                Err(e) => assert!(e.contains("cut short"), "{len}: {e}"),
            }
        }
    }
}

#[test]
fn a_malformed_block_is_skipped_and_counted() {
    let mut file = pcapng(3);
    let (whole, _) = all(&file);
    // The captured length of the second packet is far longer than its block.
    let at = whole[1].0 as usize;
    file[at + 20..at + 24].copy_from_slice(&0xffff_0000_u32.to_le_bytes());
    let mut reader = Reader::new(&file[..]).expect("pcapng");
    let mut stamps = Vec::new();
    while let Some(frame) = reader.next_frame().expect("it goes on") {
        stamps.push(frame.time_ns);
    }
    assert_eq!(stamps, [0, 2000]);
    assert_eq!(reader.damaged(), (1, Some(at as u64)));
}

#[test]
fn an_impossible_length_ends_the_file_with_its_offset() {
    let mut file = pcapng(3);
    let at = all(&file).0[1].0 as usize;
    file[at + 4..at + 8].copy_from_slice(&0x7fff_fff0_u32.to_le_bytes());
    let (frames, end) = all(&file);
    assert_eq!(frames.len(), 1);
    let said = format!("damaged at offset {at}: a block states a length of 2147483632 bytes");
    assert_eq!(end, Err(said));
}

#[test]
fn read_errors_carry_the_offset() {
    struct Failing(usize);
    impl std::io::Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let file = pcapng(2);
            if self.0 >= 40 {
                return Err(std::io::Error::other("the disk is gone"));
            }
            // One byte at a time: records may arrive in pieces.
            out[0] = file[self.0];
            self.0 += 1;
            Ok(1)
        }
    }
    let mut reader = Reader::new(Failing(0)).expect("the head is there");
    let error = reader.next_frame().expect_err("the rest is not");
    assert_eq!(error.to_string(), "cannot read at offset 40: the disk is gone");
}
