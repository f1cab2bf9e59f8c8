//! What is refused of hosts besides their transport, and of their applications.

mod common;

use common::refused;

/// The base with these lines of `[hosts.senders.TABLE]`.
#[track_caller]
fn host(table: &str, lines: &str, meant: &str, parts: &[&str]) {
    let new = format!("[hosts.senders.{table}]\n{lines}\n[hosts.receivers]");
    refused("[hosts.receivers]", &new, meant, parts);
}

#[test]
fn clocks_that_cannot_be() {
    host("clock", "drift = 40", "40", &["has no unit", "\"40 %\""]);
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
fn sources_that_lack_something_or_have_what_they_cannot_use() {
    refused("size = \"40 MB\"", "size = \"40 MB\"\npause = \"1 s\"", "pause", &["no key `pause`"]);
    let kind = |kind: &str| format!("kind = \"{kind}\"\nsize = \"40 MB\"\n");
    let on_off = kind("on-off") + "burst = \"200 kB\"";
    refused("size = \"40 MB\"", &on_off, "long", &["`pause` is missing"]);
    let rate = kind("rate-limited") + "rate = \"4 Gbit/s\"\narrivals = \"bursts\"";
    refused("size = \"40 MB\"", &rate, "\"bursts\"", &["one of constant, poisson"]);
    let no_rate = kind("rate-limited") + "rate = \"0 bit/s\"";
    refused("size = \"40 MB\"", &no_rate, "\"0 bit/s\"", &["above zero"]);
}
