//! Translates a host's configuration to kernel settings and lists the differences.
//!
//! Contract: the congestion control is set on each socket, everything else by `net.ipv4.*` of the
//! host's namespace, whatever the machine's defaults are. For behaviour without a setting, the
//! profile `linux` describes the kernel; a scenario that asks for something else gets a difference
//! in the manifest.

use std::fs;

use lowtide_lab::UnsupportedSetup;
use lowtide_live::netns;
use lowtide_tcp::{
    AccEcnOptionRule, BufferTuning, Config, EcnNegotiation, FreezeGrowth, RecoveryRule, profile,
    switches,
};

/// Congestion controls of this kernel, shared by all namespaces.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// A host's TCP settings in the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KernelTcpConfig {
    /// Name of the congestion control, set with `TCP_CONGESTION`.
    pub(crate) cc: String,
    /// `TCP_NODELAY`.
    pub(crate) nodelay: bool,
    sysctls: Vec<Sysctl>,
    /// Differences from the scenario that no setting removes.
    differences: Vec<String>,
}

/// The scenario's congestion control and its name in the kernel: `odctcp=bpf_odctcp`.
pub(crate) type CcMapping = (String, String);

/// Switches that the kernel has under another name, that do not concern it, or that have no effect
/// between two hosts of one testbed.
const NOT_COMPARED: [&str; 15] = [
    "cc",
    "feedback",
    "ack",
    "ecn",
    "ect",
    "cwr",
    "nagle",
    "send-buffer",
    "receive-buffer",
    "delay-option",
    "delay-echo",
    "tso-segments",
    "gso-max",
    "keep-alive",
    "time-wait",
];

impl KernelTcpConfig {
    /// Kernel settings for `config`.
    pub(crate) fn of(config: &Config, renamed: &[CcMapping]) -> Result<Self, UnsupportedSetup> {
        let cc = kernel_cc_name(config, renamed)?;
        let (sysctls, reference) = settings(config);
        let differences = differences(config, &cc, reference);
        Ok(Self { cc, nodelay: !config.nagle, sysctls, differences })
    }

    /// Checks that this kernel supports the requested ECN mode, in this thread's namespace.
    pub(crate) fn check(&self) -> Result<(), UnsupportedSetup> {
        let ecn = self.sysctls.iter().find(|(name, _)| *name == "tcp_ecn");
        let Some((_, value)) = ecn else { return Ok(()) };
        netns::set_sysctl("ipv4.tcp_ecn", value).map_err(|error| {
            let accurate = matches!(value.as_str(), "3" | "4" | "5");
            let what = if accurate {
                "this kernel does not support Accurate ECN, as Linux does since 7.0"
            } else {
                "ECN cannot be set"
            };
            refusal(
                format!("{what} (net.ipv4.tcp_ecn = {value}: {error})"),
                "`--backend live` supports it",
            )
        })
    }

    /// Applies the settings in this thread's namespace; returns the remaining differences.
    pub(crate) fn apply(&self) -> Vec<String> {
        let mut differences = self.differences.clone();
        for (name, value) in &self.sysctls {
            if let Err(error) = netns::set_sysctl(&format!("ipv4.{name}"), value) {
                differences.push(format!("net.ipv4.{name} is not {value}: {error}"));
            }
        }
        differences
    }
}

/// Switches with another value in the kernel, which behaves as `reference` apart from the
/// congestion control `cc`.
fn differences(config: &Config, cc: &str, mut reference: Config) -> Vec<String> {
    // A twin writes the window itself, also while the kernel is in CA_CWR.
    if let Some(twin) = twin(config).filter(|twin| twin.name == cc) {
        reference.freeze_growth = twin.freeze_growth;
    }
    let mut differences = Vec::new();
    for switch in switches::SWITCHES {
        if NOT_COMPARED.contains(&switch.name) || switch.name.starts_with("delay-") {
            continue;
        }
        let of = |config| switches::get_text(config, switch.name).unwrap_or_default();
        let (wanted, done) = (of(config), of(&reference));
        if wanted != done {
            differences.push(format!(
                "`{}` is {wanted} in the scenario; the kernel has {done} ({})",
                switch.name,
                source(switch.name)
            ));
        }
    }
    differences
}

/// Source of the kernel's value.
fn source(switch: &str) -> &'static str {
    profile::linux::ENTRY.source(switch).unwrap_or("as RFCs say")
}

/// Name of the congestion control in the kernel: the requested one, the kernel's own, or a BPF twin
/// that `lowtide kernel load` registered.
fn kernel_cc_name(config: &Config, renamed: &[CcMapping]) -> Result<String, UnsupportedSetup> {
    let one_sided = config.feedback == "one-sided" || config.ack == "odctcp";
    let requested = if config.cc == "dctcp" && one_sided { "odctcp" } else { config.cc };
    let own = renamed.iter().find(|(from, _)| from == requested).map(|(_, to)| to.as_str());
    let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let has = |name: &str| available.split_whitespace().any(|n| n == name);
    let kernels = own.or_else(|| kernels_own(config));
    let twin = twin(config).map(|twin| twin.name);
    if let Some(name) = kernels.filter(|name| has(name)) {
        return Ok(name.to_owned());
    }
    match (kernels, twin) {
        (_, Some(twin)) if own.is_none() && has(twin) => Ok(twin.to_owned()),
        (None, None) => Err(refusal(
            format!(
                "the kernel has no control for lowtide's `{requested}` with the ACK policy `{}`",
                config.ack
            ),
            &format!("name one with `--kernel-cc {requested}=NAME`, or use `--backend live`"),
        )),
        (kernels, twin) => {
            let name = kernels.or(twin).unwrap_or_default();
            let known = available.trim().replace(' ', ", ");
            let message = format!("this kernel has no control `{name}`, only {known}");
            let help = match twin.filter(|_| own.is_none()) {
                Some("lt_dctcp") => {
                    "`lowtide kernel load lt_dctcp` registers one, as does the module `tcp_dctcp`"
                        .to_owned()
                }
                Some(twin) => format!(
                    "`lowtide kernel load {twin}` registers it, or name another with \
                     `--kernel-cc {requested}=NAME`"
                ),
                None => "load it, or choose another with `--kernel-cc FROM=NAME`".to_owned(),
            };
            Err(refusal(message, &help))
        }
    }
}

/// The kernel's own control for these settings; `None` if it has none.
fn kernels_own(config: &Config) -> Option<&'static str> {
    match (config.cc, config.feedback, config.ack) {
        ("dctcp", "dctcp", "dctcp") => Some("dctcp"),
        // These leave the receiving half to the kernel, whose echo is that of classic ECN.
        (_, _, "dctcp" | "odctcp" | "tdctcp") => None,
        ("newreno", ..) => Some("reno"),
        ("cubic", ..) => Some("cubic"),
        ("bbr1", ..) => Some("bbr"),
        _ => None,
    }
}

/// A BPF control of `kernel/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Twin {
    name: &'static str,
    /// ACKs on which its window does not grow.
    freeze_growth: FreezeGrowth,
}

/// The BPF twin for these settings; `None` if there is none.
fn twin(config: &Config) -> Option<Twin> {
    let (name, freeze_growth) = match (config.cc, config.feedback, config.ack) {
        ("dctcp", "dctcp", "dctcp") => ("lt_dctcp", FreezeGrowth::Off),
        ("dctcp", "one-sided", "odctcp") => ("lt_odctcp", FreezeGrowth::Off),
        ("dctcp", "one-sided", "rfc3168") => ("lt_odctcp_snd", FreezeGrowth::Off),
        ("newreno", _, "odctcp") => ("lt_odctcp_rcv", FreezeGrowth::EceAcks),
        ("tdctcp", ..) => ("lt_tdctcp", FreezeGrowth::EceAcks),
        _ => return None,
    };
    Some(Twin { name, freeze_growth })
}

fn refusal(message: String, help: &str) -> UnsupportedSetup {
    UnsupportedSetup { message, help: Some(help.to_owned()) }
}

const fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

/// `net.ipv4.<name>` and its value.
pub(crate) type Sysctl = (&'static str, String);

/// Sysctls to set, and the kernel's resulting behaviour as a configuration.
pub(crate) fn settings(config: &Config) -> (Vec<Sysctl>, Config) {
    let linux = profile::REGISTRY.find("linux").and_then(|p| p.config().ok());
    let mut then = linux.unwrap_or_default();
    let ecn = match config.ecn {
        EcnNegotiation::Off => "0",
        EcnNegotiation::Rfc3168 => "1",
        EcnNegotiation::Passive => "2",
        // Since 7.0 (include/net/tcp_ecn.h, `enum tcp_ecn_mode`).
        EcnNegotiation::AccEcn => "3",
        EcnNegotiation::AccEcnRfc3168 => "4",
        EcnNegotiation::AccEcnPassive => "5",
    };
    let ms = |d: lowtide_units::Duration| d.as_ms().max(1).to_string();
    // The kernel counts memory: a received packet of 1500 B takes up to twice that.
    let (send, receive) = (config.send_buffer.as_u64(), config.receive_buffer.as_u64() * 2);
    let of_buffer = |bytes: u64| format!("4096 {bytes} {bytes}");
    let tunes = config.buffer_tuning == BufferTuning::Auto;
    // The second value is the kernel's, where tuning starts.
    let tuned = format!("4096 {} {}", receive.clamp(4096, 131_072), receive.max(4096));
    // `tcp_write_timeout` adds its linear timeouts.
    let linear = then.syn_linear_timeouts;
    let syn_retries = config.syn_retries.saturating_sub(linear).clamp(1, 127);
    let mut set = vec![
        ("tcp_ecn", ecn.to_owned()),
        ("tcp_ecn_fallback", flag(config.ecn_fallback).to_owned()),
        ("tcp_timestamps", flag(config.timestamps).to_owned()),
        ("tcp_sack", flag(config.sack).to_owned()),
        ("tcp_dsack", flag(config.dsack).to_owned()),
        ("tcp_window_scaling", flag(config.window_scaling).to_owned()),
        ("tcp_slow_start_after_idle", flag(config.idle_restart).to_owned()),
        ("tcp_early_retrans", if config.tail_loss_probe { "3" } else { "0" }.to_owned()),
        ("tcp_syn_retries", syn_retries.to_string()),
        ("tcp_retries2", config.retries.min(255).to_string()),
        ("tcp_wmem", of_buffer(send.max(4096))),
        ("tcp_rmem", if tunes { tuned } else { of_buffer(receive.max(4096)) }),
        ("tcp_moderate_rcvbuf", flag(tunes).to_owned()),
        // A flow must not inherit metrics of an earlier flow.
        ("tcp_no_metrics_save", "1".to_owned()),
        // Applications of the simulator fill segments as Nagle's algorithm requires.
        ("tcp_autocorking", "0".to_owned()),
        ("tcp_rto_min_us", config.rto_min.as_us().max(1).to_string()),
        (
            "tcp_rto_max_ms",
            ms(config.rto_max).parse::<u64>().unwrap_or(0).clamp(1_000, 120_000).to_string(),
        ),
    ];
    then.rto_min = config.rto_min;
    then.rto_max = config.rto_max.max(lowtide_units::Duration::from_secs(1));
    then.rto_max = then.rto_max.min(lowtide_units::Duration::from_secs(120));
    if config.ecn.accepts_accecn() {
        let option = match config.accecn_option {
            AccEcnOptionRule::Disabled => Some("0"),
            AccEcnOptionRule::Minimum => Some("1"),
            AccEcnOptionRule::Full => Some("2"),
            AccEcnOptionRule::Persist => Some("3"),
            // The kernel has no such rule; its default remains.
            AccEcnOptionRule::Recommended => None,
        };
        set.extend(option.map(|value| ("tcp_ecn_option", value.to_owned())));
        if option.is_some() {
            then.accecn_option = config.accecn_option;
        }
    } else {
        // Without effect.
        then.accecn_option = config.accecn_option;
        then.accecn_rules = config.accecn_rules;
    }
    if let Some(rack) = match config.recovery {
        RecoveryRule::Rack => Some("1"),
        // RACK stays enabled without SACK.
        RecoveryRule::Sack => Some("0"),
        RecoveryRule::NewReno => None,
    } {
        set.push(("tcp_recovery", rack.to_owned()));
        then.recovery = config.recovery;
    }
    then.idle_restart = config.idle_restart;
    then.tail_loss_probe = config.tail_loss_probe;
    then.ecn_fallback = config.ecn_fallback;
    then.timestamps = config.timestamps;
    then.sack = config.sack;
    then.dsack = config.dsack;
    then.window_scaling = config.window_scaling;
    then.syn_retries = config.syn_retries;
    then.retries = config.retries;
    then.mtu = config.mtu;
    then.buffer_tuning = config.buffer_tuning;
    if !tunes {
        then.buffer_tuning_rule = config.buffer_tuning_rule;
    }
    then.cc = config.cc;
    then.params.clone_from(&config.params);
    (set, then)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: &str, set: &[(&str, &str)]) -> Config {
        lowtide_live::config("linux", Some(scheme), set).unwrap()
    }

    #[test]
    fn controls_have_their_kernel_names() {
        assert_eq!(kernel_cc_name(&of("sack", &[]), &[]).unwrap(), "reno");
        let own = [("odctcp".to_owned(), "reno".to_owned())];
        assert_eq!(kernel_cc_name(&of("odctcp", &[]), &own).unwrap(), "reno");
        for (scheme, twin) in [
            ("dctcp", "lt_dctcp"),
            ("odctcp", "lt_odctcp"),
            ("odctcp-sender", "lt_odctcp_snd"),
            ("odctcp-receiver", "lt_odctcp_rcv"),
            ("tdctcp", "lt_tdctcp"),
        ] {
            // Loaded or not, the twin of a scheme is the one with its name.
            match kernel_cc_name(&of(scheme, &[]), &[]) {
                Ok(name) => assert!(name == twin || name == "dctcp", "{scheme}: {name}"),
                Err(e) => assert!(e.help.unwrap().contains(twin), "{scheme}: {}", e.message),
            }
        }
        let refused = kernel_cc_name(&of("dx", &[]), &[]).unwrap_err();
        assert!(refused.help.unwrap().contains("--kernel-cc dx="), "{}", refused.message);
        let none = [("newreno".to_owned(), "nothing-like-it".to_owned())];
        let refused = kernel_cc_name(&of("sack", &[]), &none).unwrap_err();
        assert!(refused.message.contains("no control `nothing-like-it`"), "{}", refused.message);
    }

    #[test]
    fn only_switches_without_a_sysctl_are_differences() {
        let end = KernelTcpConfig::of(&of("sack", &[("rto-min", "10 ms"), ("sack", "true")]), &[])
            .unwrap();
        assert!(end.sysctls.contains(&("tcp_rto_min_us", "10000".to_owned())));
        assert!(end.sysctls.contains(&("tcp_ecn", "0".to_owned())));
        assert!(!end.differences.iter().any(|d| d.contains("rto-min")), "{:?}", end.differences);
        let changed = [("delack-timer", "1 ms"), ("tso-defer", "0")];
        let end = KernelTcpConfig::of(&of("ecn", &changed), &[]).unwrap();
        assert!(end.sysctls.contains(&("tcp_ecn", "1".to_owned())));
        let delack = end.differences.iter().find(|d| d.contains("`delack-timer` is 1 ms")).unwrap();
        assert!(delack.contains("40 ms"), "{delack}");
        let deferral =
            |d: &String| d.contains("`tso-defer` is 0 in the scenario; the kernel has 3");
        assert!(end.differences.iter().any(deferral), "{:?}", end.differences);
    }

    /// `enum tcp_ecn_mode` and `enum tcp_accecn_option` of Linux 7.2.
    #[test]
    fn ecn_has_the_values_of_the_kernel() {
        for (name, value) in [
            ("off", "0"),
            ("rfc3168", "1"),
            ("passive", "2"),
            ("accecn", "3"),
            ("accecn-rfc3168", "4"),
            ("accecn-passive", "5"),
        ] {
            let end = KernelTcpConfig::of(&of("sack", &[("ecn", name)]), &[]).unwrap();
            assert!(end.sysctls.contains(&("tcp_ecn", value.to_owned())), "{name}");
            let option = end.sysctls.iter().find(|(name, _)| *name == "tcp_ecn_option");
            let expected = name.starts_with("accecn").then_some("2");
            assert_eq!(option.map(|(_, value)| value.as_str()), expected, "{name}");
        }
    }

    #[test]
    fn the_kernel_tunes_its_buffer_by_its_own_rule_only() {
        let rmem = |set: &[(&str, &str)]| {
            let end = KernelTcpConfig::of(&of("sack", set), &[]).unwrap();
            let value = |name| end.sysctls.iter().find(|(n, _)| *n == name).unwrap().1.clone();
            let rule = end.differences.iter().any(|d| d.contains("buffer-tuning"));
            (value("tcp_moderate_rcvbuf"), value("tcp_rmem"), rule)
        };
        let size = ("receive-buffer", "2 MiB");
        assert_eq!(rmem(&[size]), ("0".into(), "4096 4194304 4194304".into(), false));
        let auto = ("buffer-tuning", "auto");
        assert_eq!(rmem(&[size, auto]), ("1".into(), "4096 131072 4194304".into(), false));
        let other = ("buffer-tuning-rule", "freebsd-10");
        assert!(rmem(&[size, auto, other]).2);
    }

    #[test]
    fn a_twin_has_its_own_growth_rule() {
        for (scheme, twin, rule) in [
            ("odctcp-sender", "lt_odctcp_snd", "off"),
            ("dctcp", "lt_dctcp", "off"),
            ("tdctcp", "lt_tdctcp", "ece-acks"),
        ] {
            let about_growth = |set: &[(&str, &str)], cc| {
                let config = of(scheme, set);
                let (_, reference) = settings(&config);
                let all = differences(&config, cc, reference);
                all.into_iter().find(|d| d.contains("`freeze-growth`"))
            };
            assert_eq!(about_growth(&[], twin), None, "{scheme}");
            let linux = about_growth(&[], "reno").unwrap();
            assert!(linux.contains("the kernel has round"), "{scheme}: {linux}");
            let other = about_growth(&[("freeze-growth", "round")], twin).unwrap();
            assert!(other.contains(&format!("the kernel has {rule}")), "{scheme}: {other}");
        }
    }
}
