//! Rejected scenarios: the location of each error, and its help.

use crate::common::{BASE, assert_one_error, errors};
use lowtide_scenario::{Scenario, TEMPLATES};

#[test]
fn the_base_is_valid() {
    assert!(Scenario::parse(BASE, "t.toml").unwrap().expand().is_ok());
}

#[test]
fn an_error_shows_file_line_column_caret_and_the_nearest_name() {
    let text = BASE.replace("duration = \"3 s\"", "duratoin = \"3 s\"\nduration = \"3 s\"");
    assert_eq!(
        errors(&text).to_string(),
        "t.toml:4:1: no key `duratoin` in [run]\n\
         \x20 |\n\
         4 | duratoin = \"3 s\"\n\
         \x20 | ^^^^^^^^\n\
         \x20 help: did you mean `duration`? It is one of duration, warmup, seeds, first-seed, end, end-limit, allow-mismatch"
    );
}

#[test]
fn a_tuned_buffer_needs_a_rule() {
    let table = "[transport.receiver]\nbuffer-tuning = ";
    let auto = |profile: &str| {
        let text = BASE.replace("profile = \"linux\"", &format!("profile = \"{profile}\""));
        text.replace("[hosts.senders]", &format!("{table}\"auto\"\n[hosts.senders]"))
    };
    let error = errors(&auto("windows-2008r2"));
    assert_eq!(error.iter().count(), 1, "{error}");
    for part in ["t.toml:19:17", "the profile has none", "`freebsd-10`, `freebsd-14` or `linux`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    for profile in ["linux", "freebsd", "freebsd-10", "thesis-modified"] {
        assert!(Scenario::parse(&auto(profile), "t.toml").unwrap().expand().is_ok(), "{profile}");
    }
    let old = "[hosts.senders]";
    let new = format!("{table}\"freebsd\"\n{old}");
    assert_one_error(old, &new, "\"freebsd\"", &["one of fixed, auto"]);
}

#[test]
fn unknown_keys() {
    assert_one_error(
        "k = \"20 pkt\"",
        "k = \"20 pkt\"\nkk = 1",
        "kk",
        &["no key `kk`", "[switch.mark]", "`k`"],
    );
    assert_one_error("[transport]", "[transprt]\n[transport]", "transprt", &["`transport`"]);
    assert_one_error("count = 2", "count = 2\ncuont = 2", "cuont", &["[traffic.long]", "`count`"]);
    assert_one_error(
        "nagle = false",
        "nagel = false",
        "nagel",
        &["no sender switch `nagel`", "`nagle`"],
    );
    assert_one_error(
        "nagle = false",
        "delack-segments = 1",
        "delack-segments",
        &["is a receiver switch", "[transport.receiver]"],
    );
    assert_one_error(
        "profile = \"linux\"",
        "profile = \"linux\"\nnagle = false",
        "nagle",
        &["no key `nagle` in [transport]", "[transport.sender]"],
    );
    assert_one_error(
        "nagle = false",
        "dctcp.shift-f = 4",
        "shift-f",
        &["no sender switch `dctcp.shift-f`", "`dctcp.shift-g`"],
    );
}

#[test]
fn missing_units_show_the_fix() {
    assert_one_error("\"3 s\"", "3", "3", &["`duration`", "has no unit", "ms, s"]);
    assert_one_error("\"3 s\"", "\"3\"", "\"3\"", &["has no unit"]);
    assert_one_error("\"40 MB\"", "40.5", "40.5", &["not a whole number of bytes"]);
    assert_one_error("\"1 Gbit/s\"", "1e9", "1e9", &["`link-rate`"]);
    assert_one_error("\"20 pkt\"", "20", "20", &["has no unit", "\"20 pkt\"", "\"20 B\""]);
    assert_one_error("nagle = false", "rto-min = 10", "10", &["`rto-min`", "has no unit"]);
}

#[test]
fn thresholds_below_a_packet_and_delays_beyond_the_run() {
    for (from, to, meant, part) in [
        ("\"20 pkt\"", "\"0 pkt\"", "\"0 pkt\"", "below one packet of 1500 B"),
        ("\"20 pkt\"", "\"65 B\"", "\"65 B\"", "below one packet of 1500 B"),
        ("\"20 pkt\"", "\"1499 B\"", "\"1499 B\"", "\"1 pkt\" or \"1500 B\""),
        ("\"10 us\"", "\"3 s\"", "\"3 s\"", "nothing crosses it"),
    ] {
        let found = errors(&BASE.replacen(from, to, 1));
        let error = found.first();
        let shown = error.to_string();
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
        assert_eq!(&error.text[error.span.clone().unwrap()], meant, "{shown}");
    }
    for (from, to) in
        [("\"20 pkt\"", "\"1500 B\""), ("\"20 pkt\"", "\"1 pkt\""), ("\"10 us\"", "\"2999 ms\"")]
    {
        let scenario = Scenario::parse(&BASE.replacen(from, to, 1), "t.toml").unwrap();
        assert!(scenario.expand().is_ok(), "{to}");
    }
}

#[test]
fn values_of_the_wrong_kind_or_range() {
    assert_one_error(
        "count = 3",
        "count = \"three\"",
        "\"three\"",
        &["`three` is not a whole number"],
    );
    assert_one_error("count = 3", "count = 0", "0", &["`0` is not a whole number, 1 to", "empty"]);
    assert_one_error("count = 2", "count = 0", "0", &["`count`", "1 or more"]);
    assert_one_error("count = 2", "count = [2]", "[2]", &["a list, expected a whole number"]);
    assert_one_error("\"3 s\"", "\"0 s\"", "\"0 s\"", &["above zero"]);
    assert_one_error("\"3 s\"", "\"never\"", "\"never\"", &["24 hours"]);
    assert_one_error("schema = 1", "schema = 2", "2", &["`schema`", "1 to 1"]);
    assert_one_error("nagle = false", "window-floor = 3", "3", &["1 to 2"]);
    assert_one_error(
        "nagle = false",
        "nagle = [true]",
        "[true]",
        &["a list, expected a single value"],
    );
    assert_one_error("nagle = false", "nagle.x = 1", "x", &["no sender switch `nagle.x`"]);
    assert_one_error("[run]\nduration = \"3 s\"", "run = 3", "3", &["expected a table"]);
}

#[test]
fn unknown_names() {
    assert_one_error("\"star\"", "\"starr\"", "\"starr\"", &["`starr` is unknown", "`star`"]);
    assert_one_error("\"linux\"", "\"linus\"", "\"linus\"", &["`linus` is unknown", "`linux`"]);
    assert_one_error(
        "profile = \"linux\"",
        "scheme = \"dctpc\"",
        "\"dctpc\"",
        &["`dctpc` is unknown", "`dctcp`"],
    );
    assert_one_error(
        "nagle = false",
        "cc = \"dctcpp\"",
        "\"dctcpp\"",
        &["`dctcpp` is unknown", "`dctcp`"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"sender\"",
        "\"sender\"",
        &["no host group", "`senders`"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"senders.3\"",
        "\"senders.3\"",
        &["beyond the 3", "0 to 2"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"senders[2..2]\"",
        "\"senders[2..2]\"",
        &["senders[0..2]"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"senders.x\"",
        "\"senders.x\"",
        &["names no hosts"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"senders.0..2\"",
        "\"senders.0..2\"",
        &["names no hosts"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = \"senders[1\"",
        "\"senders[1\"",
        &["senders[0..2]"],
    );
    assert_one_error("from = \"senders\"", "from = []", "[]", &["empty list of hosts"]);
    assert_one_error(
        "count = 2",
        "count = 2\nkind = \"incats\"",
        "\"incats\"",
        &["`incats` is unknown"],
    );
    assert_one_error(
        "[run]",
        "[compare]\nschemes = [\"sack\", \"x\"]\n[run]",
        "\"x\"",
        &["`x` is unknown"],
    );
    assert_one_error("[run]", "[compare]\nschemes = []\n[run]", "[]", &["empty comparison"]);
    assert_one_error("[run]", "[probes]\ngroups = [\"lung\"]\n[run]", "\"lung\"", &["`long`"]);
    assert_one_error(
        "nagle = false",
        "undo = \"dsack\"",
        "\"dsack\"",
        &["not available in this version", "RFC 3708"],
    );
}

#[test]
fn duplicate_names() {
    assert_one_error("count = 3", "count = 3\ncount = 4", "count", &["duplicate"]);
    let text = BASE.replace("[traffic.long]", "[hosts.senders]\ncount = 1\n[traffic.long]");
    assert!(errors(&text).to_string().contains("duplicate"));
    assert_one_error(
        "[run]",
        "[compare]\nschemes = [\"sack\", \"sack\"]\n[run]",
        "\"sack\"",
        &["`sack` is listed twice"],
    );
    assert_one_error(
        "from = \"senders\"",
        "from = [\"senders\", \"senders.1\"]",
        "\"senders.1\"",
        &["names a host twice"],
    );
    assert_one_error(
        "[run]",
        "[compare.bundles.sack]\n[run]",
        "sack",
        &["the name of a scheme already"],
    );
}

#[test]
fn missing_keys_and_groups() {
    assert_one_error(
        "duration = \"3 s\"",
        "",
        "run",
        &["`duration` is missing in [run]", "Give a time"],
    );
    assert_one_error("to = \"receivers\"\n", "", "long", &["`to` is missing in [traffic.long]"]);
    assert_one_error("size = \"40 MB\"\n", "", "long", &["`size` is missing in [traffic.long]"]);
    assert_one_error("k = \"20 pkt\"\n", "", "\"step\"", &["needs its `k`"]);
    let start = BASE.find("[traffic.long]").unwrap();
    let found = errors(&BASE[..start]);
    assert!(found.first().message.contains("no [traffic] group"), "{found}");
    let found = errors("");
    let shown = found.to_string();
    for part in
        ["`schema` is missing", "`title` is missing", "no [hosts] group", "no [traffic] group"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn keys_that_have_no_effect() {
    assert_one_error(
        "count = 3",
        "count = 3\nside = \"left\"",
        "\"left\"",
        &["a star has no sides"],
    );
    assert_one_error(
        "kind = \"star\"",
        "kind = \"star\"\nbottleneck-rate = \"1 Gbit/s\"",
        "\"1 Gbit/s\"",
        &["a star has no `bottleneck-rate`"],
    );
    assert_one_error(
        "kind = \"step\"\n",
        "",
        "\"20 pkt\"",
        &["`k` has no effect", "kind = \"step\""],
    );
    assert_one_error(
        "[run]",
        "[transport]\nscheme = \"ecn\"\n[compare]\nschemes = [\"sack\"]\n[run]",
        "transport",
        &["duplicate"],
    );
    assert_one_error(
        "profile = \"linux\"",
        "profile = \"linux\"\nscheme = \"ecn\"\n[compare]\nschemes = [\"sack\"]",
        "\"ecn\"",
        &["`transport.scheme` together with `compare.schemes`"],
    );
}

#[test]
fn queues_that_make_no_sense() {
    assert_one_error(
        "\"20 pkt\"",
        "\"101 pkt\"",
        "\"101 pkt\"",
        &["`k` = 101 pkt is above the buffer of 100 pkt"],
    );
    assert_one_error("\"20 pkt\"", "\"151 kB\"", "\"151 kB\"", &["above the buffer"]);
    assert_one_error(
        "\"100 pkt\"",
        "\"29 kB\"",
        "\"20 pkt\"",
        &["`k` = 20 pkt is above the buffer of 29 kB"],
    );
    assert_one_error("\"100 pkt\"", "\"1499 B\"", "\"1499 B\"", &["holds no packet of 1500 B"]);
    assert_one_error("\"100 pkt\"", "\"0 pkt\"", "\"0 pkt\"", &["holds no packet"]);
    assert_one_error(
        "nagle = false",
        "nagle = false\n[transport.connection]\nmtu = 9001",
        "9001",
        &["9001 B", "links carry 9000 B"],
    );
}

#[test]
fn times_that_leave_nothing() {
    assert_one_error(
        "[topology]",
        "warmup = \"3 s\"\n[topology]",
        "\"3 s\"",
        &["warm-up of 3 s leaves nothing"],
    );
    assert_one_error(
        "count = 2",
        "count = 2\nstart = \"3 s\"",
        "\"3 s\"",
        &["start at 3 s", "ends at 3 s"],
    );
}

#[test]
fn an_unlimited_flow_alone_never_is_done() {
    let text = BASE.replace("size = \"40 MB\"", "size = \"unlimited\"");
    let found = errors(&text);
    assert!(found.first().message.contains("can never end by `done`"), "{found}");
    assert!(found.first().help.as_ref().unwrap().contains("end = \"duration\""));
    let more =
        format!("{text}[traffic.short]\nfrom = \"senders\"\nto = \"receivers\"\nsize = \"1 kB\"\n");
    assert!(Scenario::parse(&more, "t.toml").unwrap().expand().is_ok());
}

#[test]
fn hosts_that_send_to_themselves() {
    assert_one_error(
        "to = \"receivers\"",
        "to = \"senders.0\"",
        "\"senders.0\"",
        &["from a host to itself"],
    );
    assert_one_error(
        "from = \"senders\"\nto = \"receivers\"",
        "from = \"receivers\"\nto = \"receivers\"",
        "\"receivers\"",
        &["from a host to itself"],
    );
}

#[test]
fn a_dumbbell_has_two_sides() {
    let dumbbell = BASE.replace("\"star\"", "\"dumbbell\"");
    let shown = errors(&dumbbell).to_string();
    assert!(shown.contains("[hosts.senders] has no `side`"), "{shown}");
    assert!(shown.contains("[hosts.receivers] has no `side`"), "{shown}");
    let left = dumbbell.replace("count = 3", "count = 3\nside = \"left\"");
    let left = left.replace("[hosts.receivers]", "[hosts.receivers]\nside = \"left\"");
    assert!(errors(&left).to_string().contains("no hosts on the right"));
}

#[test]
fn receivers_that_cannot_serve_their_senders() {
    let mixed = BASE
        .replace("profile = \"linux\"", "profile = \"linux\"\nscheme = \"dctcp\"")
        .replace("[traffic.long]", "receiver = { ack = \"rfc3168\" }\n[traffic.long]");
    let found = errors(&mixed);
    let error = found.first();
    assert_eq!(&error.text[error.span.clone().unwrap()], "\"rfc3168\"", "{found}");
    assert!(error.message.contains("[hosts.receivers]"), "{found}");
    assert!(error.help.as_ref().unwrap().contains("allow-mismatch"), "{found}");
    let allowed = mixed.replace("[topology]", "allow-mismatch = true\n[topology]");
    assert!(Scenario::parse(&allowed, "t.toml").unwrap().expand().is_ok());

    let other = mixed.replace("receiver = { ack = \"rfc3168\" }", "scheme = \"ecn\"");
    assert!(errors(&other).first().message.contains("does not understand"));
    // Without ECN no feedback is misunderstood, but a congestion control that needs ECN lacks it.
    let off = mixed.replace("receiver = { ack = \"rfc3168\" }", "scheme = \"sack\"");
    let found = errors(&off);
    assert!(found.first().message.contains("needs ECN"), "{found}");
    assert!(found.first().message.contains("[hosts.receivers] has `ecn = \"off\"`"), "{found}");
}

#[test]
fn a_latched_echo_needs_a_sender_that_sets_cwr() {
    let mixed = BASE
        .replace("[hosts.senders]", "[hosts.senders]\nprofile = \"thesis-original\"")
        .replace("[traffic.long]", "scheme = \"ecn\"\n[traffic.long]");
    let found = errors(&mixed);
    let error = found.first();
    assert!(error.message.contains("[hosts.senders] never sends"), "{found}");
    assert!(error.help.as_ref().unwrap().contains("after-reduction"), "{found}");
    let fine = [
        ("thesis-original", "thesis-modified"),
        ("[topology]", "allow-mismatch = true\n[topology]"),
        ("[traffic.long]", "receiver = { ack = \"odctcp\" }\n[traffic.long]"),
    ];
    for (from, to) in fine {
        let text = mixed.replace(from, to);
        assert!(Scenario::parse(&text, "t.toml").unwrap().expand().is_ok(), "{to}");
    }
}

#[test]
fn controls_that_need_ecn() {
    assert_one_error(
        "nagle = false",
        "cc = \"dctcp\"\n[transport.connection]\necn = \"off\"",
        "\"off\"",
        &["`dctcp`", "needs ECN", "ecn = \"rfc3168\""],
    );
    assert_one_error(
        "nagle = false",
        "cc = \"dctcp\"\n[transport.connection]\necn = \"passive\"",
        "\"passive\"",
        &["only accepts ECN and never requests it"],
    );
}

#[test]
fn sweeps_that_lead_nowhere() {
    let sweep = |line: &str, meant: &str, parts: &[&str]| {
        assert_one_error("[run]", &format!("[sweep]\n{line}\n[run]"), meant, parts);
    };
    sweep(
        "\"traffic.long.siez\" = [\"1 kB\"]",
        "\"traffic.long.siez\"",
        &["no key `siez`", "`size`"],
    );
    sweep(
        "\"traffic.lung.size\" = [\"1 kB\"]",
        "\"traffic.lung.size\"",
        &["[traffic.lung]", "`long`"],
    );
    sweep(
        "\"traffic.l*x.size\" = [\"1 kB\"]",
        "\"traffic.l*x.size\"",
        &["there is no [traffic.l*x]"],
    );
    sweep(
        "\"traffic.*.size\" = [\"1 kB\"]\n\"traffic.long.size\" = [\"2 kB\"]",
        "\"traffic.long.size\"",
        &["`traffic.long.size` is swept already"],
    );
    sweep("\"traffic.long.size\" = []", "[]", &["an empty list"]);
    sweep("\"traffic.long.size\" = \"1 kB\"", "\"1 kB\"", &["expected a list"]);
    sweep("\"traffic.long.size\" = [\"1 kB\", 5.5]", "5.5", &["whole number of bytes"]);
    sweep(
        "\"traffic.long.size\" = [\"1 kB\", \"1000 B\"]",
        "\"1000 B\"",
        &["`1 kB` is listed twice"],
    );
    sweep("\"run.seeds\" = [1, 2]", "\"run.seeds\"", &["cannot be swept", "all seeds"]);
    sweep(
        "\"switch.mark.k\" = [\"20 pkt\", \"101 pkt\"]",
        "\"101 pkt\"",
        &["`k` = 101 pkt is above"],
    );
    let range = "{ from = \"10 pkt\", to = \"20 pkt\", step = \"0 pkt\" }";
    sweep(&format!("\"switch.mark.k\" = {range}"), "\"0 pkt\"", &["a step of zero"]);
    let range = "{ from = \"10 pkt\", to = \"20 kB\", step = \"1 pkt\" }";
    sweep(&format!("\"switch.mark.k\" = {range}"), "\"20 kB\"", &["another unit than `from`"]);
    let range = "{ from = \"10 pkt\", to = \"5 pkt\", step = \"1 pkt\" }";
    sweep(&format!("\"switch.mark.k\" = {range}"), "\"5 pkt\"", &["below `from`"]);
    let range = "{ from = \"10 pkt\", step = \"1 pkt\" }";
    sweep(&format!("\"switch.mark.k\" = {range}"), range, &["`to` is missing"]);
    let range = "{ from = \"1 B\", to = \"1 GB\", step = \"1 B\" }";
    sweep(&format!("\"switch.mark.k\" = {range}"), "\"1 B\"", &["more than"]);
    let range = "{ from = 1, to = 2, step = 1 }";
    sweep(&format!("\"switch.mark.kind\" = {range}"), "1", &["a range needs numbers"]);
}

#[test]
fn errors_point_at_the_override() {
    let base = || Scenario::parse(BASE, "t.toml").unwrap();
    let unknown = base().with_override("traffic.long.siez", "1 kB").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "-s:1:1: no key `siez` in [traffic.long]\n  |\n1 | traffic.long.siez=1 kB\n  | ^^^^^^^^^^^^^^^^^\n  \
         help: did you mean `size`?"
    );
    assert!(base().with_override("run", "1").unwrap_err().to_string().contains("`run` is a table"));
    let value = base().with_override("traffic.long.size", "10 KB").unwrap().expand().unwrap_err();
    assert_eq!(value.first().line_column(), Some((1, 19)), "{value}");
    assert_eq!(value.first().file, "-s");
    let unknown = base().with_sweep("switch.mark.kk", &["1 pkt".to_owned()]).unwrap_err();
    assert!(unknown.first().help.as_ref().unwrap().contains("`k`"), "{unknown}");
    let none = base().with_sweep("switch.mark.k", &[]).unwrap().expand().unwrap_err();
    assert!(none.first().message.contains("an empty list"), "{none}");
    let zero = base().seeds(0).unwrap().expand().unwrap_err();
    assert!(zero.first().message.contains("`seeds`"), "{zero}");
    let many = base().seeds(100_000).unwrap().with_sweep(
        "switch.mark.k",
        &["{from=\"1 pkt\"".into(), "to=\"98 pkt\"".into(), "step=\"1 pkt\"}".into()],
    );
    let many = many.unwrap().expand().unwrap_err();
    assert!(many.first().message.contains("9800000 runs"), "{many}");
}

#[test]
fn several_errors_come_together_in_the_order_of_the_file() {
    let text = BASE
        .replace("\"3 s\"", "3")
        .replace("\"1 Gbit/s\"", "1")
        .replace("nagle", "nagel")
        .replace("count = 2", "count = 0");
    let lines: Vec<_> = errors(&text).iter().map(|e| e.line_column().unwrap().0).collect();
    assert_eq!(lines, [4, 7, 17, 25]);
}

#[test]
fn names_and_files_that_do_not_exist() {
    let unknown = Scenario::load("queue-buildpu").unwrap_err();
    assert!(unknown.to_string().contains("no scenario `queue-buildpu`"), "{unknown}");
    assert!(unknown.to_string().contains("`queue-buildup`"), "{unknown}");
    let missing = Scenario::load("no/such/file.toml").unwrap_err();
    assert!(missing.to_string().contains("cannot read `no/such/file.toml`"), "{missing}");
    assert!(Scenario::load("nothing.toml").is_err());
    assert!(Scenario::load("").is_err());
    let folder = Scenario::load("./").unwrap_err();
    assert!(folder.to_string().contains("cannot read"), "{folder}");
}

#[test]
fn no_input_panics() {
    // Tries each truncation, and each line removed, repeated or changed, of files with all tables.
    let texts = TEMPLATES.iter().map(|t| t.text);
    let mut tried = 0;
    let mut accepted = 0;
    let mut attempt = |text: &str| {
        tried += 1;
        let plan = Scenario::parse(text, "t.toml").and_then(|s| s.expand());
        match plan {
            Ok(plan) => {
                accepted += 1;
                assert!(plan.runs.iter().take(3).all(|r| r.setup().is_ok()));
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    };
    for text in texts {
        let lines: Vec<&str> = text.lines().collect();
        for i in 0..lines.len() {
            let mut lost = lines.clone();
            lost.remove(i);
            attempt(&lost.join("\n"));
            let mut doubled = lines.clone();
            doubled.insert(i, lines[i]);
            attempt(&doubled.join("\n"));
            let Some((key, _)) = lines[i].split_once(" = ") else { continue };
            for value in [
                "-1",
                "0",
                "\"\"",
                "\"é\"",
                "[]",
                "{}",
                "[[1]]",
                "99999999999999999999",
                "1979-05-27",
                "nan",
            ] {
                let mut other = lines.clone();
                let line = format!("{key} = {value}");
                other[i] = &line;
                attempt(&other.join("\n"));
            }
        }
        for end in (0..text.len()).step_by(7).filter(|i| text.is_char_boundary(*i)) {
            attempt(&text[..end]);
        }
    }
    assert!(tried > 1000 && accepted > 20, "{tried} {accepted}");
}

#[test]
fn ranges_of_flow_sizes_grow() {
    for (sizes, meant, part) in [
        ("[\"1 MB\", \"100 kB\"]", "\"100 kB\"", "100 kB is not above 1 MB"),
        ("[\"1 MB\", \"1000 kB\"]", "\"1000 kB\"", "is not above"),
        ("[\"0 B\"]", "\"0 B\"", "a size must be above zero"),
        ("[1.5]", "1.5", "is not a whole number of bytes"),
        ("[\"ten\"]", "\"ten\"", "size-classes"),
        ("true", "true", "is not a size"),
    ] {
        let found = errors(&format!("{BASE}\n[probes]\nsize-classes = {sizes}\n"));
        let error = found.first();
        let shown = error.to_string();
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
        let span = error.span.clone().unwrap_or_else(|| panic!("no place: {shown}"));
        assert_eq!(&error.text[span], meant, "{shown}");
    }
}

#[test]
fn a_question_that_cannot_be_answered() {
    let with = |question: &str| format!("{BASE}\n{question}");
    let one = |question: &str, parts: &[&str]| {
        let text = errors(&with(question)).to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(!text.contains("1 more"), "{text}");
    };
    let asked = "[question.schemes.dctcp]\nreported = \"82.5 ms\"";
    let right = format!("[question]\ntraffic = \"long\"\n{asked}");
    assert!(Scenario::parse(&with(&right), "t.toml").unwrap().expand().is_ok());
    one(&format!("[question]\ntraffic = \"lnog\"\n{asked}"), &["lnog", "`long`"]);
    one(&format!("[question]\n{asked}"), &["`traffic` is missing in [question]"]);
    one("[question]\ntraffic = \"long\"", &["there is no [question.schemes] group"]);
    one(&right.replace("82.5 ms", "82.5"), &["`reported` is not a time, `\"82.5 ms\"`"]);
    one(&right.replace("dctcp", "dtcpp"), &["unknown scheme `dtcpp` in [question.schemes]"]);
    one(&right.replace("\n[", "\none-side = \"dctcp\"\n["), &["`both-sides` is missing"]);
    one(&right.replace("\n[", "\npercentile = \"p42\"\n["), &["p42", "p99"]);
    one(&right.replace("\n[", "\nat = { \"run.foo\" = 1 }\n["), &["`run.foo` in [question.at]"]);
    one(
        &format!("{right}\n[sweep]\n\"question.traffic\" = [\"long\"]"),
        &["`question.traffic` cannot be swept"],
    );
}
