//! The configuration of each switch: complete texts, the documents' grammar, rounding, refusals.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use lowtide_switch_config::{
    Buffer, Configuration, Content, Marking, NotEct, Placement, Settings, Signal, Thresholds,
    Vendor, export, from_switch,
};
use lowtide_units::{Bytes, Ratio};
use proptest::prelude::*;

const PACKET: Bytes = Bytes::new(1500);

fn settings(vendor: Vendor, switch: &str) -> Settings {
    from_switch(vendor, &switch.parse().unwrap(), PACKET).unwrap()
}

fn lines(configuration: &Configuration) -> &str {
    match &configuration.content {
        Content::Lines(lines) => lines,
        Content::Json(tables) => panic!("expected lines, not {tables}"),
    }
}

const DYNAMIC: &str = "buffer = \"dynamic\"\nmemory = \"16 MB\"\nalpha = \"1/4\"\n";
const STEP: &str = "mark = { kind = \"step\", k = \"65 pkt\", not-ect = \"drop\" }";
const STEP_IGNORE: &str = "mark = { kind = \"step\", k = \"65 pkt\" }";
const RED: &str = "mark = { kind = \"red\", min = \"30 kB\", max = \"90 kB\", max-p = \"10 %\", \
                   weight = 0, signal = \"mark\", not-ect = \"drop\" }";
const RED_DROPS: &str = "mark = { kind = \"red\", min = \"30 kB\", max = \"90 kB\", \
                         max-p = \"10 %\", weight = 0, signal = \"drop\" }";

/// Every command has the form of an example in the guide or the NVUE reference.
fn is_nvue(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |text: &str| text.parse::<u64>().is_ok();
    match words.as_slice() {
        ["nv", "config", "apply"]
        | ["nv", "set", "interface", _, "qos", "congestion-control", "profile", _] => true,
        ["nv", "set", "qos", "congestion-control", _, "traffic-class", class, key, value] => {
            number(class)
                && match *key {
                    "ecn" | "red" => ["enable", "disable"].contains(value),
                    "min-threshold" | "max-threshold" => number(value),
                    "probability" => {
                        value.parse::<u8>().is_ok_and(|percent| (1..=100).contains(&percent))
                    }
                    _ => false,
                }
        }
        [
            "nv",
            "set",
            "qos",
            "advance-buffer-config",
            "default-global",
            "egress-lossy-buffer",
            "traffic-class",
            class,
            key,
            value,
        ] => {
            number(class)
                && match *key {
                    "reserved" => number(value),
                    "shared-alpha" => ALPHAS.contains(value),
                    _ => false,
                }
        }
        _ => false,
    }
}

/// The guide's list, without zero and infinity.
const ALPHAS: [&str; 14] = [
    "alpha_1_128",
    "alpha_1_64",
    "alpha_1_32",
    "alpha_1_16",
    "alpha_1_8",
    "alpha_1_4",
    "alpha_1_2",
    "alpha_1",
    "alpha_2",
    "alpha_4",
    "alpha_8",
    "alpha_16",
    "alpha_32",
    "alpha_64",
];

#[test]
fn cumulus_has_bytes_and_a_switch_for_packets_that_are_not_ect() {
    let with_reserve = format!("{DYNAMIC}reserved = \"3 kB\"\n{STEP}");
    let place = Placement {
        ports: vec!["swp1".to_owned(), "swp2".to_owned()],
        queue: 3,
        ..Placement::default()
    };
    let step = export(Vendor::Cumulus, &settings(Vendor::Cumulus, &with_reserve), &place).unwrap();
    assert_eq!(
        lines(&step),
        "nv set qos congestion-control lowtide traffic-class 3 ecn enable\n\
         nv set qos congestion-control lowtide traffic-class 3 red enable\n\
         nv set qos congestion-control lowtide traffic-class 3 min-threshold 97500\n\
         nv set qos congestion-control lowtide traffic-class 3 max-threshold 97500\n\
         nv set qos congestion-control lowtide traffic-class 3 probability 100\n\
         nv set interface swp1,swp2 qos congestion-control profile lowtide\n\
         nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 3 \
         shared-alpha alpha_1_4\n\
         nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class 3 \
         reserved 3000\n\
         nv config apply\n"
    );
    for (mark, ecn, red, note) in [
        (STEP_IGNORE, "enable", "disable", "only when the buffer is full"),
        (RED, "enable", "enable", "where others are marked"),
        (RED_DROPS, "disable", "enable", "All packets are dropped by RED"),
        ("mark = { kind = \"droptail\" }", "disable", "disable", "memory of 16 MB"),
    ] {
        let settings = settings(Vendor::Cumulus, &format!("{DYNAMIC}{mark}"));
        let configuration = export(Vendor::Cumulus, &settings, &Placement::default()).unwrap();
        let text = lines(&configuration);
        assert!(text.contains(&format!("traffic-class 0 ecn {ecn}\n")), "{mark}: {text}");
        assert!(text.contains(&format!("traffic-class 0 red {red}\n")), "{mark}: {text}");
        assert!(text.lines().all(is_nvue), "{text}");
        assert!(configuration.file().contains(note), "{mark}: {}", configuration.file());
    }
}

#[test]
fn nxos_has_whole_kbytes() {
    let place = Placement { queue: 3, ..Placement::default() };
    let step = export(Vendor::Nxos, &settings(Vendor::Nxos, &format!("{DYNAMIC}{STEP}")), &place);
    let step = step.unwrap();
    assert_eq!(
        lines(&step),
        "policy-map type queuing lowtide\n  class type queuing c-out-8q-q3\n    random-detect \
         minimum-threshold 98 kbytes maximum-threshold 98 kbytes drop-probability 100 weight 0 \
         ecn\n"
    );
    let file = step.file();
    assert!(file.contains("! The minimum threshold is 97500 B in the scenario and 98 kB here"));
    assert!(file.contains("! Packets that are not ECT are dropped where others are marked"));
    assert!(file.contains("its alpha, is not exported: set it by hand with queue-limit dynamic N"));
    assert!(file.contains("sample for a lossless RDMA class"));
    assert!(file.contains("the thresholds are 2.4 % larger"));
    // Without ports the policy is attached to nothing.
    assert!(file.contains("into the class of the existing queuing policy"));
    let ports = vec!["Ethernet1/1".to_owned(), "Ethernet1/2".to_owned()];
    let place = Placement { ports, ..place };
    let attached = settings(Vendor::Nxos, &format!("{DYNAMIC}{STEP}"));
    let attached = export(Vendor::Nxos, &attached, &place).unwrap();
    assert_eq!(
        lines(&attached).strip_prefix(lines(&step)),
        Some(
            "interface Ethernet1/1\n  service-policy type queuing output lowtide\n\
             interface Ethernet1/2\n  service-policy type queuing output lowtide\n"
        )
    );
    let warned = attached.file();
    assert!(warned.contains("replaces the existing queuing policy of these ports"), "{warned}");
    assert!(warned.contains("Changes of queuing are disruptive"), "{warned}");
    let red = settings(Vendor::Nxos, &format!("{DYNAMIC}{RED}"));
    let red = export(Vendor::Nxos, &red, &Placement::default()).unwrap();
    assert!(lines(&red).ends_with(
        "class type queuing c-out-8q-q-default\n    random-detect minimum-threshold 30 kbytes \
         maximum-threshold 90 kbytes drop-probability 10 weight 0 ecn\n"
    ));
    assert!(!red.file().contains("threshold is"), "{}", red.file());
    assert!(red.file().contains("Changes of queuing are disruptive"), "{}", red.file());
    let drops = settings(Vendor::Nxos, &format!("{DYNAMIC}{RED_DROPS}"));
    let drops = export(Vendor::Nxos, &drops, &Placement::default()).unwrap();
    assert!(lines(&drops).ends_with("weight 0\n"), "{}", lines(&drops));
}

#[test]
fn junos_has_two_fill_levels() {
    let memory = Some(Bytes::new(400_000));
    let ports = vec!["et-0/0/0".to_owned(), "et-0/0/1".to_owned()];
    let place = Placement { ports, queue: 4, queue_memory: memory, ..Placement::default() };
    let step = settings(Vendor::Junos, &format!("{DYNAMIC}{STEP}"));
    let step = export(Vendor::Junos, &step, &place).unwrap();
    assert_eq!(
        lines(&step),
        "class-of-service {
    drop-profiles {
        lowtide {
            interpolate {
                fill-level [ 24 25 ];
                drop-probability [ 0 100 ];
            }
        }
    }
    schedulers {
        existing-scheduler {
            drop-profile-map loss-priority any protocol any drop-profile lowtide;
            explicit-congestion-notification;
        }
    }
}
"
    );
    assert!(step.file().contains(
        "/* K is 97500 B in the scenario. The effective range of K here is 96 kB to 100 kB, 24 to \
         25 % of a queue memory of 400 kB. Fill levels are whole percentages, so 4 kB is the whole \
         resolution. */"
    ));
    assert!(step.file().contains("only QFX3500, QFX3600, QFX5100 and EX4600 do so"));
    // The scheduler-map of a port has the schedulers of all its queues.
    assert!(!lines(&step).contains("scheduler-map"), "{}", lines(&step));
    assert!(step.file().contains(
        "replace `existing-scheduler` by the scheduler of queue 4 in the existing scheduler-map of \
         et-0/0/0, et-0/0/1. Do not bind a new scheduler-map"
    ));
    assert!(step.file().contains("Port scheduling only"), "{}", step.file());
    assert!(step.file().contains("buffer-dynamic-threshold"), "{}", step.file());
    // A fixed limit is the memory of the queue.
    let fixed = settings(Vendor::Junos, &format!("buffer = \"300 kB\"\n{RED_DROPS}"));
    let fixed = export(Vendor::Junos, &fixed, &Placement::default()).unwrap();
    assert!(lines(&fixed).contains("fill-level [ 10 30 ];\n"), "{}", lines(&fixed));
    assert!(lines(&fixed).contains("drop-probability [ 0 10 ];\n"), "{}", lines(&fixed));
    assert!(!lines(&fixed).contains("explicit-congestion"), "{}", lines(&fixed));
    let ignored = settings(Vendor::Junos, &format!("buffer = \"300 kB\"\n{STEP_IGNORE}"));
    let ignored = export(Vendor::Junos, &ignored, &Placement::default()).unwrap().file();
    assert!(ignored.contains("dropped only when the queue is full"), "{ignored}");
}

#[test]
fn every_configuration_names_its_documents() {
    let page = include_str!("../../../docs/howto/switches.md");
    let (_, sources) = page.split_once("\n## Sources\n").expect("a table of documents");
    let memory = Some(Bytes::new(400_000));
    for vendor in Vendor::ALL {
        let junos = vendor == Vendor::Junos;
        let place = Placement { queue_memory: memory.filter(|_| junos), ..Placement::default() };
        let settings = settings(vendor, &format!("{DYNAMIC}{STEP}"));
        let configuration = export(vendor, &settings, &place).unwrap();
        assert!(configuration.notes[0].starts_with("Untested on hardware"), "{vendor}");
        assert!(configuration.notes.iter().any(|note| note.contains("SYN, SYN-ACK, pure ACKs")));
        assert!(configuration.notes.iter().any(|note| note.contains("2 to 10 % fewer packets")));
        assert!(configuration.notes[1].ends_with("docs/howto/switches.md#sources"), "{vendor}");
        let name = vendor.title().trim_start_matches("Cisco ").trim_start_matches("Juniper ");
        let rows = sources.lines().filter(|row| row.starts_with(&format!("| {name} | ")));
        assert!(rows.clone().count() > 1 && rows.clone().all(|row| row.contains("https://")));
        let rule = configuration.notes.iter().any(|note| {
            note.contains("packets that are not ECT") || note.contains("Packets that are not ECT")
        });
        assert!(rule, "{vendor}: {:?}", configuration.notes);
        if vendor != Vendor::Sonic {
            let file = configuration.file();
            let comments = file.lines().take(configuration.notes.len());
            let mark = if junos { "/* " } else { &file[..2] };
            assert!(comments.into_iter().all(|line| line.starts_with(mark)), "{file}");
            assert!(file.ends_with(lines(&configuration)));
        }
    }
}

#[test]
fn settings_that_a_switch_lacks_are_refused() {
    let queue = |queue| Placement { queue, ..Placement::default() };
    let memory =
        |bytes| Placement { queue_memory: Some(Bytes::new(bytes)), ..Placement::default() };
    let fifth = "buffer = \"dynamic\"\nmemory = \"16 MB\"\nalpha = \"1/5\"\n";
    let tiny = "mark = { kind = \"step\", k = \"400 B\", not-ect = \"drop\" }";
    for (vendor, buffer, mark, place, message) in [
        (Vendor::Cumulus, fifth, STEP, queue(0), "`alpha`: alpha is a power of two from 1/128"),
        (Vendor::Cumulus, DYNAMIC, STEP, queue(8), "queues are 0 to 7, not 8"),
        (Vendor::Cumulus, DYNAMIC, STEP, memory(9), "leave out --queue-memory"),
        (Vendor::Nxos, DYNAMIC, STEP_IGNORE, queue(0), "simulate `not-ect = \"drop\"`"),
        (Vendor::Nxos, DYNAMIC, tiny, queue(0), "400 B is less than half a kbyte"),
        (Vendor::Nxos, DYNAMIC, "mark = { kind = \"droptail\" }", queue(0), "without a marker"),
        (Vendor::Junos, DYNAMIC, STEP, queue(0), "state it with --queue-memory"),
        (Vendor::Junos, DYNAMIC, STEP, memory(97_500), "must be below the queue memory of 97500 B"),
        (Vendor::Junos, DYNAMIC, STEP, memory(98_484), "97500 B must be below 99 % of the queue"),
        (Vendor::Junos, DYNAMIC, RED, memory(90_900), "90 kB must be at most 99 % of the queue"),
        (Vendor::Junos, DYNAMIC, STEP, memory(10_000_000), "less than one percent"),
        (Vendor::Junos, DYNAMIC, "mark = { kind = \"droptail\" }", memory(9), "without a marker"),
    ] {
        let settings = settings(vendor, &format!("{buffer}{mark}"));
        let error = export(vendor, &settings, &place).unwrap_err().to_string();
        assert!(error.starts_with(vendor.title()), "{error}");
        assert!(error.contains(message), "{vendor}, {mark}: {error}");
    }
    // Just below the last level.
    for (mark, bytes) in [(STEP, 98_485), (RED, 90_910)] {
        let settings = settings(Vendor::Junos, &format!("{DYNAMIC}{mark}"));
        let accepted = export(Vendor::Junos, &settings, &memory(bytes)).unwrap();
        assert!(lines(&accepted).contains(" 99 ];"), "{mark}: {}", lines(&accepted));
    }
    // An alpha that is no power of two is no obstacle where alpha is not exported.
    let settings = settings(Vendor::Nxos, &format!("{fifth}{STEP}"));
    assert!(export(Vendor::Nxos, &settings, &Placement::default()).is_ok());
}

/// The number after `key`.
fn number(text: &str, key: &str) -> u64 {
    let after = text.split(key).nth(1).unwrap();
    after.split([' ', '\n']).find(|word| !word.is_empty()).unwrap().parse().unwrap()
}

fn marking() -> impl Strategy<Value = Marking> {
    let step = (1_u64..1 << 32).prop_map(|k| Thresholds::Step(Bytes::new(k)));
    let ramp = (1_u64..1 << 31, 1_u64..1 << 31, 1_u8..=100).prop_map(|(min, more, max_percent)| {
        Thresholds::Ramp { min: Bytes::new(min), max: Bytes::new(min + more), max_percent }
    });
    let signal = prop_oneof![Just(Signal::Mark(NotEct::Drop)), Just(Signal::Mark(NotEct::Ignore))];
    (prop_oneof![step, ramp], signal)
        .prop_map(|(thresholds, signal)| Marking { thresholds, signal })
}

fn corners(thresholds: Thresholds) -> (u64, u64) {
    match thresholds {
        Thresholds::Step(k) => (k.as_u64(), k.as_u64()),
        Thresholds::Ramp { min, max, .. } => (min.as_u64(), max.as_u64()),
    }
}

proptest! {
    #[test]
    fn thresholds_are_within_the_stated_granularity(
        marking in marking(),
        memory in 1_u64..1 << 33,
    ) {
        let alpha = Ratio::new(1, 2).unwrap();
        let (total, reserved) = (Bytes::new(1 << 40), Bytes::new(0));
        let buffer = Some(Buffer::Dynamic { alpha, memory: total, reserved });
        let settings = Settings { marking: Some(marking), buffer };
        let (min, max) = corners(marking.thresholds);

        let cumulus = export(Vendor::Cumulus, &settings, &Placement::default()).unwrap();
        prop_assert_eq!(number(lines(&cumulus), "min-threshold "), min);
        prop_assert_eq!(number(lines(&cumulus), "max-threshold "), max);
        prop_assert!(lines(&cumulus).lines().all(is_nvue));

        if let Ok(nxos) = export(Vendor::Nxos, &settings, &Placement::default()) {
            let low = 1000 * number(lines(&nxos), "minimum-threshold ");
            let high = 1000 * number(lines(&nxos), "maximum-threshold ");
            prop_assert!(low.abs_diff(min) <= 500 && high.abs_diff(max) <= 500);
            prop_assert!(low > 0 && low <= high);
        } else {
            let drops = marking.signal == Signal::Mark(NotEct::Drop);
            prop_assert!(!drops || min < 500);
        }

        let place = Placement { queue_memory: Some(Bytes::new(memory)), ..Placement::default() };
        if let Ok(junos) = export(Vendor::Junos, &settings, &place) {
            let low = number(lines(&junos), "fill-level [ ");
            let high = number(lines(&junos), &format!("fill-level [ {low} "));
            prop_assert!(low < high && high <= 99);
            for (level, exact) in [(low, min), (high, max)] {
                let (level, exact) = (u128::from(level), 100 * u128::from(exact));
                prop_assert!((level * u128::from(memory)).abs_diff(exact) <= u128::from(memory));
            }
        } else {
            let (max, memory) = (100 * u128::from(max), u128::from(memory));
            prop_assert!(max >= 99 * memory || max < memory);
        }
    }
}

#[test]
fn ports_of_another_system_are_refused() {
    let switch = "buffer = \"dynamic\"\nmemory = \"4 MB\"\nalpha = 1\n\
                  mark = { kind = \"step\", k = \"100 kB\", not-ect = \"drop\" }"
        .parse()
        .unwrap();
    for (vendor, port) in
        [(Vendor::Sonic, "swp1"), (Vendor::Cumulus, "Ethernet0"), (Vendor::Nxos, "et-0/0/0")]
    {
        let settings = from_switch(vendor, &switch, Bytes::new(1500)).unwrap();
        let place = Placement { ports: vec![port.to_owned()], queue: 3, ..Placement::default() };
        let error = export(vendor, &settings, &place).unwrap_err().to_string();
        assert!(error.contains("is no port of it: their names begin with"), "{error}");
    }
}
