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
            [
                "after-reduction",
                "off",
                "when-waiting",
                "cut-first",
                "freebsd",
                "1024",
                "reset",
                "data",
            ],
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
