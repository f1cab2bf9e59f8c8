//! Mutated captures, with fixed seeds, through reader, analysis, text, JSON and page: no panic,
//! bounded work, and no statement against a number of its report.
//!
//! `LOWTIDE_MUTATED_CAPTURES=0..100000` (`cargo xtask suite captures`) sets their range,
//! `LOWTIDE_CAPTURES=DIR` adds the classic pcap files of a directory as seeds.

use std::io::Write as _;
use std::time::{Duration, Instant};

use flate2::{Compression, GzBuilder};
use lowtide_analysis::{Analysis, AnalysisOptions, Page};
use lowtide_wire::pcapng::PcapngWriter;
use serde_json::Value;

use crate::damage::captures;

/// Packets that are taken of a seed.
const MAX_PACKETS: usize = 200;
/// Longest time of one capture in a release build.
const MAX_TIME: Duration = Duration::from_secs(10);

/// A local generator (xorshift), so that a seed always gives the same test.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| self.next(256) as u8)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next(all.len())]
    }
}

/// A packet with its link header: microseconds, bytes, original length.
#[derive(Clone)]
struct Packet(u64, Vec<u8>, u32);

/// A capture whose IP headers begin at `ip` of each packet.
#[derive(Clone)]
struct Seed {
    link: u32,
    ip: usize,
    packets: Vec<Packet>,
}

impl Seed {
    /// Reads a classic file of microseconds in little-endian order.
    fn read(file: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
        let link = word(20).filter(|_| word(0) == Some(0xa1b2_c3d4))?;
        let ip = [(1, 14), (276, 20), (101, 0)].iter().find(|l| l.0 == link)?.1;
        let (mut packets, mut at) = (Vec::new(), 24);
        while let Some(len) = word(at + 8).filter(|_| packets.len() < MAX_PACKETS) {
            let time = u64::from(word(at)?) * 1_000_000 + u64::from(word(at + 4)?);
            let bytes = file.get(at + 16..at + 16 + len as usize)?;
            packets.push(Packet(time, bytes.to_vec(), word(at + 12)?));
            at += 16 + len as usize;
        }
        Some(Self { link, ip, packets })
    }

    fn all() -> Vec<Self> {
        let mut files: Vec<Vec<u8>> = captures().into();
        if let Some(folder) = std::env::var_os("LOWTIDE_CAPTURES") {
            let folder = std::fs::read_dir(folder).expect("a directory");
            files.extend(folder.filter_map(|f| std::fs::read(f.ok()?.path()).ok()));
        }
        files.iter().filter_map(|file| Self::read(file)).collect()
    }

    /// Changes one field, packet, or run of packets.
    fn mutate(&mut self, random: &mut Random) {
        let Self { ip, packets, .. } = self;
        let at = random.next(packets.len());
        let Some(Packet(time, bytes, len)) = packets.get_mut(at) else { return };
        let header = usize::from(bytes.get(*ip).copied().unwrap_or(0x45));
        let tcp = *ip + if header >> 4 == 6 { 40 } else { (header & 15) * 4 };
        let near: [u32; 6] = [1, 1000, 1448, 1 << 31, u32::MAX, random.next(1 << 32) as u32];
        match random.next(18) {
            // Sequence or acknowledgement number, near the old one or far away.
            which @ 0..=2 => {
                let at = tcp + if which == 2 { 8 } else { 4 };
                let old = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
                let new = old.map_or(0, u32::from_be_bytes).wrapping_add(random.of(&near));
                put(bytes, at, &new.to_be_bytes());
            }
            3 => put(bytes, tcp + 14, &random.of(&[[0, 0], [0, 1], [255, 255]])),
            4 => put(bytes, tcp + 13, &random.bytes::<1>()),
            5 => put(bytes, tcp + 12, &random.bytes::<1>()),
            6 => {
                let kind = random.of(&[0, 1, 2, 3, 4, 5, 8, 30, 69, 172, 174, 253]);
                let len = random.of(&[0, 1, 2, 3, 4, 5, 10, 11, 18, 34, 255]);
                put(bytes, tcp + 20 + random.next(20), &[kind, len]);
            }
            7 => put(bytes, tcp, &random.bytes::<4>()),
            8 => put(bytes, *ip + 2, &random.bytes::<2>()),
            9 => put(bytes, *ip + 6, &random.of(&[[0x20, 0], [0, 2], [0x20, 1], [0x1f, 255]])),
            10 => put(bytes, *ip + 9, &[random.of(&[4, 17, 41, 44, 47, 51, 97, 137])]),
            11 => put(bytes, *ip + 1, &[random.next(4) as u8]),
            // An outer header before this packet.
            12 => {
                let protocol = random.of(&[4_u8, 41, 47, 17, 137]);
                let outer = [0x45, 2, 0, 200, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0];
                let inner = random.bytes::<8>();
                let inner = &inner[..random.of(&[0, 4, 8])];
                let at = (*ip).min(bytes.len());
                bytes.splice(at..at, [&outer[..], &[2, 2], inner].concat());
            }
            13 => {
                let late = u64::from(u32::MAX) * 1_000_000;
                *time = random.of(&[0, *time + 300_000, *time / 2, late]);
            }
            14 => *len = random.of(&[0, 1, 40, 65_535, u32::MAX]),
            15 => bytes.truncate(random.next(bytes.len() + 1)),
            16 => {
                let end = (at + random.next(40)).min(packets.len());
                let wait = random.of(&[0, 1, 3000, 250_000]);
                let again: Vec<Packet> = packets[at..end].to_vec();
                let again = again.into_iter().map(|p| Packet(p.0 + wait, p.1, p.2));
                packets.splice(end..end, again);
            }
            _ if random.next(2) == 0 => {
                let other = random.next(packets.len());
                packets.swap(at, other);
            }
            _ => drop(packets.drain(at..(at + random.next(30)).min(packets.len()))),
        }
    }

    /// Writes the file in a random format, with damage and compression.
    fn file(&self, random: &mut Random) -> Vec<u8> {
        let link = if random.next(12) == 0 { random.next(300) as u32 } else { self.link };
        let big = random.next(4) == 0;
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = Vec::new();
        if random.next(4) == 0 && self.packets.iter().all(|p| p.1.len() >= self.ip) {
            let mut writer = PcapngWriter::new("test");
            let ids = [writer.interface("a"), writer.interface("b")];
            for Packet(time, bytes, len) in &self.packets {
                let at = lowtide_units::Instant::from_ps(time.min(&(1 << 40)) * 1_000_000);
                writer.packet(random.of(&ids), at, &bytes[self.ip..], *len, "");
            }
            file = writer.take();
        } else {
            let head = [word(0), word(0), word(65_535), word(link)].concat();
            file.extend([&word(0xa1b2_c3d4)[..], &half(2), &half(4), &head].concat());
            for Packet(time, bytes, len) in &self.packets {
                let (s, us) = ((time / 1_000_000) as u32, (time % 1_000_000) as u32);
                file.extend([word(s), word(us), word(bytes.len() as u32), word(*len)].concat());
                file.extend(bytes);
            }
        }
        if random.next(3) == 0 {
            damage(&mut file, random);
        }
        file = match random.next(12) {
            0 => {
                let mut out = GzBuilder::new().write(Vec::new(), Compression::fast());
                out.write_all(&file).expect("in memory");
                out.finish().expect("in memory")
            }
            1 => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                ruzstd::encoding::compress_to_vec(&file[..], level)
            }
            _ => return file,
        };
        if random.next(2) == 0 {
            damage(&mut file, random);
        }
        file
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(old) = bytes.get_mut(at..at + value.len()) {
        old.copy_from_slice(value);
    }
}

fn damage(file: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.next(6) {
        let at = random.next(file.len());
        let end = (at + random.next(200)).min(file.len());
        match random.next(6) {
            0 => file.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << random.next(8)),
            1 => file.iter_mut().skip(at).take(1).for_each(|b| *b = 0xff),
            2 => file.iter_mut().skip(at).take(4).for_each(|b| *b = random.next(256) as u8),
            // A piece is removed or duplicated, or the file is truncated.
            3 => drop(file.drain(at..end)),
            4 => {
                let piece = file[at..end].to_vec();
                file.splice(at..at, piece);
            }
            _ if random.next(4) == 0 => file.truncate(at.max(1)),
            _ => {}
        }
    }
}

/// Panics if a number of the report contradicts another one.
fn check_numbers(json: &Value, file: &[u8]) {
    let contents = &json["contents"];
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key}: {of}"));
    let share = |of: &Value, key: &str| {
        let share = of[key].as_f64().unwrap_or_else(|| panic!("{key} is no number: {of}"));
        assert!((0.0..=100.000_001).contains(&share), "{key}: {of}");
        share
    };
    assert!(number(contents, "segments") <= number(contents, "packets"));
    for flow in json["flows"].as_array().expect("flows") {
        let points = flow["visible"]["interfaces"].as_array().expect("interfaces").iter();
        let seen: u64 = points.filter_map(|i| i["packets"].as_u64()).sum();
        let elsewhere = number(&flow["visible"], "packets_elsewhere");
        assert!(elsewhere.max(seen) <= number(contents, "segments"), "{flow}");
        let causes = flow["answer"]["causes"].as_array().expect("causes");
        for d in flow["directions"].as_array().expect("directions") {
            let budget = d["budget"].as_array().expect("a budget");
            let sum: f64 = budget.iter().map(|s| share(s, "percent")).sum();
            let ns: u64 = budget.iter().map(|s| number(s, "ns")).sum();
            assert!(ns == 0 || (sum - 100.0).abs() < 1e-6, "{sum} %: {d}");
            assert!(ns <= number(contents, "span_ns"), "{ns} ns: {d}");
            for s in budget {
                let [low, is, high] =
                    ["certain_percent", "percent", "possible_percent"].map(|k| share(s, k));
                assert!(low <= is + 1e-9 && is <= high + 1e-9, "{s}");
            }
            for (part, all) in [
                ("retransmitted_segments", "segments"),
                ("retransmitted_bytes", "bytes"),
                ("reordered", "packets"),
                ("large_packets", "packets"),
            ] {
                assert!(number(d, part) <= number(d, all), "{part} of {all}: {d}");
            }
            let marks = &d["marks"];
            assert!(number(marks, "ece_acks") <= number(marks, "acks"), "{marks}");
            assert!(number(marks, "cwr") <= number(d, "segments"), "{d}");
            share(d, "queue_percent");
            // States exclude each other; the queue is a part of a window's time.
            let own = causes.iter().filter(|c| c["from"] == d["from"] && c["kind"] != "queue");
            let named: f64 = own.map(|c| share(c, "percent")).sum();
            assert!(named <= 100.000_001, "{named} %: {}", flow["answer"]);
        }
    }
    assert!(
        number(contents, "packets") * 16 <= number(contents, "read_bytes").max(file.len() as u64)
    );
}

/// Panics if a sentence has no number, more than all, or a part that is more than its whole.
fn check_text(text: &str) {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split([' ', '\n', '(', ')', ';', ',']).collect();
    assert!(!words.contains(&"nan") && !words.contains(&"inf"), "{text}");
    let plain = |word: &str| word.replace('\u{202f}', "").parse::<f64>().ok();
    for (i, word) in words.iter().enumerate() {
        if *word == "%" {
            let share = plain(words[i - 1]).unwrap_or(0.0);
            assert!((0.0..=100.0).contains(&share), "{share} %: {text}");
        }
        if *word == "of"
            && i > 0
            && let Some((part, all)) =
                plain(words[i - 1]).zip(words.get(i + 1).and_then(|w| plain(w)))
        {
            assert!(part <= all, "{part} of {all}: {text}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time of a capture is bounded")]
fn mutated_captures_are_reported_without_a_panic_or_a_contradiction() {
    let seeds = Seed::all();
    let asked = std::env::var("LOWTIDE_MUTATED_CAPTURES").unwrap_or_else(|_| "0..400".to_owned());
    let range = asked.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let (first, end): (u64, u64) = range.expect("LOWTIDE_MUTATED_CAPTURES=FIRST..END");
    let runs = end - first;
    let (mut reported, mut longest, mut failed) = (0, (Duration::ZERO, 0), Vec::new());
    for run in first..end {
        let mut random = Random((run + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut capture = seeds[random.next(seeds.len())].clone();
        let skipped = random.next(capture.packets.len() / 2);
        capture.packets.drain(..skipped);
        for _ in 0..random.next(20) {
            capture.mutate(&mut random);
        }
        let file = capture.file(&mut random);
        let began = Instant::now();
        let outcome = std::panic::catch_unwind(|| {
            let options = AnalysisOptions { series: run % 2 == 0, ..AnalysisOptions::default() };
            let analysis = Analysis::of("mutated", &file[..], &options).ok()?;
            check_text(&analysis.text(true));
            check_numbers(&serde_json::to_value(&analysis).expect("as JSON"), &file);
            // Drawing figures takes ten times as long as all else.
            if run % 10 == 0 {
                let page = Page::of(&analysis, &file[..]).expect("a page");
                assert!(page.figures.iter().all(|(_, text)| !text.contains("NaN")));
            }
            Some(())
        });
        let took = began.elapsed();
        longest = longest.max((took, run));
        if outcome.is_err() || took > MAX_TIME {
            let path = std::env::temp_dir().join(format!("lowtide-mutated-{run}.pcap"));
            std::fs::write(&path, &file).expect("written");
            failed.push(format!("run {run} took {took:?}: {}", path.display()));
        }
        reported += u64::from(outcome.is_ok_and(|done| done.is_some()));
    }
    println!("{reported} of {asked} reported, the others refused; the longest took {longest:?}");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(reported * 2 > runs && reported < runs, "{reported} of {runs}");
}
