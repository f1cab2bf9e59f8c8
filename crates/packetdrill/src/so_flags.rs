//! The settings string of `--so_flags` and `--option` lines.
//!
//! `profile=linux ecn=1 ts=0 iw=10 cc=newreno`, separated by spaces or commas, applied from left to
//! right. Names are the aliases of [`ALIASES`], the keys of the host ([`HOST_KEYS`]), or any switch
//! of `tcp`. Values are those of the switches; `0` and `1` mean false and true.

use lowtide_tcp::profile::Profile;
use lowtide_tcp::{Config, NotSimulated, profile, scheme, switches};

use crate::stack::StackSettings;

/// Aliases and their switches.
pub const ALIASES: &[(&str, &str)] = &[
    ("ts", "timestamps"),
    ("ws", "window-scaling"),
    ("iw", "initial-window"),
    ("delack", "delack-timer"),
    ("minrto", "rto-min"),
    ("maxrto", "rto-max"),
    ("rto", "rto-initial"),
    ("rcvbuf", "receive-buffer"),
    ("sndbuf", "send-buffer"),
];

/// Keys of the host rather than the transport, with their descriptions.
pub const HOST_KEYS: &[(&str, &str)] = &[
    ("profile", "settings of a known stack; put it first: it sets every switch"),
    ("scheme", "a bundle of switches on top of the profile: sack, ecn, dctcp, odctcp ..."),
    ("mss", "largest segment in bytes, 28 to 65495: the MTU less 40"),
    ("nodelay", "1 turns Nagle's algorithm off"),
    ("seed", "seed of initial sequence numbers, timestamps and ports"),
    ("isn", "the initial sequence number, instead of a random one"),
    ("local", "the host's address, for connections from an unbound socket"),
    (
        "strict",
        "1 (default): a packet that no line expects is an error; 0: it is kept for the next line",
    ),
];

/// Switches that a Linux kernel can be told: by `net.ipv4`, a socket option, the route
/// (`initcwnd`) or the MTU of the interface. Since 6.17 `tcp_recovery` no longer turns RACK off.
const LINUX_SETTINGS: [&str; 24] = [
    "tso-defer",
    "cc",
    "ecn",
    "ecn-fallback",
    "timestamps",
    "sack",
    "dsack",
    "window-scaling",
    "idle-restart",
    "tail-loss-probe",
    "initial-window",
    "syn-retries",
    "retries",
    "rto-min",
    "rto-max",
    "send-buffer",
    "receive-buffer",
    "nagle",
    "mtu",
    "keep-alive",
    "keep-alive-idle",
    "keep-alive-interval",
    "keep-alive-count",
    "user-timeout",
];

/// Result of a settings string.
#[derive(Clone, Debug)]
pub struct SoFlags {
    /// Settings of the stack.
    pub settings: StackSettings,
    /// A packet that matches no line is an error.
    pub strict: bool,
    /// The stated profile.
    pub profile: String,
    /// Replaces the stated profile, whose congestion control stays.
    pub(crate) instead: Option<&'static Profile>,
    /// Settings that were left out because a Linux kernel cannot be told them.
    pub left_out: Vec<String>,
}

/// An error in a settings string.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SoFlagsError {
    /// Description, with the wrong word.
    pub message: String,
    /// Byte range of that word in the string.
    pub at: std::ops::Range<usize>,
}

impl Default for SoFlags {
    fn default() -> Self {
        let profile = "linux".to_string();
        let settings = StackSettings::default();
        Self { settings, strict: true, profile, instead: None, left_out: Vec::new() }
    }
}

impl SoFlags {
    /// Applies a settings string over the current settings.
    pub fn apply(&mut self, text: &str) -> Result<(), SoFlagsError> {
        let mut rest = 0;
        for word in text.split(|c: char| c.is_whitespace() || c == ',') {
            let at = rest..rest + word.len();
            rest = at.end + 1;
            if word.is_empty() {
                continue;
            }
            self.set(word).map_err(|message| SoFlagsError { message, at })?;
        }
        Ok(())
    }

    /// Replaces the profile of this and of later strings by `profile`.
    ///
    /// # Errors
    /// There is no such profile.
    pub(crate) fn replace_profile(&mut self, profile: &str) -> Result<(), String> {
        let found = profile::REGISTRY
            .find(profile)
            .ok_or_else(|| unknown("profile", profile, &profile::REGISTRY.names()))?;
        self.settings.config = without_bursts(found)?;
        self.instead = Some(found);
        Ok(())
    }

    fn set(&mut self, word: &str) -> Result<(), String> {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("`{word}` has no value; write `{word}=VALUE`"));
        };
        let before = self.settings.clone();
        self.set_one(name, value)?;
        if name == "profile" {
            value.clone_into(&mut self.profile);
        }
        let Some(instead) = self.instead else { return Ok(()) };
        if name == "profile" {
            let cc = self.settings.config.cc;
            self.settings.config = without_bursts(instead)?;
            self.settings.config.cc = cc;
        } else if name == "scheme" {
            self.restore_what_linux_lacks(&before.config)?;
        } else if self.settings.isn != before.isn
            || (self.settings.config != before.config && !is_linux_setting(name, value))
        {
            self.settings = before;
            self.left_out.push(word.to_string());
        }
        Ok(())
    }

    /// Takes back the switches of a scheme that a Linux kernel cannot be told. Those of its control
    /// and its feedback are left to the host, which has them or refuses the script.
    fn restore_what_linux_lacks(&mut self, before: &Config) -> Result<(), String> {
        const OF_CONTROL: [&str; 4] = ["feedback", "ack", "ect", "cwr"];
        for switch in switches::SWITCHES {
            let name = switch.name;
            let of = |config| switches::get_text(config, name).unwrap_or_default();
            let (old, new) = (of(before), of(&self.settings.config));
            if old != new && !LINUX_SETTINGS.contains(&name) && !OF_CONTROL.contains(&name) {
                switches::set_text(&mut self.settings.config, name, &old)
                    .map_err(|e| e.to_string())?;
                self.left_out.push(format!("{name}={new}"));
            }
        }
        Ok(())
    }

    fn set_one(&mut self, name: &str, value: &str) -> Result<(), String> {
        let config = &mut self.settings.config;
        match name {
            "profile" => {
                let found = profile::REGISTRY
                    .find(value)
                    .ok_or_else(|| unknown("profile", value, &profile::REGISTRY.names()))?;
                *config = without_bursts(found)?;
            }
            "scheme" => {
                let found = scheme::REGISTRY
                    .find(value)
                    .ok_or_else(|| unknown("scheme", value, &scheme::REGISTRY.names()))?;
                found.apply(config).map_err(|e| e.to_string())?;
            }
            "mss" => {
                let mss: u32 = number(name, value)?;
                if !(28..=65_495).contains(&mss) {
                    return Err(format!("`mss={value}`: expected 28 to 65495"));
                }
                config.mtu = mss + 40;
            }
            "seed" => self.settings.seed = number(name, value)?,
            "isn" => self.settings.isn = Some(number(name, value)?),
            "strict" => self.strict = number::<u8>(name, value)? != 0,
            "local" => match value.parse() {
                Ok(std::net::IpAddr::V4(ip)) => self.settings.local_v4 = ip,
                Ok(std::net::IpAddr::V6(ip)) => self.settings.local_v6 = ip,
                Err(_) => return Err(format!("`local={value}`: not an IP address")),
            },
            "nodelay" => config.nagle = number::<u8>(name, value)? == 0,
            _ => set_switch(config, name, value)?,
        }
        Ok(())
    }
}

/// True for words that a Linux kernel can be told. A scheme is decided by what it sets.
fn is_linux_setting(name: &str, value: &str) -> bool {
    let name = ALIASES.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
    match (name, value) {
        ("initial-window", _) => value.parse::<u32>().is_ok(),
        _ => HOST_KEYS.iter().any(|(key, _)| *key == name) || LINUX_SETTINGS.contains(&name),
    }
}

/// The settings of a profile on an interface that takes single segments (`gso_max_segs` 1 in
/// Linux): nothing waits for a larger burst, and none ends with PSH, unless a script sets
/// `tso-defer`.
fn without_bursts(profile: &Profile) -> Result<Config, String> {
    let config = profile.config().map_err(|e| e.to_string())?;
    Ok(Config { tso_defer: 0, ..config })
}

/// Sets one switch by its alias or full name.
///
/// # Errors
/// Description, with the closest existing name.
pub fn set_switch(config: &mut Config, name: &str, value: &str) -> Result<(), String> {
    let name = ALIASES.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long);
    let value = match (name, value) {
        ("cc", "reno") => "newreno",
        // Values of `net.ipv4.tcp_ecn`.
        ("ecn", "0") => "off",
        ("ecn", "1") => "rfc3168",
        ("ecn", "2") => "passive",
        ("ecn", "3") => "accecn",
        ("ecn", "4") => "accecn-rfc3168",
        ("ecn", "5") => "accecn-passive",
        _ => value,
    };
    let is_bool =
        switches::find(name).is_some_and(|s| matches!(s.kind(), lowtide_tcp::ValueKind::Bool));
    let value = match (is_bool, value) {
        (true, "0") => "false",
        (true, "1") => "true",
        _ => value,
    };
    switches::set_text(config, name, value).map_err(|error| match error {
        switches::SwitchError::Unknown { .. } => {
            let host = ALIASES.iter().chain(HOST_KEYS).map(|(known, _)| *known);
            match host
                .filter(|known| within_one_edit(name, known))
                .min_by_key(|k| k.len().abs_diff(name.len()))
            {
                Some(known) => format!("there is no setting `{name}`; did you mean `{known}`?"),
                None => error.to_string(),
            }
        }
        _ => error.to_string(),
    })
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{name}={value}`: not a number that fits"))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    if let Some(absent) = NotSimulated::find(name) {
        return absent.sentence.to_owned();
    }
    format!("there is no {what} `{name}`; there are {}", known.join(", "))
}

/// True if the two differ by one inserted, deleted or replaced letter.
fn within_one_edit(wrong: &str, right: &str) -> bool {
    let (a, b) = (wrong.as_bytes(), right.as_bytes());
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y);
    let shared = head + tail.count();
    shared + 1 >= a.len().max(b.len()) && shared > 1
}

#[cfg(test)]
mod tests {
    use lowtide_tcp::{EcnNegotiation, InitialWindow};
    use lowtide_units::Duration;

    use super::*;

    fn parse(text: &str) -> Result<SoFlags, SoFlagsError> {
        let mut flags = SoFlags::default();
        flags.apply(text)?;
        Ok(flags)
    }

    #[test]
    fn a_string_sets_what_it_names_and_nothing_else() {
        let text = "profile=linux ecn=1 ts=0,sack=1, iw=10 cc=reno delack=40ms mss=1000 minrto=1s";
        let config = parse(text).unwrap().settings.config;
        let mut expected = without_bursts(profile::REGISTRY.find("linux").unwrap()).unwrap();
        expected.ecn = EcnNegotiation::Rfc3168;
        expected.timestamps = false;
        expected.initial_window = InitialWindow::Segments(10);
        expected.cc = "newreno";
        expected.mtu = 1040;
        expected.rto_min = Duration::from_secs(1);
        assert_eq!(config, expected);
    }

    #[test]
    fn host_keys_do_not_touch_the_transport() {
        let flags = parse("isn=4294967295 seed=7 strict=0 local=10.0.0.9").unwrap();
        assert_eq!((flags.settings.isn, flags.settings.seed), (Some(u32::MAX), 7));
        assert!(!flags.strict);
        assert_eq!(flags.settings.local_v4, std::net::Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(flags.settings.config, StackSettings::default().config);
    }

    #[test]
    fn another_profile_keeps_the_control_and_leaves_out_what_linux_cannot_be_told() {
        let mut flags = SoFlags::default();
        flags.replace_profile("linux").unwrap();
        flags
            .apply("profile=rfc ts=0 iw=4 limited-transmit=0 delack=40ms isn=7 nodelay=1")
            .unwrap();
        let linux = without_bursts(profile::REGISTRY.find("linux").unwrap()).unwrap();
        let mut expected = Config { cc: "newreno", timestamps: false, ..linux };
        (expected.initial_window, expected.nagle) = (InitialWindow::Segments(4), false);
        assert_eq!((flags.settings.config, flags.settings.isn), (expected, None));
        // A setting that is Linux's own, as this delay, is not left out.
        assert_eq!(flags.left_out, ["limited-transmit=0", "isn=7"]);
        assert_eq!(flags.profile, "rfc");
    }

    #[test]
    fn unknown_names_are_refused() {
        for (text, says, word) in [
            (
                "profile=solaris",
                "no profile `solaris`; there are freebsd, freebsd-10, inet,",
                "profile=solaris",
            ),
            (
                "ecn=1 scheme=bbr",
                "BBR version 2 and the ECN of version 3 are not simulated: ",
                "scheme=bbr",
            ),
            ("ecn=1 scheme=dctp", "no scheme `dctp`", "scheme=dctp"),
            ("ecn=accurate", "`accurate` is unknown", "ecn=accurate"),
            ("window-flor=1", "did you mean `window-floor`", "window-flor=1"),
            ("isnn=1", "did you mean `isn`", "isnn=1"),
            ("ts", "write `ts=VALUE`", "ts"),
            ("mss=7", "expected 28 to 65495", "mss=7"),
            ("isn=4294967296", "not a number that fits", "isn=4294967296"),
            ("cc=vegas2", "`vegas2` is unknown", "cc=vegas2"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(says), "{text}: {}", error.message);
            assert_eq!(&text[error.at], word);
        }
    }
}
