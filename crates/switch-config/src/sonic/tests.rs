use proptest::prelude::*;

use super::*;
use crate::{from_switch, to_switch};

const PACKET: Bytes = Bytes::new(1500);

fn place(ports: usize) -> Placement {
    let ports = (0..ports).map(|i| format!("Ethernet{}", 4 * i)).collect();
    Placement { ports, queue: 3, queue_memory: None }
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
    (prop::option::of(marking), buffer)
        .prop_map(|(marking, buffer)| Settings { marking, buffer: Some(buffer) })
}

proptest! {
    #[test]
    fn an_import_of_an_export_is_the_same_switch(settings in settings(), ports in 1_usize..=64) {
        let json = tables(&settings, &place(ports)).unwrap();
        let text = serde_json::to_string(&json).unwrap();
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(import(std::slice::from_ref(&read), None).unwrap(), settings);
        prop_assert_eq!(import(&[read], Some(3)).unwrap(), settings);
        prop_assert_eq!(from_switch(VENDOR, &to_switch(&settings), PACKET).unwrap(), settings);
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
        let _ = import(&[json], None);
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

#[test]
fn a_switch_has_the_tables_that_sonic_reads() {
    let json = tables(&sample(), &place(2)).unwrap();
    let wred = &json["WRED_PROFILE"][WRED];
    assert_eq!(wred["ecn"], "ecn_all");
    assert_eq!(
        (&wred["green_min_threshold"], &wred["green_max_threshold"]),
        (&json!("97500"), &json!("97500"))
    );
    assert_eq!(json["QUEUE"]["Ethernet4|3"]["wred_profile"], WRED);
    assert_eq!(json["BUFFER_PROFILE"][BUFFER_PROFILE]["dynamic_th"], "-2");
    // The pool is without the memory that is reserved for two ports.
    assert_eq!(json["BUFFER_POOL"][BUFFER_POOL]["size"], (16_000_000 - 2 * 1518).to_string());
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
                "wred_green_enable": "true", "ecn": "ecn_all", "green_min_threshold": 97500,
                "green_max_threshold": 97500,
            },
        },
        "QUEUE": {
            "Ethernet0,Ethernet4|3-4": {"wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]"},
            "Ethernet0|0": {"wred_profile": "WEB", "scheduler": "scheduler.0"},
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
            "Ethernet0,Ethernet4|0-2": {"profile": "egress_lossy_profile"},
        },
        "PORT": {"Ethernet0": {"lanes": "1,2", "speed": "25000"}, "Ethernet4": {"lanes": ["x"]}},
    })
}

#[test]
fn queues_that_differ_are_named_and_chosen() {
    let file = [switch_of_two_kinds()];
    let error = import(&file, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "the queues differ: QUEUE 3-4 (AZURE_LOSSLESS); 0 (WEB); choose one with --queue"
    );
    let lossless = import(&file, Some(4)).unwrap();
    let thresholds =
        Thresholds::Ramp { min: Bytes::new(1_048_576), max: Bytes::new(2_097_152), max_percent: 5 };
    assert_eq!(lossless.marking, Some(Marking { thresholds, signal: MARK }));
    assert_eq!(lossless.buffer, Some(Buffer::Static(Bytes::new(32_000_000))));
    let lossy = import(&file, Some(0)).unwrap();
    let (memory, reserved) = (Bytes::new(20_002_000), Bytes::new(1000));
    assert_eq!(
        lossy.buffer,
        Some(Buffer::Dynamic { alpha: power_of_two(3).unwrap(), memory, reserved })
    );
    assert_eq!(lossy.marking.map(|m| m.thresholds), Some(Thresholds::Step(Bytes::new(97_500))));
    // Neither key enables WRED for green packets.
    let mut off = switch_of_two_kinds();
    off["WRED_PROFILE"]["WEB"] = json!({"wred_green_enable": "false", "ecn": "ecn_none"});
    assert_eq!(import(&[off], Some(0)).unwrap().marking, None);
    // A queue without WRED.
    assert_eq!(import(&file, Some(2)).unwrap().marking, None);
}

#[test]
fn wrong_tables_are_refused_with_what_would_be_right() {
    let with = |path: &str, value: Value| {
        let mut file = switch_of_two_kinds();
        *file.pointer_mut(path).unwrap() = value;
        import(&[file], Some(0)).unwrap_err().to_string()
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
        let error = import(&[two_thresholds], Some(0)).unwrap_err().to_string();
        assert!(error.contains(&format!("WEB|{field}: thresholds of marks")), "{error}");
    }
    let two = [switch_of_two_kinds(), json!({"PORT": {"Ethernet0": {"speed": "100000"}}})];
    assert_eq!(import(&two, Some(0)), Err(ConfigError::Conflict("PORT|Ethernet0".to_owned())));
    assert!(import(&[json!({})], None).unwrap_err().to_string().contains("neither table"));
}

#[test]
fn settings_that_sonic_lacks_are_refused() {
    for (toml, message) in [
        ("buffer = \"dynamic\"\nmemory = \"4 MB\"\nalpha = \"1/5\"", "alpha is a power of two"),
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
    let (memory, reserved) = (Bytes::new(1000), Bytes::new(600));
    let tight = Buffer::Dynamic { alpha: power_of_two(0).unwrap(), memory, reserved };
    let error = export(&Settings { marking: None, buffer: Some(tight) }, &place(2)).unwrap_err();
    assert!(error.to_string().contains("for each of 2 ports exceed 1 kB"), "{error}");
}
