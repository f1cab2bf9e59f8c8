use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::scheme;

#[test]
fn the_rfc_profile_is_the_default_and_cites_every_field_it_states() {
    let rfc = REGISTRY.find("rfc").unwrap();
    assert_eq!(diff(&rfc.config().unwrap(), &Config::default()), Vec::new());
    for a in rfc.settings {
        let text = switches::get_text(&Config::default(), a.switch).unwrap();
        assert_eq!(text, a.value, "{}", a.switch);
    }
    // `rfc` resets everything that a profile sets: it sets every field except pacing.
    for profile in REGISTRY.all() {
        let mut config = profile.config().unwrap();
        rfc.apply(&mut config).unwrap();
        assert_eq!(diff(&config, &Config::default()), Vec::new(), "{}", profile.name);
    }
}

#[test]
fn profiles_and_schemes_name_each_switch_once_and_give_a_source() {
    let lists = REGISTRY.all().map(|p| (p.name, p.settings));
    for (name, settings) in lists.chain(scheme::REGISTRY.all().map(|s| (s.name, s.settings))) {
        for (i, a) in settings.iter().enumerate() {
            assert!(!a.source.is_empty(), "{name}: {}", a.switch);
            assert!(settings[..i].iter().all(|b| b.switch != a.switch), "{name}: {}", a.switch);
        }
    }
}

/// Switches whose value is not of a stack: the link, the NIC, timers that `freebsd` does not have.
const NOT_OF_FREEBSD: [&str; 23] = [
    "mtu",
    "tso-segments",
    "gso-max",
    "tso-defer",
    "max-ack-delay",
    "loss-timer-slack",
    "loss-timer-granularity",
    // `cc_cubic.c` has another growth, which is not compared.
    "cubic.variant",
    // Rules of Linux, and options of its AccECN: not yet looked up in FreeBSD.
    "accecn-option",
    "accecn-rules",
    "nagle-rule",
    "rack-rtt",
    "resend-restarts-rto",
    "recovery-after-rto",
    "probe-without-rtt",
    "window-probe",
    "fin-ack",
    "idle-decay",
    "timestamps-required",
    "initial-quick-ack-count",
    "window-growth-acks",
    "push-acks",
    "pingpong",
];

/// The segments that a NIC takes at once, and a control that Linux lacks.
const NOT_OF_LINUX: [&str; 3] = ["tso-segments", "gso-max", "odctcp.flip"];

#[test]
fn stacks_take_no_value_of_the_rfcs_without_a_source_of_their_own() {
    for (stack, unlisted) in
        [("freebsd", NOT_OF_FREEBSD.to_vec()), ("linux", NOT_OF_LINUX.to_vec())]
    {
        let profile = REGISTRY.find(stack).unwrap();
        let silent: Vec<&str> = (REGISTRY.find("rfc").unwrap().settings.iter())
            .map(|a| a.switch)
            .filter(|switch| profile.source(switch).is_none())
            .collect();
        let mut listed = unlisted.clone();
        listed.retain(|switch| silent.contains(switch));
        assert_eq!(listed, unlisted, "{stack}: a listed switch has a source");
        assert_eq!(silent.len(), listed.len(), "{stack}: {silent:?}");
    }
}

#[test]
fn the_linux_profile_has_the_known_values_of_linux() {
    let linux = REGISTRY.find("linux").unwrap().config().unwrap();
    for (switch, value) in [
        ("cc", "cubic"),
        ("rto-min", "200 ms"),
        ("rto-min-applies", "variance"),
        ("delack-timer", "40 ms"),
        ("window-floor", "2"),
        ("recut", "past-point"),
        ("freeze-growth", "round"),
        ("initial-window", "10"),
        ("abc-limit", "none"),
        ("ecn", "passive"),
        ("recovery", "rack"),
        ("reduction", "prr"),
        ("tail-loss-probe", "on"),
        ("loss-timer-slack", "2 ms"),
        ("loss-timer-granularity", "4 ms"),
        ("handshake-rtt", "timestamps"),
        ("nagle-rule", "minshall"),
        ("growth-when", "window-usage"),
        ("growth-counts", "delivered"),
        ("undo", "timestamps"),
        ("rack-rtt", "last-processed"),
        ("idle-decay", "per-rto"),
        ("initial-quick-ack-count", "16"),
        ("window-growth-acks", "true"),
        ("push-acks", "true"),
        ("pingpong", "true"),
        ("rtt-gains", "linux"),
        ("tso-defer", "3"),
        ("syn-retries", "10"),
        ("syn-ack-retries", "5"),
        ("syn-linear-timeouts", "4"),
    ] {
        assert_eq!(switches::get_text(&linux, switch).unwrap(), value, "{switch}");
    }
}

#[test]
fn the_dctcp_family_differs_in_the_known_switches() {
    for (profile, facts) in [
        (
            "sigcomm10",
            ["never", "off", "old-echo", "estimate-first", "q20", "1024", "keep", "data"],
        ),
        (
            "rfc8257",
            ["after-reduction", "off", "new-echo", "estimate-first", "q20", "1024", "keep", "all"],
        ),
        (
            "freebsd",
            ["after-reduction", "off", "new-echo", "cut-first", "freebsd", "1024", "reset", "data"],
        ),
        (
            "thesis-original",
            ["never", "round", "new-echo", "cut-first", "freebsd", "0", "keep", "all"],
        ),
        (
            "thesis-modified",
            ["after-reduction", "off", "new-echo", "cut-first", "freebsd", "0", "reset", "all"],
        ),
    ] {
        let config = REGISTRY.find(profile).unwrap().config().unwrap();
        assert_eq!((config.cc, config.ack), ("dctcp", "dctcp"), "{profile}");
        let switches = [
            "cwr",
            "freeze-growth",
            "dctcp.flip",
            "dctcp.order",
            "dctcp.arithmetic",
            "dctcp.initial-alpha",
            "dctcp.after-idle",
            "ect",
        ];
        for (switch, value) in switches.iter().zip(facts) {
            assert_eq!(switches::get_text(&config, switch).unwrap(), value, "{profile} {switch}");
        }
    }
}

#[test]
fn the_two_thesis_profiles_differ_in_four_switches() {
    let [original, modified] = ["thesis-original", "thesis-modified"]
        .map(|name| REGISTRY.find(name).unwrap().config().unwrap());
    let rows = diff(&original, &modified);
    let names: Vec<&str> = rows.iter().map(|row| row.switch.as_str()).collect();
    assert_eq!(names, ["cwr", "freeze-growth", "dctcp.after-idle", "dctcp.grow-with-cut"]);
}

#[test]
fn linuxs_dctcp_is_a_scheme_over_its_profile() {
    let mut linux = REGISTRY.find("linux").unwrap().config().unwrap();
    scheme::REGISTRY.find("dctcp").unwrap().apply(&mut linux).unwrap();
    for (switch, value) in [
        ("ect", "all"),
        ("reduction", "prr"),
        ("dctcp.arithmetic", "linux"),
        ("dctcp.flip", "split"),
        ("dctcp.loss-from", "cwnd"),
        ("dctcp.loss-after-cut", "again"),
        ("dctcp.cwr-ack", "at-once"),
    ] {
        assert_eq!(switches::get_text(&linux, switch).unwrap(), value, "{switch}");
    }
}

#[test]
fn diff_lists_exactly_the_settings_that_differ() {
    let rfc = Config::default();
    assert_eq!(diff(&rfc, &rfc), Vec::new());
    let mut other = rfc.clone();
    switches::set_text(&mut other, "window-floor", "1").unwrap();
    switches::set_text(&mut other, "dctcp.shift-g", "5").unwrap();
    let rows = diff(&rfc, &other);
    assert_eq!(
        rows,
        [("window-floor", "2", "1"), ("dctcp.shift-g", "4", "5")].map(|(switch, a, b)| DiffRow {
            switch: switch.to_string(),
            a: a.to_string(),
            b: b.to_string()
        })
    );
    // A parameter that is set to its default is no difference.
    switches::set_text(&mut other, "dctcp.shift-g", "4").unwrap();
    assert_eq!(diff(&rfc, &other).len(), 1);
    let profile = REGISTRY.find("rfc").unwrap();
    assert_eq!(profile.source("window-floor"), Some("RFC 5681 §3.1 eq. 4"));
    assert_eq!(profile.source("pacing"), None);
}

/// The tools of the papers: the values in which each differs most from the RFCs.
#[test]
fn the_tools_have_the_values_of_their_sources() {
    for (profile, values) in [
        (
            "ns-2",
            &[
                ("freeze-growth", "first-ece"),
                ("growth-when", "below-rwnd"),
                ("growth-counts", "acks"),
                ("cut-from", "window"),
                ("initial-ssthresh", "1833760"),
                ("dctcp.initial-alpha", "0"),
                ("window-floor", "1"),
                ("ssthresh-floor", "2"),
                ("initial-quick-acks", "2920 B"),
                ("timestamps", "false"),
                ("rto-granularity", "10 ms"),
                ("rtt-ticks", "at-least-one"),
                ("idle-restart", "false"),
            ][..],
        ),
        (
            "inet",
            &[
                ("growth-when", "always"),
                ("growth-counts", "acks"),
                ("loss-from", "window"),
                ("cut-from", "cwnd"),
                ("initial-window", "1"),
                ("initial-ssthresh", "65535"),
                ("receive-buffer", "20440 B"),
                ("recovery", "newreno"),
                ("sack", "false"),
                ("rto-max", "240 s"),
                ("rtt-gains", "inet"),
            ],
        ),
        (
            "windows-2008r2",
            &[
                ("initial-window", "2"),
                ("rto-min", "300 ms"),
                ("undo", "f-rto"),
                ("syn-retries", "2"),
                ("retries", "5"),
                ("receive-buffer", "64 KiB"),
                ("timestamps", "false"),
            ],
        ),
        (
            "freebsd-10",
            &[
                ("growth-when", "below-rwnd"),
                ("growth-counts", "limited-bytes"),
                ("restart-window", "rfc3390"),
                ("rtt-ticks", "first-plus-one"),
                ("rto-min", "30 ms"),
                ("rto-slop", "200 ms"),
                ("rto-initial", "3 s"),
                ("syn-linear-timeouts", "4"),
                ("syn-ack-retries", "3"),
                ("dsack", "false"),
            ],
        ),
        (
            "linux-3.13",
            &[
                ("recovery", "sack"),
                ("tail-loss-probe", "on"),
                ("syn-ack-retries", "5"),
                ("initial-quick-acks", "23168 B"),
                ("receive-buffer", "6 MB"),
            ],
        ),
        (
            "ns-3",
            &[
                ("growth-when", "always"),
                ("dctcp.loss-cut", "alpha"),
                ("mtu", "588"),
                ("receive-buffer", "128 KiB"),
                ("rto-min", "1 s"),
                ("dctcp.flip", "old-echo"),
            ],
        ),
    ] {
        let entry = REGISTRY.find(profile).unwrap();
        let config = entry.config().unwrap();
        for (switch, value) in values {
            // In the syntax of the profile, as `64 KiB`, or in that of results, as `65536 B`.
            let mut expected = Config::default();
            switches::set_text(&mut expected, switch, value).unwrap();
            let expected = switches::get_text(&expected, switch).unwrap();
            assert_eq!(
                switches::get_text(&config, switch).unwrap(),
                expected,
                "{profile} {switch}"
            );
            assert!(entry.source(switch).is_some_and(|s| s.len() > 5), "{profile} {switch}");
        }
        let says = |words: &str| entry.summary.ends_with(words);
        assert!(says("not checked against the tool") || says("(benches/tools)"), "{profile}");
    }
}

#[test]
fn a_scheme_over_a_tool_keeps_the_rules_of_the_tool() {
    let over = |profile: &str| {
        let mut config = REGISTRY.find(profile).unwrap().config().unwrap();
        scheme::REGISTRY.find("dctcp").unwrap().apply(&mut config).unwrap();
        config
    };
    let rows = diff(&over("rfc"), &over("ns-2"));
    for (switch, a, b) in [
        ("growth-when", "cwnd-limited", "below-rwnd"),
        ("growth-counts", "bytes", "acks"),
        ("cut-from", "cwnd", "window"),
        ("loss-from", "flight", "window"),
        ("initial-window", "rfc6928", "2"),
        ("dctcp.initial-alpha", "1024", "0"),
        ("dctcp.flip", "split", "old-echo"),
    ] {
        let row = rows.iter().find(|row| row.switch == switch);
        assert_eq!(row.map(|row| (&row.a[..], &row.b[..])), Some((a, b)), "{switch}");
    }
    // The scheme's own switches are equal.
    assert!(
        rows.iter().all(|row| !["cc", "ack", "ect", "freeze-growth"].contains(&&row.switch[..]))
    );
}
