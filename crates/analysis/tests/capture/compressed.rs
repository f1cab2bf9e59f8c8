//! Compressed captures, other formats and unknown versions.

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use crate::fixtures::{all, pcap, pcapng};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzBuilder::new().write(Vec::new(), Compression::default());
    out.write_all(bytes).expect("in memory");
    out.finish().expect("in memory")
}

/// A frame of raw blocks (RFC 8878 §3.1), with a checksum.
fn zstandard(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_files_are_read_by_their_content() {
    let file = pcapng(40);
    let plain = all(&file);
    let (a, b) = file.split_at(200);
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    for compressed in [
        gzip(&file),
        [gzip(a), gzip(b)].concat(),
        zstandard(&file),
        [zstandard(a), skippable, zstandard(b)].concat(),
    ] {
        assert_eq!(all(&compressed), plain);
        // Cut or damaged: the frames before are read, and the fault has a name.
        let (frames, end) = all(&compressed[..compressed.len() - 9]);
        assert!(frames.len() <= plain.0.len());
        let error = end.expect_err("cut");
        assert!(error.contains("data is cut short"), "{error}");
        let mut damaged = compressed.clone();
        let at = damaged.len() - 3;
        damaged[at] ^= 0x10;
        let error = all(&damaged).1.expect_err("damaged");
        assert!(error.contains("data is damaged"), "{error}");
    }
}

#[test]
fn other_formats_are_named() {
    for (start, name) in
        [(&b"BZh91AY"[..], "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"snoop\0\0\0", "snoop")]
    {
        let error = all(start).1.expect_err("no capture");
        assert!(error.contains(name) && error.contains("neither pcap nor pcapng"), "{error}");
    }
    assert!(all(&gzip(b"text")).1.expect_err("no capture").contains("begins with 74 65 78 74"));
}

#[test]
fn unknown_versions_are_refused() {
    let mut file = pcap(0xa1b2_c3d4, false, 101, &[]);
    assert_eq!(all(&file).1, Ok(()));
    file[4] = 3;
    let error = all(&file).1.expect_err("another version");
    assert!(error.starts_with("pcap version 3.4 at offset 0 is unknown"), "{error}");
    let mut file = pcapng(1);
    file[12] = 2;
    let error = all(&file).1.expect_err("another version");
    assert!(error.starts_with("pcapng version 2.0 at offset 0 is unknown"), "{error}");
    file[8] = 0;
    let error = all(&file).1.expect_err("no byte order");
    assert!(error.contains("without the byte-order magic"), "{error}");
}
