//! Texts of strangers in arguments, scenarios, captures and result directories: none reaches a
//! terminal with a control character, or adds a line or a statement to a generated file.

use std::fs;

use crate::process::{lowtide, stderr, stdout};

/// Whether a text could act on a terminal.
fn acts_on_a_terminal(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

#[test]
fn control_characters_are_refused_in_every_argument() {
    for args in [
        &["run", "first-light", "-o", "a\u{1b}[2J"][..],
        &["run", "a\nb.toml"],
        &["check", "first-light", "-s", "title=a\u{7}"],
        &["export", "nxos", "leaf-spine", "--ports", "Ethernet1/1\nno aaa"],
        &["\u{9b}2J"],
        &["table", "x", "flows", "--where=scheme=\u{202e}x"],
    ] {
        let output = lowtide(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("error: ") && text.contains("(U+"), "{text}");
        assert!(!acts_on_a_terminal(&output.stderr), "{text}");
    }
}

#[test]
fn names_of_ports_are_no_statements() {
    let drop = ["-s", "switch.mark.k=97500 B", "-s", "switch.mark.not-ect=drop"];
    for switch in ["sonic", "cumulus", "nxos", "junos"] {
        for port in ["swp1; reboot", "$(id)", "`id`", "a|b", "a*/ system{} /*", "x y z", "é"] {
            let args = ["export", switch, "leaf-spine", "--ports", port];
            let memory = if switch == "junos" { &["--queue-memory", "400 kB"][..] } else { &[] };
            let output = lowtide(&[&args[..], &drop, memory].concat());
            assert_eq!(output.status.code(), Some(2), "{switch} {port}: {}", stdout(&output));
            assert!(stderr(&output).contains("cannot be the name of a port"), "{switch} {port}");
        }
    }
    for (switch, port) in [
        ("sonic", "Ethernet120"),
        ("cumulus", "swp1-4"),
        ("nxos", "Ethernet1/1-4"),
        ("nxos", "ethernet 1/1"),
        ("junos", "et-0/0/0:1"),
    ] {
        let args = ["export", switch, "leaf-spine", "--ports", port, "--queue-memory", "400 kB"];
        let kept = if switch == "junos" { args.len() } else { args.len() - 2 };
        let output = lowtide(&[&args[..kept], &drop].concat());
        assert!(output.status.success(), "{switch} {port}: {}", stderr(&output));
    }
}

#[test]
fn files_of_strangers_do_not_act_on_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let text = stdout(&lowtide(&["show", "first-light"]));
    let title = "title = \"First light: two transfers share one port\"";
    assert!(text.contains(title));
    for (name, from, to) in [
        ("title.toml", title, "title = \"\\u001b]0;x\\u0007\""),
        ("name.toml", "[hosts.senders]", "[hosts.\"\\u009b2J\"]"),
        ("raw.toml", title, "title = \"\u{1b}[2J\""),
        ("comment.toml", title, "title = 3 # \u{9b}2J \u{202e}"),
        ("scheme.toml", "\"sack\"", "\"sack\\u001b[31m\""),
    ] {
        let file = path(name);
        fs::write(&file, text.replacen(from, to, 1)).unwrap();
        for args in [&["check", &file][..], &["run", &file, "-o", &path("out")]] {
            let output = lowtide(args);
            assert_eq!(output.status.code(), Some(2), "{name}: {}", stdout(&output));
            let printed = stderr(&output);
            assert!(!printed.chars().any(|c| c.is_control() && c != '\n'), "{name}: {printed:?}");
        }
        assert!(!dir.path().join("out").exists());
    }
    let script = path("a.pkt");
    fs::write(&script, "0 `echo \u{1b}[2J`\n0 frob \u{1b}[2J\n").unwrap();
    let output = lowtide(&["packetdrill", &script]);
    assert!(!acts_on_a_terminal(&output.stderr), "{}", stderr(&output));
    assert!(!acts_on_a_terminal(&output.stdout), "{}", stdout(&output));
    let json = path("a.json");
    fs::write(&json, "{\"WRED_PROFILE\": {\"\\u001b[2J\": 3}}").unwrap();
    let output = lowtide(&["import", "sonic", &json]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!acts_on_a_terminal(&output.stderr), "{}", stderr(&output));
}
