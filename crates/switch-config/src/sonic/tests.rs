use proptest::prelude::*;

use lowtide_units::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::configuration::{Content, Placement};
use crate::error::ConfigError;
use crate::settings::{
    Buffer, MAX_EXPONENT, MIN_EXPONENT, Marking, NotEct, Settings, Signal, Thresholds, power_of_two,
};
use crate::{from_switch, to_switch};

const PACKET: Bytes = Bytes::new(1500);

fn place(ports: usize) -> Placement {
    let ports = (0..ports).map(|i| format!("Ethernet{}", 4 * i)).collect();
    Placement { ports, queue: 3, ..Placement::default() }
}

fn tables(settings: &Settings, place: &Placement) -> Result<Value, ConfigError> {
    match export(settings, place)?.content {
        Content::Json(tables) => Ok(tables),
        Content::Lines(lines) => panic!("SONiC has tables, not {lines}"),
    }
}

const MARK: Signal = Signal::Mark(NotEct::Drop);

fn settings() -> impl Strategy<Value = Settings> {
    let size = || (1_u64..1 << 32).prop_map(Bytes::new);
    let ramp = (1_u64..1 << 31, 1_u64..1 << 31, 1_u8..=100).prop_map(|(min, more, max_percent)| {
        Thresholds::Ramp { min: Bytes::new(min), max: Bytes::new(min + more), max_percent }
    });
    let marking = prop_oneof![
        size().prop_map(|k| Marking { thresholds: Thresholds::Step(k), signal: MARK }),
        (ramp, any::<bool>()).prop_map(|(thresholds, ecn)| {
            Marking { thresholds, signal: if ecn { MARK } else { Signal::Drop } }
        }),
    ];
    let dynamic = (MIN_EXPONENT..=MAX_EXPONENT, 1_u64..1 << 40, 0_u64..1 << 20).prop_map(
        |(exponent, pool, reserved)| Buffer::Dynamic {
            alpha: power_of_two(exponent).unwrap(),
            memory: Bytes::new(pool + 64 * reserved),
            reserved: Bytes::new(reserved),
        },
    );
    let buffer = prop_oneof![dynamic, size().prop_map(Buffer::Static)];
    (marking, buffer)
        .prop_map(|(marking, buffer)| Settings { marking: Some(marking), buffer: Some(buffer) })
}

proptest! {
    #[test]
    fn an_import_of_an_export_is_the_same_marker(settings in settings(), ports in 1_usize..=64) {
        let json = tables(&settings, &place(ports)).unwrap();
        let text = serde_json::to_string(&json).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        let marking = Settings { buffer: None, ..settings };
        prop_assert_eq!(import(std::slice::from_ref(&read), None, None).unwrap().settings, marking);
        prop_assert_eq!(import(&[read], Some("Ethernet0"), Some(3)).unwrap().settings, marking);
        prop_assert_eq!(from_switch(VENDOR, &to_switch(&settings), PACKET).unwrap(), settings);
    }

    #[test]
    fn an_import_of_a_merged_export_has_its_alpha(settings in settings()) {
        let place = Placement { ports: vec!["Ethernet4".to_owned()], ..Placement::default() };
        let merged = merged(&settings, &place, &switch_of_two_kinds(), true).unwrap();
        let read = import(&[merged], Some("Ethernet4"), Some(0)).unwrap().settings;
        prop_assert_eq!(read.marking, settings.marking);
        let alpha = |settings: Settings| match settings.buffer {
            Some(Buffer::Dynamic { alpha, .. }) => Some(alpha),
            _ => None,
        };
        prop_assert_eq!(alpha(read), alpha(settings).or(power_of_two(3)));
    }

    #[test]
    fn damaged_tables_never_panic(
        table in "(WRED_PROFILE|QUEUE|BUFFER_QUEUE|BUFFER_PROFILE|BUFFER_POOL|X)",
        entry in "[A-Za-z0-9|,\\-\\[\\]]{0,12}",
        field in "(wred_profile|profile|ecn|size|pool|dynamic_th|static_th|green_min_threshold)",
        value in "[-A-Za-z0-9_|\\[\\]]{0,12}",
    ) {
        let mut json = tables(&sample(), &place(2)).unwrap();
        json[table][entry][field] = Value::String(value);
        let _ = import(&[json.clone()], None, None);
        let _ = merge(&sample(), &place(1), &json, true);
    }
}

/// A scenario refuses `not-ect` with `signal = "drop"`.
#[test]
fn drops_without_ecn_have_no_rule_for_other_packets() {
    let (min, max) = (Bytes::new(30_000), Bytes::new(90_000));
    let thresholds = Thresholds::Ramp { min, max, max_percent: 10 };
    let marking = Some(Marking { thresholds, signal: Signal::Drop });
    let switch = to_switch(&Settings { marking, buffer: None });
    assert_eq!(switch["mark"]["signal"].as_str(), Some("drop"));
    assert!(!switch["mark"].as_table().unwrap().contains_key("not-ect"));
}

fn sample() -> Settings {
    let thresholds = Thresholds::Step(Bytes::new(97_500));
    let (memory, reserved) = (Bytes::new(16_000_000), Bytes::new(1518));
    let buffer = Buffer::Dynamic { alpha: power_of_two(-2).unwrap(), memory, reserved };
    Settings { marking: Some(Marking { thresholds, signal: MARK }), buffer: Some(buffer) }
}

fn merged(
    settings: &Settings,
    place: &Placement,
    present: &Value,
    replace: bool,
) -> Result<Value, ConfigError> {
    match merge(settings, place, present, replace)?.content {
        Content::Json(tables) => Ok(tables),
        Content::Lines(lines) => panic!("SONiC has tables, not {lines}"),
    }
}

#[test]
fn an_export_has_a_marker_and_its_queues_and_no_buffer() {
    let json = tables(&sample(), &place(2)).unwrap();
    let names: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(names, ["WRED_PROFILE", "QUEUE"]);
    let wred = &json["WRED_PROFILE"][PROFILE];
    assert_eq!(wred["ecn"], "ecn_all");
    assert_eq!(
        (&wred["green_min_threshold"], &wred["green_max_threshold"]),
        (&json!("97500"), &json!("97500"))
    );
    assert_eq!(json["QUEUE"]["Ethernet4|3"]["wred_profile"], PROFILE);
    let notes = export(&sample(), &place(2)).unwrap().notes.join(" ");
    assert!(notes.contains("The buffer was not touched"), "{notes}");
    let none = Settings { marking: None, ..sample() };
    assert!(export(&none, &place(1)).unwrap_err().to_string().contains("no marker"));
}

/// As a switch with lossless queues has it, in the references of older releases.
fn switch_of_two_kinds() -> Value {
    json!({
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": {
                "wred_green_enable": "true", "ecn": "ecn_all", "green_min_threshold": "1048576",
                "green_max_threshold": "2097152", "green_drop_probability": "5",
            },
            "WEB": {
                "wred_green_enable": "true", "ecn": "ecn_all", "green_min_threshold": " 97500",
                "green_max_threshold": 97500,
            },
        },
        "QUEUE": {
            "Ethernet0,Ethernet4|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"},
            "Ethernet0|0": {"wred_profile": "WEB", "scheduler": "scheduler.0"},
            "Ethernet4|0-1": {"scheduler": "scheduler.0"},
            "CPU|0": {"scheduler": "scheduler.2"},
        },
        "BUFFER_POOL": {
            "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "32000000"},
            "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "20000000"},
            "ingress_lossy_pool": {"type": "ingress", "mode": "dynamic", "size": "20000000"},
        },
        "BUFFER_PROFILE": {
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "32000000"},
            "egress_lossy_profile": {"pool": "[BUFFER_POOL|egress_lossy_pool]", "size": "1000", "dynamic_th": "3"},
        },
        "BUFFER_QUEUE": {
            "Ethernet0,Ethernet4|3-4": {"profile": "egress_lossless_profile"},
            "Ethernet0|0-2": {"profile": "egress_lossy_profile"},
            "Ethernet4|0-2": {"profile": "egress_lossy_profile"},
        },
        "PORT": {"Ethernet0": {"lanes": "1,2", "speed": "25000"}, "Ethernet4": {"lanes": ["x"]}},
    })
}

#[test]
fn queues_that_differ_are_named_and_chosen() {
    let file = [switch_of_two_kinds()];
    let error = |port, queue| import(&file, port, queue).unwrap_err().to_string();
    assert_eq!(
        error(None, None),
        "the queues differ: Ethernet0|1,2 has WRED profile none and buffer profile \
         egress_lossy_profile; Ethernet0|3,4 has WRED profile AZURE_LOSSLESS and buffer profile \
         egress_lossless_profile; Ethernet0|0 has WRED profile WEB and buffer profile \
         egress_lossy_profile; choose one with --queue"
    );
    let of_ports = error(None, Some(0));
    assert!(of_ports.contains("Ethernet4|0 has WRED profile none"), "{of_ports}");
    assert!(of_ports.ends_with("choose one with --port"), "{of_ports}");
    assert_eq!(
        error(Some("Ethernet0"), Some(7)),
        "QUEUE, BUFFER_QUEUE: the files have no entry of queue 7 of Ethernet0"
    );
    let of = |port, queue| import(&file, Some(port), Some(queue)).unwrap();
    let lossless = import(&file, None, Some(4)).unwrap().settings;
    let thresholds =
        Thresholds::Ramp { min: Bytes::new(1_048_576), max: Bytes::new(2_097_152), max_percent: 5 };
    assert_eq!(lossless.marking, Some(Marking { thresholds, signal: MARK }));
    assert_eq!(lossless.buffer, Some(Buffer::Static(Bytes::new(32_000_000))));
    let lossy = of("Ethernet0", 0).settings;
    let (memory, reserved) = (Bytes::new(20_002_000), Bytes::new(1000));
    assert_eq!(
        lossy.buffer,
        Some(Buffer::Dynamic { alpha: power_of_two(3).unwrap(), memory, reserved })
    );
    assert_eq!(lossy.marking.map(|m| m.thresholds), Some(Thresholds::Step(Bytes::new(97_500))));
    // Neither key enables WRED for green packets.
    let mut off = switch_of_two_kinds();
    off["WRED_PROFILE"]["WEB"] = json!({"wred_green_enable": "false", "ecn": "ecn_none"});
    assert_eq!(import(&[off], Some("Ethernet0"), Some(0)).unwrap().settings.marking, None);
    // A profile that is not bound is no marker.
    let unbound = of("Ethernet4", 1);
    assert_eq!(unbound.settings.marking, None);
    assert_eq!(
        unbound.notes,
        ["QUEUE binds no profile to this queue: no marker; WRED_PROFILE has AZURE_LOSSLESS, WEB"]
    );
}

#[test]
fn a_merge_changes_the_chosen_queues_only() {
    let present = switch_of_two_kinds();
    let ports = vec!["Ethernet4".to_owned()];
    let place = Placement { ports, queue: 1, ..Placement::default() };
    let merged = merge(&sample(), &place, &present, false).unwrap();
    let Content::Json(whole) = merged.content else { panic!("SONiC has tables") };
    let mut expected = present.clone();
    let scheduler = json!({"scheduler": "scheduler.0"});
    let queues = expected["QUEUE"].as_object_mut().unwrap();
    queues.remove("Ethernet4|0-1");
    queues.insert("Ethernet4|0".to_owned(), scheduler);
    let both = json!({"scheduler": "scheduler.0", "wred_profile": "LOWTIDE"});
    queues.insert("Ethernet4|1".to_owned(), both);
    let buffers = expected["BUFFER_QUEUE"].as_object_mut().unwrap();
    let lossy = buffers.remove("Ethernet4|0-2").unwrap();
    buffers.insert("Ethernet4|0".to_owned(), lossy.clone());
    buffers.insert("Ethernet4|1".to_owned(), json!({"profile": "LOWTIDE_ALPHA_1_4"}));
    buffers.insert("Ethernet4|2".to_owned(), lossy);
    let mut own = expected["BUFFER_PROFILE"]["egress_lossy_profile"].clone();
    own["dynamic_th"] = json!("-2");
    expected["BUFFER_PROFILE"]["LOWTIDE_ALPHA_1_4"] = own;
    expected["WRED_PROFILE"]["LOWTIDE"] = whole["WRED_PROFILE"]["LOWTIDE"].clone();
    assert_eq!(whole, expected);
    let changed = merged.notes.iter().filter(|n| n.starts_with(['+', '-'])).count();
    assert_eq!(changed, 9, "{:#?}", merged.notes);
    // Once more changes nothing.
    let again = merge(&sample(), &place, &whole, false).unwrap();
    assert_eq!(again.content, Content::Json(whole));
    assert!(!again.notes.iter().any(|n| n.starts_with(['+', '-'])), "{:#?}", again.notes);
}

#[test]
fn a_range_is_the_ports_that_the_switch_has() {
    let merged = |ports: &[&str]| {
        let ports = ports.iter().map(|port| (*port).to_owned()).collect();
        let place = Placement { ports, queue: 1, ..Placement::default() };
        merge(&sample(), &place, &switch_of_two_kinds(), true).unwrap()
    };
    assert_eq!(merged(&["Ethernet0-4"]), merged(&["Ethernet0", "Ethernet4"]));
    assert_eq!(merged(&["Ethernet1-60"]), merged(&["Ethernet4"]));
    let place = Placement { ports: vec!["Ethernet0-188".to_owned()], ..Placement::default() };
    let error = export(&sample(), &place).unwrap_err().to_string();
    assert!(error.contains("`Ethernet0-188` has is in the switch's table PORT"), "{error}");
}

#[test]
fn a_merge_that_would_touch_others_is_refused() {
    let fifth = "buffer = \"dynamic\"\nmemory = \"4 MB\"\nalpha = \"1/5\"\n\
                 mark = { kind = \"step\", k = \"65 pkt\", not-ect = \"drop\" }";
    let fifth = from_switch(VENDOR, &fifth.parse().unwrap(), PACKET).unwrap();
    let place = Placement { ports: vec!["Ethernet4".to_owned()], ..Placement::default() };
    let error = merge(&fifth, &place, &switch_of_two_kinds(), false).unwrap_err().to_string();
    assert!(error.contains("alpha is a power of two"), "{error}");
    let refused = |ports: &[&str], queue, change: &dyn Fn(&mut Value)| {
        let ports = ports.iter().map(|port| (*port).to_owned()).collect();
        let mut present = switch_of_two_kinds();
        change(&mut present);
        let place = Placement { ports, queue, ..Placement::default() };
        merge(&sample(), &place, &present, false).unwrap_err().to_string()
    };
    let same = |_: &mut Value| {};
    for (error, message) in [
        (refused(&["Ethernet0"], 0, &same), "QUEUE|Ethernet0: queue 0 has the WRED profile WEB"),
        (refused(&["Ethernet8"], 0, &same), "no port `Ethernet8`: its table PORT has 2"),
        (refused(&["Ethernet8-60"], 0, &same), "no ports of the range `Ethernet8-60`"),
        (refused(&[], 0, &same), "name the ports whose queue changes"),
        (
            refused(&["Ethernet4"], 0, &|f| f["QUEUE"]["Ethernet4|0"] = json!({})),
            "QUEUE|Ethernet4|0: QUEUE|Ethernet4|0-1 covers queue 0 of Ethernet4 too: remove one",
        ),
        (
            refused(&["Ethernet4"], 0, &|f| {
                f["BUFFER_POOL"]["egress_lossy_pool"]["mode"] = json!("static");
            }),
            "BUFFER_POOL|egress_lossy_pool|mode: the pool of queue 0 is not dynamic",
        ),
        (
            refused(&["Ethernet4"], 7, &same),
            "BUFFER_QUEUE|Ethernet4: queue 7 has no buffer profile",
        ),
        (
            refused(&["Ethernet4"], 0, &|f| {
                f["WRED_PROFILE"]["LOWTIDE"] = json!({});
                f["QUEUE"]["Ethernet0|7"] = json!({"wred_profile": "LOWTIDE"});
            }),
            "WRED_PROFILE|LOWTIDE: it has other values, and QUEUE|Ethernet0|7 uses it",
        ),
        (
            refused(&["Ethernet4"], 0, &|f| {
                f["DEVICE_METADATA"] = json!({"localhost": {"switch_type": "voq"}});
            }),
            "virtual output queues",
        ),
    ] {
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn wrong_tables_are_refused_with_what_would_be_right() {
    let with = |path: &str, value: Value| {
        let mut file = switch_of_two_kinds();
        *file.pointer_mut(path).unwrap() = value;
        import(&[file], Some("Ethernet0"), Some(0)).unwrap_err().to_string()
    };
    for (path, value, message) in [
        (
            "/WRED_PROFILE/WEB/green_max_threshold",
            json!("90000"),
            "90000 is below green_min_threshold, 97500",
        ),
        ("/WRED_PROFILE/WEB/ecn", json!("all"), "`all` is none of ecn_all, ecn_green"),
        ("/WRED_PROFILE/WEB/ecn", json!("ecn_none"), "a sharp limit is a buffer"),
        ("/WRED_PROFILE/WEB/green_min_threshold", json!("64k"), "`64k` is no number of bytes"),
        ("/BUFFER_PROFILE/egress_lossy_profile/dynamic_th", json!("7"), "expected -7 to 6"),
        (
            "/BUFFER_PROFILE/egress_lossy_profile/pool",
            json!("gone"),
            "BUFFER_POOL|gone: the files do not have",
        ),
        ("/QUEUE", json!({"Ethernet0": {"wred_profile": "WEB"}}), "expected PORT|QUEUE"),
        ("/WRED_PROFILE", json!([]), "WRED_PROFILE: expected an object"),
        (
            "/WRED_PROFILE/WEB/wred_green_enable",
            json!("false"),
            "WRED_PROFILE|WEB|wred_green_enable: it is not `true`, but `ecn` is `ecn_all`",
        ),
    ] {
        let error = with(path, value);
        assert!(error.contains(message), "{path}: {error}");
    }
    for field in ["ecn_green_min_threshold", "green_ect_min_threshold"] {
        let mut two_thresholds = switch_of_two_kinds();
        two_thresholds["WRED_PROFILE"]["WEB"][field] = json!("30000");
        let error = import(&[two_thresholds], Some("Ethernet0"), Some(0)).unwrap_err().to_string();
        assert!(error.contains(&format!("WEB|{field}: thresholds of marks")), "{error}");
    }
    let two = [switch_of_two_kinds(), json!({"PORT": {"Ethernet0": {"speed": "100000"}}})];
    assert_eq!(
        import(&two, None, Some(0)),
        Err(ConfigError::Conflict("PORT|Ethernet0".to_owned()))
    );
    assert!(import(&[json!({})], None, None).unwrap_err().to_string().contains("no entry"));
}

#[test]
fn settings_that_sonic_lacks_are_refused() {
    for (toml, message) in [
        ("buffer = \"100 pkt\"\nmark = { kind = \"pie\" }", "WRED has no `pie`"),
        (
            "buffer = \"100 pkt\"\nmark = { kind = \"step\", k = \"20 pkt\" }",
            "`not-ect = \"drop\"`",
        ),
        ("buffer = \"100 pkt\"\nclass = { a = {} }", "several classes"),
        (
            "buffer = \"100 pkt\"\nmark = { kind = \"red\", min = \"5 pkt\", max = \"9 pkt\", weight = 9 }",
            "instantaneous queue",
        ),
    ] {
        let settings = from_switch(VENDOR, &toml.parse().unwrap(), PACKET);
        let error = settings.and_then(|s| export(&s, &place(1))).unwrap_err().to_string();
        assert!(error.contains(message), "{toml}: {error}");
    }
    let packets =
        "buffer = \"100 pkt\"\nmark = { kind = \"step\", k = \"65 pkt\", not-ect = \"drop\" }";
    let settings = from_switch(VENDOR, &packets.parse().unwrap(), PACKET).unwrap();
    assert_eq!(settings.marking.map(|m| m.thresholds), sample().marking.map(|m| m.thresholds));
}
