//! Markers that can never act in their buffer are rejected, others are accepted, and the network
//! agrees.

use lowtide_host::{Setup, run};
use lowtide_net::{MarkSpec, QueueLength};
use lowtide_rows::Queue;
use lowtide_scenario::Scenario;
use lowtide_schema::Value;
use lowtide_units::Bytes;

use crate::common::BASE;

/// Returns the base with these lines in [switch]; the initial window exceeds any buffer here.
fn text(switch: &str) -> String {
    let old = "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"";
    let text = BASE.replace("nagle = false", "nagle = false\ninitial-window = 60");
    text.replace(old, switch).replace("\"40 MB\"", "\"400 kB\"")
}

fn setup(switch: &str) -> Setup {
    let text = text(switch);
    let plan = Scenario::parse(&text, "t.toml")
        .and_then(|s| s.with_override("transport.scheme", "dctcp")?.expand());
    plan.unwrap_or_else(|e| panic!("{e}\n{text}")).runs[0].setup().expect("it was checked")
}

/// Returns the first error about `switch`.
#[track_caller]
fn error_text(switch: &str) -> String {
    let text = text(switch);
    let plan = Scenario::parse(&text, "t.toml").and_then(|s| s.expand());
    plan.err().unwrap_or_else(|| panic!("it was accepted:\n{switch}")).first().to_string()
}

/// Returns the queue in front of the receiver, at the end of a run.
fn bottleneck(setup: &Setup) -> Queue {
    let outcome = run(setup, &mut |_| false).expect("it runs");
    outcome.queues.into_iter().find(|q| q.name == "switch0->receivers.0").expect("it is there")
}

/// Raises the threshold `key` of a marker by one, if it has that threshold.
fn raise(mark: &mut MarkSpec, key: &'static str) {
    let mut values = mark.values().clone();
    let Some(count) = values.find_length(key) else { return };
    let count = match count {
        QueueLength::Packets(n) => QueueLength::Packets(n + 1),
        QueueLength::Bytes(n) => QueueLength::Bytes(Bytes::new(n.as_u64() + 1)),
    };
    values.set(key, Value::Length(count));
    *mark = MarkSpec::configure(mark.entry(), values).expect("the values fit each other");
}

#[test]
fn only_thresholds_up_to_the_reported_maximum_mark() {
    let buffers = [
        ("20 pkt", "18 pkt", "19 pkt", "20 pkt"),
        ("20 pkt", "28499 B", "28500 B", "28501 B"),
        ("3 pkt", "1 pkt", "2 pkt", "3 pkt"),
    ];
    for (kind, key) in [("step", "k"), ("step-dequeue", "k"), ("red", "min")] {
        for service in ["", "count-in-service = true\n"] {
            for (buffer, largest, next, max) in buffers {
                // No averaging, and every second packet between the thresholds.
                let red = format!("max = \"{max}\"\nmax-p = \"100 %\"\nweight = 0\n");
                let more = if kind == "red" { red.as_str() } else { "" };
                let with = |k: &str| {
                    format!(
                        "buffer = \"{buffer}\"\n{service}[switch.mark]\nkind = \"{kind}\"\n\
                         {key} = \"{k}\"\n{more}"
                    )
                };
                let mut setup = setup(&with(largest));
                assert!(bottleneck(&setup).served.marks > 0, "{}", with(largest));
                for link in &mut setup.network.links {
                    raise(&mut link.from_a.port.mark, key);
                    raise(&mut link.from_b.port.mark, key);
                }
                let queue = bottleneck(&setup);
                assert!(
                    queue.served.marks == 0 && queue.served.overflow_drops > 0,
                    "{}",
                    with(next)
                );
                let message = error_text(&with(next));
                for part in [
                    &format!("= {next} is never exceeded in the buffer of {buffer}"),
                    &format!("the largest `{key}` that can mark is {largest}"),
                    &format!("lower `{key}` of [switch.mark], or raise `buffer` of [switch]"),
                ] {
                    assert!(message.contains(part), "{part} in\n{message}");
                }
            }
        }
    }
}

#[test]
fn thresholds_in_other_units_are_rejected_only_if_they_never_mark() {
    let step = |buffer: &str, k: &str| {
        format!("buffer = \"{buffer}\"\n[switch.mark]\nkind = \"step\"\nk = \"{k}\"")
    };
    // The smallest packet has 40 B, so it may find 29960 B.
    setup(&step("30 kB", "29959 B"));
    let message = error_text(&step("30 kB", "29960 B"));
    assert!(message.contains("the largest `k` that can mark is 29959 B"), "{message}");
    // 19 full packets fit, but more small ones.
    setup(&step("29 kB", "19 pkt"));
    let message = error_text(&step("29 kB", "20 pkt"));
    assert!(
        message.contains("is above the buffer of 29 kB: nothing would ever be marked"),
        "{message}"
    );
    assert!(message.contains("the largest `k` that can mark is 17 pkt"), "{message}");
    let message = error_text(&step("1 pkt", "0 pkt"));
    assert!(message.contains("no `k` can mark in it: raise `buffer` of [switch]"), "{message}");
}

#[test]
fn controllers_that_never_mark_in_their_buffer_are_rejected() {
    let mark = |lines: &str| format!("buffer = \"100 pkt\"\n[switch.mark]\n{lines}");
    let assert_error = |lines: &str, parts: &[&str]| {
        let message = error_text(&mark(lines));
        for part in parts {
            assert!(message.contains(part), "{part} in\n{message}");
        }
    };
    // PI uses the queue length, which may be the whole buffer.
    setup(&mark("kind = \"pi\"\nq-ref = 99"));
    assert_error(
        "kind = \"pi\"\nq-ref = 100",
        &["q-ref = 100", "the largest `q-ref` that can mark is 99", "`buffer`"],
    );
    // A hundred packets of 1538 B on the line take 1230 us.
    setup(&mark("kind = \"codel\"\ntarget = \"1230 us\""));
    assert_error(
        "kind = \"codel\"\ntarget = \"1300 us\"",
        &[
            "no packet waits `target` = 1300 us",
            "the largest `target` that can mark is 12",
            "raise `buffer` of [switch]",
        ],
    );
    assert_error("kind = \"codel\"", &["`target` = 5 ms", "nothing would ever be marked"]);
    setup(&mark("kind = \"pie\"\ntarget = \"2400 us\""));
    assert_error("kind = \"pie\"\ntarget = \"2500 us\"", &["half of `target` = 2500 us", "is 24"]);
    // With this gain the probability reaches 20 % at any delay.
    setup(&mark("kind = \"pie\"\ntarget = \"2500 us\"\nbeta = 200"));
    setup(&mark("kind = \"phantom\"\nk = \"3 kB\"\ngamma = \"99 %\""));
    assert_error(
        "kind = \"phantom\"\nk = \"3 kB\"\ngamma = \"100 %\"",
        &["`gamma` = 100 %", "nothing would ever be marked", "lower `gamma`; HULL has 95 %"],
    );
    setup("buffer = \"unlimited\"\n[switch.mark]\nkind = \"codel\"");
}

#[test]
fn a_dynamic_buffer_is_checked_against_its_largest_share() {
    let dynamic = |k: &str| {
        format!(
            "buffer = \"dynamic\"\nmemory = \"400 kB\"\nalpha = 1\n[switch.mark]\nkind = \"step\"\nk = \"{k}\""
        )
    };
    setup(&dynamic("199999 B"));
    let message = error_text(&dynamic("200 kB"));
    for part in ["the 200 kB that a single active port may take", "raise `alpha` or `memory`"] {
        assert!(message.contains(part), "{part} in\n{message}");
    }
}

#[test]
fn classes_and_pipes_are_checked_too() {
    let class = "buffer = \"100 pkt\"\n[switch.class.fast]\nbuffer = \"10 pkt\"\n[switch.class.fast.mark]\nkind = \"step\"\nk = \"9 pkt\"";
    let message = error_text(class);
    assert!(message.contains("lower `k` of [switch.class.fast.mark]"), "{message}");
    let plain = "buffer = \"100 pkt\"\n[switch.mark]\nkind = \"step\"\nk = \"20 pkt\"";
    let pipe = format!(
        "{plain}\n[pipe.p]\non = \"receivers\"\ndirection = \"down\"\nbuffer = \"20 pkt\"\nrate = \"100 Mbit/s\"\n[pipe.p.mark]\n"
    );
    let message = error_text(&format!("{pipe}kind = \"step\"\nk = \"19 pkt\""));
    assert!(message.contains("the largest `k` that can mark is 18 pkt"), "{message}");
    // 20 packets of 1538 B take 2460 us at the pipe's rate.
    setup(&format!("{pipe}kind = \"codel\"\ntarget = \"2460 us\""));
    let message = error_text(&format!("{pipe}kind = \"codel\"\ntarget = \"2600 us\""));
    assert!(message.contains("no packet waits `target` = 2600 us"), "{message}");
}
