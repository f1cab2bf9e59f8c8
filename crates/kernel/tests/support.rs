//! `docs/reference/kernels.md`: the needs of each scheme, and the kernels that provide them. It is
//! made from the schemes and the twins, so it cannot go stale.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lowtide_kernel::{NEWEST_TESTED, TWINS, Twin};
use lowtide_tcp::scheme::{REGISTRY, Scheme};

/// Name of a part of lowtide, and its equivalents in Linux without BPF and in FreeBSD 14; `None`:
/// there is none.
type Elsewhere = (&'static str, Option<&'static str>, Option<&'static str>);

const ELSEWHERE: &[Elsewhere] = &[
    ("cc newreno", Some("`reno`"), Some("`newreno`")),
    ("cc cubic", Some("`cubic`"), Some("`cubic`")),
    ("cc dctcp", Some("module `tcp_dctcp`"), Some("`cc_dctcp(4)`")),
    ("cc bbr1", Some("`bbr`, module `tcp_bbr`"), None),
    ("cc bbr3", None, None),
    ("cc vegas", Some("module `tcp_vegas`"), Some("`cc_vegas(4)`")),
    ("cc dx", None, None),
    ("cc swift", None, None),
    ("cc hull", None, None),
    ("cc tdctcp", None, None),
    ("ack rfc3168", Some("built in"), Some("built in")),
    ("ack dctcp", Some("with `tcp_dctcp`"), Some("with `cc_dctcp(4)`")),
    ("ack odctcp", None, None),
    ("ack tdctcp", None, None),
    ("ack accecn", Some("`tcp_ecn = 3`, Linux 7.0"), None),
    ("feedback rfc3168", Some("built in"), Some("built in")),
    ("feedback dctcp", Some("with `tcp_dctcp`"), Some("with `cc_dctcp(4)`")),
    ("feedback one-sided", None, None),
    ("feedback accecn", Some("`tcp_ecn = 3`, Linux 7.0"), None),
];

const HEAD: &str = "\
# Schemes in kernels
The needs of each scheme from a TCP stack, and the stacks that provide them. Generated from the
schemes and from `crates/kernel`; a test compares it. lowtide's own TCP provides all of them, in the
simulator and on real packets. [Deploy DCTCP in a running Linux kernel](../howto/kernel.md) says how
to load a BPF twin.

| scheme | sender: control, decoder | receiver: ACK policy | ECN | Linux with BPF | Linux without | FreeBSD 14 |
|---|---|---|---|---|---|---|
";

const TAIL: &str = "
A cell of the last two columns names what the stack has for the control, the decoder and the policy
of the scheme, or the first of them that it lacks. FreeBSD's is from its manual pages and was not
run here. `kernel/freebsd/cc_lt_dctcp.c` is DCTCP for cc(9), at both ends or one; [DCTCP in
FreeBSD](freebsd.md) compares it with FreeBSD's. Switches and profiles of a stack may differ from a
scheme in other settings: `lowtide explain --diff linux rfc8257`.
";

fn elsewhere(scheme: &Scheme, column: fn(&Elsewhere) -> Option<&'static str>) -> String {
    let parts = ["cc", "feedback", "ack"].map(|switch| {
        let name = format!("{switch} {}", scheme.value(switch).unwrap_or_default());
        let row = ELSEWHERE.iter().find(|row| row.0 == name);
        let row = row.unwrap_or_else(|| panic!("{name} has no row in `ELSEWHERE`"));
        (name, column(row))
    });
    if let Some((name, _)) = parts.iter().find(|(_, there)| there.is_none()) {
        return format!("no: it lacks `{name}`");
    }
    if scheme.value("delay-option") == Some("true") {
        return "no: it lacks the delay option".to_owned();
    }
    let mut there: Vec<&str> = Vec::new();
    for (_, part) in parts {
        there.extend(part.filter(|part| !there.contains(part)));
    }
    there.join(", ")
}

fn page() -> String {
    let twins: BTreeMap<&str, &Twin> = TWINS.iter().map(|twin| (twin.scheme, twin)).collect();
    let mut out = HEAD.to_owned();
    for scheme in REGISTRY.all() {
        let value = |switch| scheme.value(switch).unwrap_or_default();
        let ecn = match value("ecn") {
            "off" => "none".to_owned(),
            mode => format!("{mode}, ECT on {}", value("ect")),
        };
        let bpf = twins.get(scheme.name);
        let bpf = bpf.map_or("no".to_owned(), |t| format!("`{}`: {}", t.name, t.summary));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| `{}` | `{}`, `{}` | `{}` | {ecn} | {bpf} | {} | {} |",
            scheme.name,
            value("cc"),
            value("feedback"),
            value("ack"),
            elsewhere(scheme, |row| row.1),
            elsewhere(scheme, |row| row.2),
        );
    }
    out + TAIL
}

#[test]
fn the_page_of_kernels_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/kernels.md");
    let page = page();
    if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("it is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, page, "run `cargo xtask docs`");
}

/// The suite `kernels` writes the page.
#[test]
fn the_newest_tested_kernel_is_that_of_the_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/tested-kernels.md");
    let page = fs::read_to_string(path).expect("the page is there");
    let (major, minor) = NEWEST_TESTED;
    let text = format!("Newest kernel tested: {major}.{minor}.");
    assert!(page.contains(&text), "`NEWEST_TESTED` is not that of docs/evidence/tested-kernels.md");
}

#[test]
fn each_twin_has_a_scheme() {
    for twin in TWINS {
        assert!(REGISTRY.find(twin.scheme).is_some(), "{}", twin.scheme);
    }
}
