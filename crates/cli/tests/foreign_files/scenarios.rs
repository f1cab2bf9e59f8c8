//! Changed scenarios, and the files that they name.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::random::{Rng, TEXTS, change_bytes};

/// Writes a changed scenario into `case`. Returns the commands for it.
pub(crate) fn write(case: &Path, texts: &[String], rng: &mut Rng) -> Vec<Vec<String>> {
    let mut text = rng.pick(texts).clone();
    if rng.one_in(3) {
        text = with_named_files(case, rng);
    }
    for _ in 0..rng.below(3) {
        text = change_value(&text, rng);
    }
    let mut bytes = text.into_bytes();
    if rng.one_in(2) {
        change_bytes(&mut bytes, rng);
    }
    fs::write(case.join("s.toml"), bytes).unwrap();
    let command = *rng.pick(&["check", "check", "check", "export"]);
    let mut words = vec![command, "s.toml"];
    if command == "export" {
        words.extend(["--switch", "sonic"]);
    }
    vec![words.into_iter().map(str::to_owned).collect()]
}

/// Replaces a value of a line by a text that has caused harm.
fn change_value(text: &str, rng: &mut Rng) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let chosen = rng.below(lines.len());
    let value = *rng.pick(&TEXTS);
    let value = if rng.one_in(3) { value.to_owned() } else { format!("{value:?}") };
    let mut out = String::new();
    for (i, line) in lines.iter().enumerate() {
        match line.split_once('=') {
            Some((key, _)) if i == chosen => writeln!(out, "{key}= {value}").unwrap(),
            _ => writeln!(out, "{line}").unwrap(),
        }
    }
    out
}

/// A scenario with a list of flows and a distribution of sizes in files, which are changed too.
fn with_named_files(case: &Path, rng: &mut Rng) -> String {
    let mut flows = "src,dst,bytes,start\nsenders.0,receivers.0,10 kB,0\n".repeat(2).into_bytes();
    let mut sizes = b"1 0\n1000 0.5\n100000 1\n".to_vec();
    change_bytes(&mut flows, rng);
    change_bytes(&mut sizes, rng);
    fs::write(case.join("flows.csv"), flows).unwrap();
    fs::write(case.join("sizes.txt"), sizes).unwrap();
    let file = if rng.one_in(2) { "flows.csv" } else { *rng.pick(&TEXTS) };
    let sizes = if rng.one_in(2) { "sizes.txt" } else { *rng.pick(&TEXTS) };
    let traffic = if rng.one_in(2) {
        format!("[traffic.own]\nkind = \"flow-list\"\nfile = {file:?}\n")
    } else {
        format!(
            "[traffic.web]\nkind = \"poisson\"\nfrom = \"senders\"\nto = \"receivers\"\n\
             load = \"10 %\"\nsizes = {sizes:?}\n"
        )
    };
    format!(
        "schema = 1\ntitle = \"t\"\n[run]\nduration = \"5 ms\"\n[topology]\nkind = \"star\"\n\
         link-rate = \"1 Gbit/s\"\nlink-delay = \"10 us\"\n[switch]\nbuffer = \"100 pkt\"\n\
         [hosts.senders]\ncount = 2\n[hosts.receivers]\ncount = 1\n{traffic}"
    )
}
