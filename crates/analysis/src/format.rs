//! Formatting of numbers for people.

use lowtide_charts::number;

/// Formats a time in nanoseconds.
pub(super) fn time(ns: u64) -> String {
    let of = |unit: &str, per: f64| format!("{} {unit}", number(ns as f64 / per));
    match ns {
        0..1_000 => of("ns", 1.0),
        1_000..1_000_000 => of("us", 1e3),
        1_000_000..1_000_000_000 => of("ms", 1e6),
        _ => of("s", 1e9),
    }
}

/// Formats a time of the capture, to the millisecond or finer.
pub(super) fn timestamp(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if ns < 1_000_000_000 { format!("{seconds:.6} s") } else { format!("{seconds:.3} s") }
}

pub(super) fn bytes(n: u64) -> String {
    let of = |unit: &str, per: f64| format!("{} {unit}", number(n as f64 / per));
    match n {
        0..10_000 => of("B", 1.0),
        10_000..10_000_000 => of("kB", 1e3),
        10_000_000..10_000_000_000 => of("MB", 1e6),
        _ => of("GB", 1e9),
    }
}

/// Formats bytes over nanoseconds as a rate.
pub(super) fn rate(amount: u64, ns: u64) -> String {
    if ns == 0 {
        return "\u{2013}".to_owned();
    }
    let mbps = amount as f64 * 8e3 / ns as f64;
    if mbps >= 1000.0 {
        format!("{} Gbit/s", number(mbps / 1e3))
    } else {
        format!("{} Mbit/s", number(mbps))
    }
}

/// Formats a count: `3 segments`, `1 segment`.
pub(super) fn count(n: u64, one: &str) -> String {
    let number = grouped(n);
    if n == 1 { format!("{number} {one}") } else { format!("{number} {one}s") }
}

/// Formats all digits in groups of three.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// Formats a share in percent.
pub(super) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        return "\u{2013}".to_owned();
    }
    let share = part as f64 / all as f64 * 100.0;
    format!("{} %", number(if share >= 1.0 { (share * 10.0).round() / 10.0 } else { share }))
}
