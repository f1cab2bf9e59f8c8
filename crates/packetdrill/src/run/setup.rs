//! Settings from `--option` lines and from the caller.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_units::Duration;

use super::RunOptions;
use super::report::Note;
use crate::script::{Script, ScriptError, ScriptOption};
use crate::so_flags::SoFlags;

/// Settings of a script, its options and its caller.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Settings of the host.
    pub so_flags: SoFlags,
    pub(super) tolerance: Duration,
    /// Allowed deviation as a share of the time since the previous event, in millionths of a
    /// percent.
    pub(super) tolerance_percent: u64,
    /// Times are compared as in real time.
    pub(super) real_time: bool,
    /// IPv6.
    pub v6: bool,
    /// Address of the host.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    pub(super) bind_port: u16,
    pub(super) connect_port: u16,
    /// Duration of one TSval tick in script numbers, if configured.
    pub(super) tick: Option<Duration>,
    /// Assertions on fields that a Linux kernel lacks are left out.
    pub(super) linux_fields: bool,
    pub(super) notes: Vec<Note>,
}

/// Tolerance of packetdrill as a share, in millionths of a percent: 12.5 %, the granularity of
/// Linux's timer wheel.
const REAL_TIME_PERCENT: u64 = 12_500_000;

/// packetdrill options that do not affect the host under test.
const IGNORED_OPTIONS: [&str; 9] = [
    "mss",
    "verbose",
    "debug",
    "dry_run",
    "so_filename",
    "persistent_tun_dev",
    "init_scripts",
    "gateway_ip",
    "netmask_ip",
];

const KNOWN: &str = "so_flags, tolerance_usecs, tolerance_percent, tcp_ts_tick_usecs, mtu, ip_version, \
                     local_ip, remote_ip, bind_port, connect_port";

impl Setup {
    /// Reads the options of a script and those of the caller.
    ///
    /// # Errors
    /// One of them is invalid.
    pub fn read(script: &Script, options: &RunOptions) -> Result<Self, ScriptError> {
        let of_caller =
            |m: String| script.error(0..0, format!("in the settings of the caller: {m}"));
        let mut flags = SoFlags::default();
        if let Some(profile) = &options.profile {
            flags.replace_profile(profile).map_err(of_caller)?;
        }
        let mut setup = Self {
            tolerance: Duration::from_ms(4),
            tolerance_percent: 0,
            real_time: options.tolerance.is_some(),
            linux_fields: options.profile.is_some(),
            v6: false,
            local: IpAddr::V4(flags.settings.local_v4),
            remote: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            bind_port: 8080,
            connect_port: 8080,
            tick: None,
            notes: Vec::new(),
            so_flags: flags,
        };
        let mut local = None;
        let mut remote = None;
        for option in &script.options {
            setup.option(script, option, &mut local, &mut remote)?;
        }
        if let Some(text) = &options.so_flags {
            setup.so_flags.apply(text).map_err(|error| of_caller(error.message))?;
        }
        if let Some(least) = options.tolerance {
            setup.tolerance = setup.tolerance.max(least);
            setup.tolerance_percent = setup.tolerance_percent.max(REAL_TIME_PERCENT);
        }
        if !setup.so_flags.left_out.is_empty() {
            let text = format!("left out: {}", setup.so_flags.left_out.join(" "));
            setup.notes.push(Note { line: 1, text });
        }
        if setup.v6 {
            setup.local = IpAddr::V6(setup.so_flags.settings.local_v6);
            setup.remote = IpAddr::V6(Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1));
        } else {
            setup.local = IpAddr::V4(setup.so_flags.settings.local_v4);
        }
        setup.local = local.unwrap_or(setup.local);
        setup.remote = remote.unwrap_or(setup.remote);
        match setup.local {
            IpAddr::V4(ip) => setup.so_flags.settings.local_v4 = ip,
            IpAddr::V6(ip) => setup.so_flags.settings.local_v6 = ip,
        }
        if setup.local.is_ipv6() != setup.v6 || setup.remote.is_ipv6() != setup.v6 {
            let message = "local_ip, remote_ip and ip_version are of different families";
            return Err(script.error(0..0, message));
        }
        Ok(setup)
    }

    fn option(
        &mut self,
        script: &Script,
        option: &ScriptOption,
        local: &mut Option<IpAddr>,
        remote: &mut Option<IpAddr>,
    ) -> Result<(), ScriptError> {
        let ScriptOption { span, name, value } = option;
        let wrong = |message: String| script.error(span.clone(), message);
        match name.as_str() {
            "so_flags" => self.so_flags.apply(value).map_err(|error| {
                // Offset of the settings string within the line.
                let within = script.text.get(span.clone()).and_then(|line| line.find(value));
                let start = span.start + within.unwrap_or(0);
                script.error(start + error.at.start..start + error.at.end, error.message)
            })?,
            "tolerance_usecs" => self.tolerance = Duration::from_us(number(value).map_err(wrong)?),
            "tolerance_percent" => self.tolerance_percent = percent(value).map_err(wrong)?,
            "tcp_ts_tick_usecs" => {
                let tick = number(value).map_err(wrong)?;
                self.tick = (tick > 0).then(|| Duration::from_us(tick));
            }
            "mtu" => {
                crate::so_flags::set_switch(&mut self.so_flags.settings.config, "mtu", value)
                    .map_err(wrong)?;
            }
            "ip_version" => match value.as_str() {
                "ipv4" => self.v6 = false,
                "ipv6" => self.v6 = true,
                other => return Err(wrong(format!("ip_version `{other}` is not supported"))),
            },
            "local_ip" => *local = Some(address(value).map_err(wrong)?),
            "remote_ip" => *remote = Some(address(value).map_err(wrong)?),
            "bind_port" => self.bind_port = port(value).map_err(wrong)?,
            "connect_port" => self.connect_port = port(value).map_err(wrong)?,
            other if IGNORED_OPTIONS.contains(&other) => {
                let text = format!("--{other} has no effect here");
                self.notes.push(Note { line: script.line(span.start), text });
            }
            other => {
                let error = wrong(format!("`--{other}` is not supported"));
                return Err(error.help(format!("options are {KNOWN}")));
            }
        }
        Ok(())
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

/// Parses a decimal number from 0 to 100 into millionths.
fn percent(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a percentage from 0 to 100 with at most 6 decimals");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let some = !(whole.is_empty() && fraction.is_empty());
    if !some || fraction.len() > 6 || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let joined = format!("0{whole}{fraction:0<6}");
    joined.parse().ok().filter(|millionths| *millionths <= 100_000_000).ok_or_else(wrong)
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|p| *p != 0).ok_or_else(|| format!("`{text}` is not a port"))
}

fn address(text: &str) -> Result<IpAddr, String> {
    let plain = text.split('/').next().unwrap_or(text);
    plain.parse().map_err(|_| format!("`{text}` is not an IP address"))
}
