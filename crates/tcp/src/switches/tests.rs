use alloc::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::*;

/// Every field of `Config` under the name of its switch. The exhaustive pattern makes a new field a
/// compile error here.
fn fields(config: &Config) -> BTreeMap<&'static str, String> {
    macro_rules! table {
        ($($field:ident = $name:literal),* $(,)?) => {{
            let Config { $($field,)* params: _ } = config;
            BTreeMap::from([$(($name, format!("{:?}", $field))),*])
        }};
    }
    table! {
        cc = "cc", feedback = "feedback", ect = "ect", cwr = "cwr", cut = "cut", recut = "recut",
        cut_from = "cut-from", loss_from = "loss-from",
        freeze_growth = "freeze-growth", growth_when = "growth-when",
        growth_counts = "growth-counts", window_floor = "window-floor", ssthresh_floor = "ssthresh-floor",
        initial_window = "initial-window", restart_window = "restart-window",
        initial_ssthresh = "initial-ssthresh", abc_limit = "abc-limit", idle_restart = "idle-restart", idle_decay = "idle-decay",
        recovery = "recovery", dup_thresh = "dup-thresh", reduction = "reduction", tail_loss_probe = "tail-loss-probe",
        probe_without_rtt = "probe-without-rtt", rack_rtt = "rack-rtt",
        resend_restarts_rto = "resend-restarts-rto", recovery_after_rto = "recovery-after-rto", max_ack_delay = "max-ack-delay", loss_timer_slack = "loss-timer-slack",
        loss_timer_granularity = "loss-timer-granularity", handshake_rtt = "handshake-rtt",
        undo = "undo", limited_transmit = "limited-transmit", nagle = "nagle", nagle_rule = "nagle-rule",
        pacing = "pacing", rto_initial = "rto-initial", rto_min = "rto-min",
        rto_min_applies = "rto-min-applies", rto_slop = "rto-slop", rto_max = "rto-max",
        rto_granularity = "rto-granularity", rtt_granularity = "rtt-granularity", rtt_ticks = "rtt-ticks", rtt_gains = "rtt-gains",
        syn_retries = "syn-retries", syn_ack_retries = "syn-ack-retries",
        syn_linear_timeouts = "syn-linear-timeouts", window_probe = "window-probe", retries = "retries",
        send_buffer = "send-buffer", tso_segments = "tso-segments", gso_max = "gso-max", tso_defer = "tso-defer", ack = "ack",
        delack_segments = "delack-segments", delack_timer = "delack-timer", fin_ack = "fin-ack", initial_quick_acks = "initial-quick-acks",
        initial_quick_ack_count = "initial-quick-ack-count",
        window_growth_acks = "window-growth-acks", push_acks = "push-acks", pingpong = "pingpong",
        receive_buffer = "receive-buffer", buffer_tuning = "buffer-tuning",
        buffer_tuning_rule = "buffer-tuning-rule", dsack = "dsack", mtu = "mtu", min_mss = "min-mss", ecn = "ecn",
        ecn_fallback = "ecn-fallback",
        accecn_option = "accecn-option", accecn_rules = "accecn-rules",
        timestamps = "timestamps", timestamps_required = "timestamps-required", timestamp_granularity = "timestamp-granularity", sack = "sack",
        window_scaling = "window-scaling", time_wait = "time-wait",
        time_wait_reset = "time-wait-reset", isn = "isn", isn_tick = "isn-tick",
        timestamp_offset = "timestamp-offset", syn_cookies = "syn-cookies", rst_accept = "rst-accept",
        syn_answer = "syn-answer", ack_accept = "ack-accept",
        challenge_ack_limit = "challenge-ack-limit",
        challenge_ack_interval = "challenge-ack-interval", ack_throttle = "ack-throttle",
        keep_alive = "keep-alive", keep_alive_idle = "keep-alive-idle",
        keep_alive_interval = "keep-alive-interval", keep_alive_count = "keep-alive-count",
        user_timeout = "user-timeout", delay_option = "delay-option", delay_echo = "delay-echo",
        delay_slack = "delay-slack", delay_lifetime = "delay-lifetime",
    }
}

/// All names of a kind, and its smallest and largest value.
fn samples(kind: ValueKind) -> Vec<Value> {
    match kind {
        ValueKind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        ValueKind::Count { min, max } => vec![Value::Count(min), Value::Count(max)],
        ValueKind::Bytes { min, max } => {
            [min, max].map(|n| Value::Bytes(lowtide_units::Bytes::new(n))).to_vec()
        }
        ValueKind::Duration { min, max } => vec![Value::Duration(min), Value::Duration(max)],
        ValueKind::Name { allowed, .. } => allowed().into_iter().map(Value::Name).collect(),
        ValueKind::NameOrCount { allowed, min, max } => {
            let mut out: Vec<_> = allowed().into_iter().map(Value::Name).collect();
            out.extend([Value::Count(min), Value::Count(max)]);
            out
        }
        ValueKind::Choice(names) => names.iter().copied().map(Value::Name).collect(),
        ValueKind::Ratio => {
            ["1/4", "3"].map(|r| Value::Ratio(lowtide_units::Ratio::parse(r).unwrap())).to_vec()
        }
        other => panic!("no switch is a {other:?}"),
    }
}

#[test]
fn every_field_has_exactly_one_switch_and_every_switch_changes_only_its_field() {
    let default = Config::default();
    let before = fields(&default);
    for name in before.keys() {
        assert_eq!(SWITCHES.iter().filter(|s| s.name == *name).count(), 1, "{name}");
    }
    for switch in SWITCHES {
        let mut moved = false;
        for value in samples(switch.kind) {
            let mut config = default.clone();
            (switch.set)(&mut config, &value).unwrap();
            assert_eq!((switch.get)(&config), value, "{}", switch.name);
            assert_eq!(config.params, default.params, "{}", switch.name);
            for (field, text) in fields(&config) {
                if text != before[field] {
                    assert_eq!(field, switch.name);
                    moved = true;
                }
            }
        }
        let has_field = before.contains_key(switch.name);
        assert_eq!(moved, has_field, "{} has a field: {has_field}", switch.name);
    }
}

#[test]
fn names_are_unique_and_kebab_case() {
    let names: Vec<String> = all().iter().map(Setting::name).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} twice");
        assert!(
            name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '.')),
            "{name} is not kebab case"
        );
    }
}

#[test]
fn every_value_reads_back_as_it_is_written() {
    for setting in all() {
        for value in samples(setting.kind()) {
            let mut config = Config::default();
            setting.set(&mut config, &value).unwrap();
            let name = setting.name();
            let text = get_text(&config, &name).unwrap();
            let mut again = Config::default();
            set_text(&mut again, &name, &text).unwrap();
            assert_eq!(setting.get(&again), Some(value), "{name} = {text}");
        }
    }
}

#[test]
fn every_default_of_a_parameter_is_accepted_and_documented() {
    for setting in all() {
        assert!(!setting.doc().is_empty() && !setting.source().is_empty(), "{}", setting.name());
        if let Setting::Param { param, .. } = setting {
            let value = param.kind.parse(param.default.text().unwrap()).unwrap();
            assert_eq!(setting.get(&Config::default()), Some(value));
        }
    }
}

#[test]
fn unavailable_features_are_rejected_by_name() {
    for (name, text) in [("keep-alive-probe", "one-byte"), ("user-timeout-option", "on")] {
        let mut config = Config::default();
        let error = set_text(&mut config, name, text).unwrap_err();
        let message = format!("{error}");
        assert!(message.contains("not available in this version"), "{message}");
        assert!(message.contains("expected one of"), "{message}");
        assert_eq!(config, Config::default());
    }
}

#[test]
fn an_unknown_name_suggests_the_nearest_ones() {
    let mut config = Config::default();
    let error = set_text(&mut config, "window_flor", "1").unwrap_err();
    let SwitchError::Unknown(unknown) = &error else { panic!("{error:?}") };
    assert_eq!(
        (unknown.name.as_str(), &unknown.nearest),
        ("window_flor", &vec!["window-floor".into()])
    );
    assert_eq!(
        format!("{error}"),
        "there is no switch `window_flor`; did you mean `window-floor`?"
    );
    let nothing = get_text(&config, "something-quite-different").unwrap_err();
    assert_eq!(format!("{nothing}"), "there is no switch `something-quite-different`");
}

#[test]
fn a_wrong_value_says_what_is_accepted_and_changes_nothing() {
    for (name, text, says) in [
        ("window-floor", "3", "1 to 2"),
        ("window-floor", "two", "1 to 2"),
        ("rto-min", "0 s", "1 us"),
        ("nagle", "maybe", "`true` nor `false`"),
        ("ect", "some", "data, all, all-but-syn, data-or-accecn"),
        ("initial-window", "rfc9999", "rfc6928, rfc3390"),
        ("initial-window", "5000", "1 to 1000"),
        ("delack-timer", "1 s", "500 ms"),
        ("receive-buffer", "2 GiB", "1 B"),
    ] {
        let mut config = Config::default();
        let message = format!("{}", set_text(&mut config, name, text).unwrap_err());
        assert!(message.starts_with(&format!("`{name}`: ")), "{message}");
        assert!(message.contains(says), "{message}");
        assert_eq!(config, Config::default());
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_an_error_and_no_panic() {
    let wrong = [
        Value::Bool(true),
        Value::Count(u64::MAX),
        Value::Name("nonsense"),
        Value::Bytes(lowtide_units::Bytes::new(u64::MAX)),
        Value::Duration(lowtide_units::Duration::MAX),
    ];
    for setting in all() {
        for value in &wrong {
            let mut config = Config::default();
            let fits = setting.kind().check(value).is_ok();
            assert_eq!(setting.set(&mut config, value).is_ok(), fits);
            if let Setting::Switch(switch) = setting {
                // Even without the check no value can panic.
                let _ = (switch.set)(&mut config, value);
            }
        }
    }
}
