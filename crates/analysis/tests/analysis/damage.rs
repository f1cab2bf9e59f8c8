//! Randomly damaged captures, with fixed seeds: no panic, bounded work, and numbers that fit the
//! file.

use lowtide_analysis::{Analysis, AnalysisOptions, Page};
use lowtide_units::Instant;
use lowtide_wire::pcapng::PcapngWriter;

use crate::transfer::{Transfer, headers, sll2};

/// A local generator (xorshift), so that a seed always gives the same test.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

/// A capture of two interfaces, as cooked frames, as pcapng, and as cooked frames in which every
/// packet is in another tunnel; of the last, every fourth packet is fragmented.
fn captures() -> [Vec<u8>; 3] {
    let transfer = Transfer { segments: 25, lost: &[4], timestamps: true, ecn: true };
    let mut frames = Vec::new();
    for (i, p) in transfer.at_client().iter().enumerate() {
        for routers in [0, 1] {
            let (bytes, len) = headers(p, i % 3 == 0, routers, i as u16);
            frames.push((p.at + 700 * u64::from(routers), 2 + u32::from(routers), bytes, len));
        }
    }
    frames.sort_by_key(|f| f.0);
    let mut writer = PcapngWriter::new("test");
    let ids = [writer.interface("a"), writer.interface("b")];
    for (at, device, bytes, len) in &frames {
        writer.packet(ids[*device as usize - 2], Instant::from_ps(at * 1_000_000), bytes, *len, "");
    }
    let tunnels: [(u8, &[u8]); 4] = [
        (4, &[]),
        (47, &[0x20, 0, 8, 0, 0, 0, 0, 7]),
        (17, &[9, 9, 0x17, 0xc1, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 5, 0, 1, 2, 3, 0]),
        (137, &[0, 1, 0, 64, 0, 1, 0x21, 64]),
    ];
    let mut tunnelled = Vec::new();
    for (i, (at, device, bytes, len)) in frames.iter().enumerate() {
        let (protocol, header) = tunnels[i % 4];
        let inner = [header, bytes].concat();
        let all = (20 + header.len() as u32 + len) as u16;
        let parts =
            if i % 4 == 3 { vec![(0, 40, true), (40, all - 20, false)] } else { Vec::new() };
        let whole = [(0, all - 20, false)];
        for (from, to, more) in if parts.is_empty() { whole.to_vec() } else { parts } {
            let [a, b] = (to - from + 20).to_be_bytes();
            let [c, d] = ((from / 8) | if more { 0x2000 } else { 0 }).to_be_bytes();
            let start = [0x45, 2, a, b, 0, i as u8, c, d, 64, protocol, 0, 0, 192, 0, 2, 1];
            let kept = inner.get(usize::from(from)..).unwrap_or(&[]);
            let kept = &kept[..kept.len().min(usize::from(to - from))];
            let packet = [&start, &[192, 0, 2, 2][..], kept].concat();
            tunnelled.push((*at, *device, packet, u32::from(to - from) + 20));
        }
    }
    [sll2(&frames), writer.take(), sll2(&tunnelled)]
}

#[test]
fn the_same_connection_is_found_in_tunnels() {
    let [plain, _, tunnelled] = captures().map(|file| {
        let analysis = Analysis::of("whole", &file[..], &AnalysisOptions::default());
        serde_json::to_value(analysis.expect("a capture")).expect("as JSON")
    });
    let flow = |v: &serde_json::Value| v["flows"][0]["directions"][0]["bytes"].clone();
    assert_eq!(flow(&plain), flow(&tunnelled));
    assert_eq!(plain["contents"]["segments"], tunnelled["contents"]["segments"]);
    let contents = &tunnelled["contents"];
    let tunnels = contents["tunnels"].as_array().expect("a list").len();
    let whole = contents["reassembled"]["packets"].as_u64().expect("a number");
    assert!(tunnels == 4 && whole > 10 && contents["skipped"]["fragments"] == 0, "{contents}");
}

#[test]
fn a_capture_without_tcp_says_what_it_has() {
    let udp = [&[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17][..], &[0; 18]].concat();
    let file = sll2(&[(0, 1, udp.clone(), 28), (1, 1, udp[..20].to_vec(), 28)]);
    let analysis = Analysis::of("u", &file[..], &AnalysisOptions::default()).expect("a capture");
    let text = analysis.text(false);
    assert!(text.contains("Left out 2 packets: "), "{text}");
    assert!(text.contains("1 UDP") && text.contains("1 cut before the end"), "{text}");
    assert!(text.contains("No TCP segment was read.") && !text.contains("option"), "{text}");
}

#[test]
fn damaged_captures_are_reported_without_a_panic() {
    let (mut reported, mut refused) = (0, 0);
    for (which, whole) in captures().into_iter().enumerate() {
        for seed in 1..=400_u64 {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let mut file = whole.clone();
            for _ in 0..=random.next(12) {
                let at = random.next(file.len());
                match random.next(6) {
                    0 => file[at] ^= 1 << random.next(8),
                    1 => file[at] = random.next(256) as u8,
                    2 => file[at] = 0xff,
                    // A piece is removed or duplicated, or the file is truncated.
                    3 => drop(file.drain(at..(at + random.next(90)).min(file.len()))),
                    4 => {
                        let piece = file[at..(at + random.next(200)).min(file.len())].to_vec();
                        file.splice(at..at, piece);
                    }
                    _ if random.next(4) == 0 => file.truncate(at.max(1)),
                    _ => {}
                }
            }
            let Ok(analysis) = Analysis::of("damaged", &file[..], &AnalysisOptions::default())
            else {
                refused += 1;
                continue;
            };
            reported += 1;
            assert!(!analysis.text(true).is_empty());
            let json = serde_json::to_value(&analysis).expect("as JSON");
            let contents = &json["contents"];
            let number = |key: &str| contents[key].as_u64().expect("a number");
            assert!(number("read_bytes") <= file.len() as u64, "{which} {seed}");
            assert!(number("packets") * 28 <= file.len() as u64, "{which} {seed}");
            assert!(number("segments") <= number("packets"), "{which} {seed}");
            for flow in json["flows"].as_array().expect("flows") {
                let points = flow["visible"]["interfaces"].as_array().expect("interfaces").iter();
                let seen: u64 = points.filter_map(|i| i["packets"].as_u64()).sum();
                let elsewhere = flow["visible"]["packets_elsewhere"].as_u64().expect("a number");
                assert!(elsewhere <= number("segments") && seen <= number("segments"));
            }
            // Drawing a figure is slow in a debug build.
            if seed % 10 == 0 {
                assert!(Page::of(&analysis, &file[..]).is_ok(), "{which} {seed}");
            }
        }
    }
    assert!(reported > 750 && refused > 0, "{reported} reported, {refused} rejected");
}
