//! Accepted and rejected texts; every error suggests a valid form.

use lowtide_units::{
    Bytes, Duration, Fraction, Instant, ParseUnitError, Rate, parse_bytes, parse_duration,
    parse_fraction, parse_packets, parse_rate,
};
use proptest::prelude::*;

fn ps(text: &str) -> u64 {
    parse_duration(text).unwrap_or_else(|e| panic!("{e}")).as_ps()
}

fn size(text: &str) -> u64 {
    parse_bytes(text).unwrap_or_else(|e| panic!("{e}")).as_u64()
}

fn bps(text: &str) -> u64 {
    parse_rate(text).unwrap_or_else(|e| panic!("{e}")).as_bps()
}

/// Asserts an error whose text contains every one of `hints`.
#[track_caller]
fn refused<T: core::fmt::Debug>(read: Result<T, ParseUnitError>, hints: &[&str]) {
    let message = read.expect_err("must be refused").to_string();
    for hint in hints {
        assert!(message.contains(hint), "no {hint:?} in {message:?}");
    }
}

#[test]
fn spans_of_time() {
    assert_eq!(ps("10us"), 10_000_000);
    assert_eq!(ps("10 us"), 10_000_000);
    assert_eq!(ps("  10   us "), 10_000_000);
    assert_eq!(ps("1.5 ms"), 1_500_000_000);
    assert_eq!(ps("10 \u{b5}s"), 10_000_000);
    assert_eq!(ps("10 \u{3bc}s"), 10_000_000);
    assert_eq!(ps("0 s"), 0);
    assert_eq!(ps("7 ps"), 7);
    assert_eq!(ps("0.001 ns"), 1);
    assert_eq!(ps("0.1 ns"), 100);
    assert_eq!(ps("2 min"), 120_000_000_000_000);
    assert_eq!(ps("1.000000000000 s"), 1_000_000_000_000);
    assert_eq!(ps("0.000000000001 s"), 1);
    assert_eq!(parse_duration(" never "), Ok(Duration::MAX));
    assert_eq!(ps("18446744.073709551615 s"), u64::MAX);
}

#[test]
fn spans_of_time_refused() {
    refused(parse_duration("10"), &["`10` has no unit: the unit is one of ps, ns, us, ms, s, min"]);
    refused(parse_duration("1.5 "), &["`1.5` has no unit"]);
    refused(parse_duration(""), &["empty", "\"10 ms\""]);
    refused(parse_duration("   "), &["empty"]);
    refused(parse_duration("ms"), &["a number and a unit"]);
    refused(parse_duration(".5 ms"), &["a number and a unit"]);
    refused(parse_duration("5. ms"), &["digits after"]);
    refused(parse_duration("-5 ms"), &["negative"]);
    refused(parse_duration("1,5 ms"), &["`.` for the decimal point"]);
    refused(parse_duration("1_000 ms"), &["nothing between thousands"]);
    refused(parse_duration("1e3 ms"), &["not a span of time"]);
    refused(parse_duration("10 m"), &["`ms` or `min`"]);
    refused(parse_duration("10 MS"), &["wrong case", "\"10 ms\""]);
    refused(parse_duration("10 kB"), &["not a span of time", "ps, ns, us, ms, s, min"]);
    refused(parse_duration("10 ms 5"), &["not a span of time"]);
    refused(parse_duration("Never"), &["not a span of time"]);
    refused(parse_duration("0.5 ps"), &["whole number of picoseconds"]);
    refused(parse_duration("0.3333333333333 s"), &["whole number of picoseconds"]);
    refused(parse_duration("18446744073709551616 ps"), &["213 days", "\"18446744 s\""]);
    assert_eq!(ps("18446744 s"), 18_446_744_000_000_000_000);
    refused(parse_duration("214 min 1"), &["not a span of time"]);
    refused(parse_duration("308000 min"), &["213 days"]);
    refused(parse_duration(&format!("{} s", "9".repeat(400))), &["213 days"]);
    refused(parse_duration(&format!("0.{}1 s", "0".repeat(400))), &["whole number"]);
}

/// Every form that an error suggests is accepted and has the value of the text, as far as the text
/// has one.
#[test]
fn suggestions_keep_the_value() {
    let suggested = |message: String| -> Vec<String> {
        message.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let sizes: [(&str, &[u64]); 5] = [
        ("30 KB", &[30_000, 30 << 10]),
        ("1.5 k", &[1_500, 1_536]),
        ("2 M", &[2_000_000, 2 << 20]),
        ("32 Mb", &[32_000_000]),
        ("3 mib", &[3 << 20]),
    ];
    for (text, values) in sizes {
        let forms = suggested(parse_bytes(text).expect_err("must be refused").to_string());
        assert_eq!(forms.iter().map(|form| size(form)).collect::<Vec<_>>(), values, "{text}");
    }
    for (text, value) in
        [("25GB", 200_000_000_000), ("10 Gb", 10_000_000_000), ("1 gbps", 1_000_000_000)]
    {
        let forms = suggested(parse_rate(text).expect_err("must be refused").to_string());
        assert_eq!(forms.iter().map(|form| bps(form)).collect::<Vec<_>>(), [value], "{text}");
    }
    for text in ["10", "0.5", "9000"] {
        let errors = [
            parse_rate(text).expect_err("must be refused").to_string(),
            parse_duration(text).expect_err("must be refused").to_string(),
            parse_packets(text).expect_err("must be refused").to_string(),
        ];
        assert!(errors.iter().all(|e| !e.contains('"')), "no unit is invented: {errors:?}");
    }
}

#[test]
fn sizes() {
    assert_eq!(size("30 kB"), 30_000);
    assert_eq!(size("30kB"), 30_000);
    assert_eq!(size("6 MB"), 6_000_000);
    assert_eq!(size("1.25 GB"), 1_250_000_000);
    assert_eq!(size("64 KiB"), 65_536);
    assert_eq!(size("1.5 MiB"), 1_572_864);
    assert_eq!(size("2 GiB"), 2 << 30);
    assert_eq!(size("0 B"), 0);
    assert_eq!(size("1460 bytes"), 1460);
    assert_eq!((size("9000"), size(" 0 "), size("1.0")), (9000, 0, 1));
    assert_eq!(size("18446744073709551615 B"), u64::MAX);
    // 2^-30 GiB has thirty decimals and is one byte.
    assert_eq!(size("0.000000000931322574615478515625 GiB"), 1);
    assert_eq!(size("17179869183.999999999068677425384521484375 GiB"), u64::MAX);
}

#[test]
fn sizes_refused() {
    refused(parse_bytes("1.5"), &["whole number of bytes"]);
    refused(parse_bytes("30 KB"), &["\"30 kB\" (1000 B)", "\"30 KiB\" (1024 B)"]);
    refused(parse_bytes("30 k"), &["\"30 kB\"", "\"30 KiB\""]);
    refused(parse_bytes("1.50 M"), &["\"1.5 MB\"", "\"1.5 MiB\""]);
    refused(parse_bytes("30 kb"), &["bits or bytes", "\"30 kB\""]);
    refused(parse_bytes("30 Kb"), &["bits or bytes", "\"30 kB\""]);
    refused(parse_bytes("3 gb"), &["bits or bytes", "\"3 GB\""]);
    refused(parse_bytes("3 b"), &["bits or bytes", "\"3 B\""]);
    refused(parse_bytes("3 mib"), &["wrong case", "\"3 MiB\""]);
    refused(parse_bytes("30 kbit"), &["not a size", "kB"]);
    refused(parse_bytes("30 pkt"), &["not a size"]);
    refused(parse_bytes("1.5 B"), &["whole number of bytes"]);
    refused(parse_bytes("0.0001 kB"), &["whole number of bytes"]);
    refused(parse_bytes("0.3 KiB"), &["whole number of bytes"]);
    refused(parse_bytes("18446744073709551616 B"), &["18446744073709551615 bytes"]);
    refused(parse_bytes("99999999999 GiB"), &["the most that fits"]);
}

#[test]
fn rates() {
    for text in ["10 Gbit/s", "10Gbit/s", "10Gbps", "10gbit", "10 Gbit", "10000 Mbit/s"] {
        assert_eq!(bps(text), 10_000_000_000, "{text}");
    }
    for text in ["10G", "10 G", "10 Gb/s", "10000M", "0.01T", "10000000K"] {
        assert_eq!(bps(text), 10_000_000_000, "{text}");
    }
    assert_eq!(bps("1 Mbit/s"), 1_000_000);
    assert_eq!(bps("2.5 Gbit/s"), 2_500_000_000);
    assert_eq!(bps("1.6 Tbit/s"), 1_600_000_000_000);
    assert_eq!(bps("56 kbps"), 56_000);
    assert_eq!(bps("1 bit/s"), 1);
    assert_eq!(bps("9 bps"), 9);
}

#[test]
fn rates_refused() {
    refused(parse_rate("10"), &["`10` has no unit: the unit is one of bit/s"]);
    refused(parse_rate("10 Gb"), &["bits or bytes", "\"10 Gbit/s\""]);
    refused(parse_rate("10 gb/s"), &["bits or bytes", "\"10 Gbit/s\""]);
    refused(parse_rate("10 gb"), &["bits or bytes", "\"10 Gbit/s\""]);
    refused(parse_rate("10 GB/s"), &["in bytes", "\"80 Gbit/s\""]);
    refused(parse_rate("10 GBps"), &["in bytes", "\"80 Gbit/s\""]);
    refused(parse_rate("125 MB"), &["in bytes", "\"1 Gbit/s\""]);
    refused(parse_rate("0 MB/s"), &["in bytes"]);
    refused(parse_rate("10 m"), &["wrong case", "\"10 M\""]);
    refused(parse_rate("0G"), &["above zero"]);
    refused(parse_rate("10 gbps"), &["bits or bytes", "\"10 Gbit/s\""]);
    refused(parse_rate("10 Kbit/s"), &["wrong case", "\"10 kbit/s\""]);
    refused(parse_rate("0 Gbit/s"), &["above zero"]);
    refused(parse_rate("0.5 bit/s"), &["whole number of bits per second"]);
    refused(parse_rate("10 ps"), &["not a rate", "Gbit/s"]);
    refused(parse_rate("10 ms"), &["not a rate"]);
    refused(parse_rate("18446745 Tbit/s"), &["the most that fits"]);
}

#[test]
fn packets() {
    for text in ["20 pkt", "20pkt", "20 packets", "20 pkts", "20.0 pkt"] {
        assert_eq!(parse_packets(text), Ok(20), "{text}");
    }
    assert_eq!(parse_packets("1 packet"), Ok(1));
    refused(parse_packets("20"), &["`20` has no unit", "pkt"]);
    refused(parse_packets("30 kB"), &["is a size", "\"20 pkt\""]);
    refused(parse_packets("1.5 pkt"), &["whole number of packets"]);
    refused(parse_packets("20 PKT"), &["wrong case", "\"20 pkt\""]);
    refused(parse_packets("20 ms"), &["not a number of packets"]);
}

#[test]
fn shares() {
    for (text, ppb) in [
        ("95 %", 950_000_000),
        ("0.1%", 1_000_000),
        ("40 ppm", 40_000),
        ("-40 ppm", -40_000),
        (" -2.5 ppm ", -2_500),
        ("7 ppb", 7),
        ("0.5", 500_000_000),
        ("-0.000000001", -1),
        ("1", 1_000_000_000),
        ("0", 0),
    ] {
        assert_eq!(parse_fraction(text), Ok(Fraction::from_ppb(ppb)), "{text}");
    }
    for text in [
        "95 %",
        "4.3 %",
        "-0.25 %",
        "0.1 %",
        "100.01 %",
        "990 ppm",
        "-40 ppm",
        "43001 ppm",
        "7 ppb",
        "0 %",
    ] {
        assert_eq!(parse_fraction(text).map(|p| p.to_string()).as_deref(), Ok(text));
    }
    assert!(Fraction::from_ppb(i64::MIN).to_string().ends_with(" ppb"));
    refused(parse_fraction("50"), &["`50` has no unit and is above 1", "%, ppm, ppb"]);
    refused(parse_fraction("-3"), &["has no unit and is above 1"]);
    refused(parse_fraction("0.0000000001"), &["whole number of parts per billion"]);
    refused(parse_fraction("1.5 ppb"), &["whole number of parts per billion"]);
    refused(parse_fraction("95 percent"), &["%, ppm, ppb"]);
    refused(parse_fraction("2000000000000 %"), &["more than"]);
}

#[test]
fn hostile_texts_are_truncated_and_escaped() {
    let message =
        parse_duration(&format!("\u{1b}[31m{}", "x".repeat(5000))).unwrap_err().to_string();
    assert!(!message.contains('\u{1b}') && message.len() < 200, "{message:?}");
    assert!(message.contains("..."), "{message:?}");
}

proptest! {
    #[test]
    fn display_reads_back(n: u64, shift in 0_u32..64, zeros in 0_u32..19) {
        // Numbers of every magnitude, including round ones.
        for n in [n, n >> shift, (n >> shift).saturating_mul(10_u64.pow(zeros))] {
            let span = Duration::from_ps(n);
            prop_assert_eq!(parse_duration(&span.to_string()), Ok(span));
            prop_assert_eq!(parse_duration(&Instant::from_ps(n).to_string()), Ok(span));
            prop_assert_eq!(parse_bytes(&Bytes::new(n).to_string()), Ok(Bytes::new(n)));
            let parts = Fraction::from_ppb(n as i64 >> 1);
            prop_assert_eq!(parse_fraction(&parts.to_string()), Ok(parts));
            if let Some(rate) = Rate::from_bps(n) {
                prop_assert_eq!(parse_rate(&rate.to_string()), Ok(rate));
            }
        }
    }

    #[test]
    fn decimals_are_exact(whole in 0_u64..10_000, fraction in 0_u64..1_000_000) {
        let text = format!("{whole}.{fraction:06} us");
        prop_assert_eq!(ps(&text), whole * 1_000_000 + fraction);
        prop_assert_eq!(ps(&text.replace("us", "s")), (whole * 1_000_000 + fraction) * 1_000_000);
    }

    #[test]
    fn no_text_panics(text in ".*", number in "[0-9]{0,60}(\\.[0-9]{0,60})?", unit in "[a-zA-Z/\u{b5}]{0,6}") {
        for text in [text, format!("{number}{unit}"), format!("{number} {unit}")] {
            for message in [
                parse_duration(&text).err(),
                parse_bytes(&text).err(),
                parse_rate(&text).err(),
                parse_packets(&text).err(),
                parse_fraction(&text).err(),
            ].into_iter().flatten() {
                prop_assert!(message.to_string().starts_with('`'));
            }
        }
    }
}
