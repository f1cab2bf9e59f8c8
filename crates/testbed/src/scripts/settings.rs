//! Settings of the kernel for a script, and needs of a script that it lacks.

use lowtide_packetdrill::fields::{Field, LINUX_LACKS};
use lowtide_packetdrill::run::Setup;
use lowtide_packetdrill::script::{Action, Operand, Script, TcpOption};
use lowtide_tcp::{Config, EcnNegotiation, InitialWindow, profile, switches};
use lowtide_units::Duration;

use crate::kernel::tcp_config::{self, Sysctl};

/// The settings of one script.
#[derive(Debug)]
pub(super) struct KernelSettings {
    pub(super) config: Config,
    /// Name of the congestion control in the kernel.
    pub(super) cc: String,
    /// Settings of `net.ipv4`.
    pub(super) sysctls: Vec<Sysctl>,
    /// Segments, if it differs from the kernel's own.
    pub(super) initial_window: Option<u32>,
}

impl KernelSettings {
    /// # Errors
    /// The script needs a setting that no Linux kernel has; the error names it. With `leave_out`
    /// such settings are left out instead.
    pub(super) fn of(script: &Script, setup: &Setup, leave_out: bool) -> Result<Self, String> {
        let flags = &setup.so_flags;
        if flags.profile != "rfc" && !flags.profile.starts_with("linux") {
            return Err(format!("the profile `{}`", flags.profile));
        }
        if let Some(word) = flags.left_out.first().filter(|_| !leave_out) {
            return Err(format!("`{word}`"));
        }
        check_events(script, leave_out)?;
        let config = flags.settings.config.clone();
        let linux = profile::REGISTRY.find("linux").and_then(|p| p.config().ok());
        let linux = linux.unwrap_or_default();
        let (mut sysctls, mut kernels) = tcp_config::settings(&config);
        let (defaults, _) = tcp_config::settings(&linux);
        // Buffers are as fixed as in the profile, or windows would hide all else.
        sysctls.retain(|sysctl| !defaults.contains(sysctl) || sysctl.0.ends_with("mem"));
        if config.buffer_tuning == linux.buffer_tuning {
            sysctls.push(("tcp_moderate_rcvbuf", "0".to_owned()));
        }
        let initial_window = match config.initial_window {
            same if same == linux.initial_window => None,
            InitialWindow::Segments(n) => Some(n),
            _ => return Err("an initial window by an RFC".to_owned()),
        };
        let whole = |d: Duration| d == Duration::from_secs(d.as_ms() / 1000);
        if !(whole(config.keep_alive_idle) && whole(config.keep_alive_interval)) {
            return Err("keep-alive in parts of a second".to_owned());
        }
        kernels.initial_window = config.initial_window;
        kernels.tso_defer = config.tso_defer;
        (kernels.ecn, kernels.nagle) = (config.ecn, config.nagle);
        (kernels.send_buffer, kernels.receive_buffer) = (config.send_buffer, config.receive_buffer);
        kernels.keep_alive = config.keep_alive;
        kernels.keep_alive_idle = config.keep_alive_idle;
        kernels.keep_alive_interval = config.keep_alive_interval;
        kernels.keep_alive_count = config.keep_alive_count;
        kernels.user_timeout = config.user_timeout;
        // These bring their own feedback.
        if config.cc == "dctcp" && config.ack == "dctcp" || config.ecn == EcnNegotiation::AccEcn {
            (kernels.ack, kernels.feedback) = (config.ack, config.feedback);
            kernels.ect = config.ect;
        }
        for switch in switches::SWITCHES {
            let of = |config| switches::get_text(config, switch.name).unwrap_or_default();
            let (wanted, kernels) = (of(&config), of(&kernels));
            if wanted != kernels {
                return Err(format!("`{}={wanted}` (it has {kernels})", switch.name));
            }
        }
        let cc = if config.cc == "newreno" { "reno" } else { config.cc };
        Ok(Self { config, cc: cc.to_owned(), sysctls, initial_window })
    }
}

/// Checks fields of assertions, and options of packets.
fn check_events(script: &Script, leave_out: bool) -> Result<(), String> {
    let check = |field: &Field| {
        if leave_out || !LINUX_LACKS.contains(&field.name) {
            return Ok(());
        }
        Err(format!("the field `{}`", field.name))
    };
    for event in &script.events {
        match &event.action {
            Action::Assert(comparisons) => {
                for comparison in comparisons {
                    check(comparison.left)?;
                    if let Operand::Field(field) = comparison.right {
                        check(field)?;
                    }
                }
            }
            Action::Packet(packet) => {
                let delay =
                    |o: &TcpOption| matches!(o, TcpOption::DelayOffer | TcpOption::Delay(_));
                if packet.options.iter().flatten().any(delay) {
                    return Err("the delay option".to_owned());
                }
            }
            Action::Call(_) | Action::Command(_) => {}
        }
    }
    Ok(())
}
