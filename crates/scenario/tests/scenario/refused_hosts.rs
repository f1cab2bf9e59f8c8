//! Rejected hosts, apart from their transport, and rejected applications.

use crate::common::{BASE, assert_one_error, errors};
use lowtide_scenario::Scenario;

/// Asserts the error of the base with these lines of `[hosts.senders.TABLE]`.
#[track_caller]
fn host(table: &str, lines: &str, meant: &str, parts: &[&str]) {
    let new = format!("[hosts.senders.{table}]\n{lines}\n[hosts.receivers]");
    assert_one_error("[hosts.receivers]", &new, meant, parts);
}

#[test]
fn invalid_clocks() {
    host("clock", "drift = 40", "40", &["has no unit", "%, ppm, ppb"]);
    host("clock", "drift = \"2 %\"", "\"2 %\"", &["`\"-1 %\"` to `\"1 %\"`"]);
    host("clock", "drift-spread = \"-1 ppm\"", "\"-1 ppm\"", &["`\"0 %\"` to `\"1 %\"`"]);
    host("clock", "granularity = \"0 ns\"", "\"0 ns\"", &["above zero"]);
    host("clock", "stamps = \"wire\"", "\"wire\"", &["one of hardware, driver, kernel"]);
    host("clock", "ofset = \"1 s\"", "ofset", &["in [hosts.senders.clock]", "`offset`"]);
    host("clock", "noise = \"normal\"", "\"normal\"", &["needs its standard deviation"]);
    host(
        "clock",
        "noise = \"dma\"\nnoise-deviation = \"1 us\"",
        "\"1 us\"",
        &["no effect", "`noise = \"normal\"`"],
    );
    host("clock", "noise-deviation = \"1 us\"", "\"1 us\"", &["no effect on `noise = \"none\"`"]);
}

#[test]
fn write_patterns_with_missing_or_useless_keys() {
    assert_one_error(
        "size = \"40 MB\"",
        "size = \"40 MB\"\npause = \"1 s\"",
        "pause",
        &["no key `pause`"],
    );
    let kind = |kind: &str| format!("kind = \"{kind}\"\nsize = \"40 MB\"\n");
    let on_off = kind("on-off") + "burst = \"200 kB\"";
    assert_one_error("size = \"40 MB\"", &on_off, "long", &["`pause` is missing"]);
    let rate = kind("rate-limited") + "rate = \"4 Gbit/s\"\narrivals = \"bursts\"";
    assert_one_error("size = \"40 MB\"", &rate, "\"bursts\"", &["one of constant, poisson"]);
    let no_rate = kind("rate-limited") + "rate = \"0 bit/s\"";
    assert_one_error("size = \"40 MB\"", &no_rate, "\"0 bit/s\"", &["above zero"]);
}

/// Asserts the error of the base with a pipe.
#[track_caller]
fn pipe(lines: &str, meant: &str, parts: &[&str]) {
    assert_one_error("[traffic.long]", &format!("[pipe.p]\n{lines}\n[traffic.long]"), meant, parts);
}

#[test]
fn pipes_that_lead_nowhere_or_carry_nothing() {
    pipe("on = \"sender\"", "\"sender\"", &["did you mean `senders`"]);
    pipe("on = \"bottleneck\"", "\"bottleneck\"", &["a star has no link called `bottleneck`"]);
    pipe("rate = \"1 Gbit/s\"", "p", &["`on` is missing"]);
    pipe("on = \"senders\"\ndirection = \"left\"", "\"left\"", &["`up` and `down`"]);
    pipe("on = \"senders\"\nloss = \"101 %\"", "\"101 %\"", &["`\"0 %\"` to `\"100 %\"`"]);
    pipe("on = \"senders\"\nloss = 10", "10", &["has no unit"]);
    pipe("on = \"senders\"\nbuffer = \"1 kB\"", "\"1 kB\"", &["holds no packet of 1500 B"]);
    pipe(
        "on = \"senders\"\nbuffer = \"20 pkt\"\n[pipe.p.mark]\nkind = \"step\"\nk = \"21 pkt\"",
        "\"21 pkt\"",
        &["above the buffer of 20 pkt", "lower `k` of [pipe.p.mark]"],
    );
    pipe(
        "on = \"senders\"\n[pipe.q]\non = [\"receivers\", \"senders\"]\ndirection = \"up\"",
        "[\"receivers\", \"senders\"]",
        &["[pipe.q] is on a line that has a pipe already"],
    );
}

#[test]
fn markers_with_missing_or_useless_keys() {
    let mark = |new: &str, meant: &str, parts: &[&str]| {
        assert_one_error("kind = \"step\"\nk = \"20 pkt\"", new, meant, parts);
    };
    mark("kind = \"phantom\"\nk = \"2 pkt\"", "\"2 pkt\"", &["cannot count packets", "3 kB"]);
    mark("kind = \"phantom\"", "\"phantom\"", &["a `phantom` marker needs its `k`", "`\"30 kB\"`"]);
    mark("gamma = \"95 %\"", "\"95 %\"", &["`gamma` belongs to `phantom`"]);
    let fast = "kind = \"phantom\"\nk = \"3 kB\"\ngamma = \"120 %\"";
    mark(fast, "\"120 %\"", &["to `\"100 %\"`"]);
}

#[test]
fn invalid_nics() {
    host("nic", "bucket-rate = \"1 GB/s\"", "\"1 GB/s\"", &["bits per second"]);
    host("nic", "moderation = \"0 us\"", "\"0 us\"", &["above zero"]);
    host("nic", "aggregate-size = \"66 kB\"", "\"66 kB\"", &["does not fit", "at most 65 kB"]);
    host(
        "nic",
        "bucket-rate = \"1 Gbit/s\"\nbucket-poll = \"100 us\"",
        "\"100 us\"",
        &["12500 B of tokens arrive between two polls", "`bucket-burst = \"12500 B\"`"],
    );
}

#[test]
fn a_group_called_bottleneck_is_rejected_if_a_pipe_is_ambiguous() {
    let dumbbell = BASE
        .replace("kind = \"star\"", "kind = \"dumbbell\"")
        .replace("[hosts.senders]", "[hosts.bottleneck]\nside = \"left\"")
        .replace("[hosts.receivers]", "[hosts.receivers]\nside = \"right\"")
        .replace("from = \"senders\"", "from = \"bottleneck\"");
    let plan = Scenario::parse(&dumbbell, "t.toml").and_then(|s| s.expand());
    assert!(plan.is_ok(), "without pipes it is an ordinary name: {:?}", plan.err());
    let found = errors(&format!("{dumbbell}[pipe.p]\non = \"bottleneck\"\n"));
    assert_eq!(found.iter().count(), 1, "{found}");
    let error = found.first();
    assert_eq!(error.span.clone().map(|span| &error.text[span]), Some("bottleneck"));
    for part in
        ["means the line between the switches", "give the group another name", "[hosts.bottleneck]"]
    {
        assert!(error.to_string().contains(part), "{part:?} is not in:\n{error}");
    }
}
