//! Captures with tunnels and fragments, and without TCP.

use lowtide_analysis::{Analysis, AnalysisOptions};

use crate::transfer::{Transfer, headers, sll2};

/// A capture of two interfaces, as cooked frames, and as cooked frames in which every
/// packet is in another tunnel; of the last, every fourth packet is fragmented.
pub(crate) fn captures() -> [Vec<u8>; 2] {
    let transfer = Transfer { segments: 25, lost: &[4], timestamps: true, ecn: true };
    let mut frames = Vec::new();
    for (i, p) in transfer.at_client().iter().enumerate() {
        for routers in [0, 1] {
            let (bytes, len) = headers(p, i % 3 == 0, routers, i as u16);
            frames.push((p.at + 700 * u64::from(routers), 2 + u32::from(routers), bytes, len));
        }
    }
    frames.sort_by_key(|f| f.0);
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
    [sll2(&frames), sll2(&tunnelled)]
}

#[test]
fn the_same_connection_is_found_in_tunnels() {
    let [plain, tunnelled] = captures().map(|file| {
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
