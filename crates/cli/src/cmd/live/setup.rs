//! Host described by the arguments, in its namespace.

use lowtide_live::load::{Amount, LoadFlow, LoadPlan, TransferDirection};
use lowtide_live::privileges::{self, RetainedCapability, User};
use lowtide_live::{
    Device, DeviceKind, DeviceNetwork, DevicePlan, Live, LiveError, LiveSettings, PreparedHost,
    config, netns,
};
use lowtide_tcp::Config;

use crate::args::{
    FlowArg, KernelEcnArg, LiveHostArgs, LiveLoadArgs, LiveStackArgs, NetnsArg, PeerArg,
};
use crate::error::CommandError;
use crate::output::Output;

/// A host, ready to start.
pub(super) struct LiveHost {
    pub(super) plan: DevicePlan,
    pub(super) config: Config,
    /// Requested profile, scheme and switches.
    pub(super) requested: String,
    /// The kernel's congestion control and `tcp_ecn`, if this command set them.
    pub(super) kernel: Option<[String; 2]>,
    settings: LiveSettings,
    /// User to run as once devices are open.
    user: Option<User>,
}

/// Maps errors of arguments to invalid usage, errors of the machine to a failed run.
pub(super) fn live_error(error: &LiveError) -> CommandError {
    let usage = matches!(
        error,
        LiveError::DeviceName(_)
            | LiveError::Xdp
            | LiveError::Mtu { .. }
            | LiveError::Address(_)
            | LiveError::AddressPair { .. }
            | LiveError::RelayRoute(_)
            | LiveError::User(_)
            | LiveError::HostNamespace
    );
    if usage {
        CommandError::Usage(error.to_string(), None)
    } else {
        CommandError::Run(error.to_string())
    }
}

impl LiveHost {
    /// Reads the arguments, and moves this thread into the requested namespace.
    pub(super) fn make(args: &LiveHostArgs) -> Result<Self, CommandError> {
        let host = Self::read(&args.own)?;
        if host.plan.kind == DeviceKind::Packet && args.peer == PeerArg::Kernel {
            let help = "run in the namespace of the interface, without `--peer kernel`".to_owned();
            let message =
                "`--peer kernel` creates a namespace, in which `packet:NAME` finds no interface"
                    .to_owned();
            return Err(CommandError::Usage(message, Some(help)));
        }
        Ok(Self { kernel: enter_netns(args)?, ..host })
    }

    /// As [`Self::make`], in the current namespace of this thread and for any peer.
    pub(super) fn in_current_netns(args: &LiveStackArgs) -> Result<Self, CommandError> {
        let host = Self::read(args)?;
        check_current_netns(args.netns)?;
        Ok(host)
    }

    fn read(args: &LiveStackArgs) -> Result<Self, CommandError> {
        let mut sides = Vec::new();
        for text in &args.addresses {
            let mut side = DeviceNetwork::parse(text).map_err(|e| live_error(&e))?;
            if let Some(kernels) = args.kernels.iter().find(|k| side.contains(**k)) {
                side = side.with_peer(*kernels).map_err(|e| live_error(&e))?;
            }
            sides.push(side);
        }
        if let Some(stray) = args.kernels.iter().find(|k| !sides.iter().any(|s| s.contains(**k))) {
            let help = "add one of our addresses in its network with --addr".to_owned();
            let message = format!("the kernel's address {stray} is in none of the networks");
            return Err(CommandError::Usage(message, Some(help)));
        }
        let mut plan =
            DevicePlan::parse(&args.device, args.mtu, sides).map_err(|e| live_error(&e))?;
        plan.offload = args.offload;
        plan.rx_ring = usize::try_from(args.rx_ring).unwrap_or(usize::MAX);
        let mtu = args.mtu.to_string();
        let mut set = vec![("mtu", mtu.as_str())];
        if args.offload {
            set.push(("tso-segments", "64"));
        }
        for text in &args.set {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                let help = "for instance `-s send-buffer=\"1 MB\"`".to_owned();
                let message = format!("`-s {text}` is not of the form `-s SWITCH=VALUE`");
                CommandError::Usage(message, Some(help))
            })?;
            set.push((name.trim(), value.trim()));
        }
        if let Some(name) = &args.congestion {
            set.push(("cc", name));
        }
        let config = config(&args.profile, args.scheme.as_deref(), &set).map_err(|message| {
            CommandError::Usage(message, Some("see `lowtide list`".to_owned()))
        })?;
        let scheme = args.scheme.as_ref().map(|s| format!("/{s}"));
        let switches: Vec<String> = set.iter().map(|(k, v)| format!("+{k}={v}")).collect();
        let requested =
            format!("{}{}{}", args.profile, scheme.unwrap_or_default(), switches.join(""));
        let settings = LiveSettings {
            half_open: args.half_open as usize,
            unprivileged: true,
            memory: usize::try_from(args.memory).unwrap_or(usize::MAX),
            orphans: args.orphans as usize,
            ..LiveSettings::default()
        };
        let user = user(args.user.as_deref())?;
        Ok(Self { plan, config, requested, kernel: None, settings, user })
    }

    /// Opens the device, drops all privileges except those in `later`, and starts.
    pub(super) fn start(
        &self,
        later: &[RetainedCapability],
        out: Output,
    ) -> Result<Live, CommandError> {
        let device = Device::open(&self.plan).map_err(|e| live_error(&e))?;
        note_missing_ring(&device, out);
        let prepared = self.prepare(device)?;
        self.reduce_privileges(later)?;
        prepared.start().map_err(|e| live_error(&e))
    }

    /// Drops all privileges except those in `later`.
    pub(super) fn reduce_privileges(
        &self,
        later: &[RetainedCapability],
    ) -> Result<(), CommandError> {
        privileges::drop_except(self.user.as_ref(), later).map_err(|e| live_error(&e))
    }

    /// Prepares the host on an open device.
    pub(super) fn prepare(&self, device: Device) -> Result<PreparedHost, CommandError> {
        let locals = self.plan.networks.iter().map(|s| s.local).collect();
        let networks = self.plan.networks.iter().map(|s| (s.local, s.prefix)).collect();
        Live::prepare(device, locals, LiveSettings { networks, ..self.settings.clone() })
            .map_err(|e| live_error(&e))
    }
}

/// Prints why a device has no receive ring, if it should have one.
pub(super) fn note_missing_ring(device: &Device, out: Output) {
    if let Some(error) = device.rx_ring_error() {
        out.note(&format!(
            "no receive ring ({error}): packets are read with system calls, which is slower; \
             `--rx-ring` sets its size"
        ));
    }
}

/// Parses `--user`.
pub(super) fn user(text: Option<&str>) -> Result<Option<User>, CommandError> {
    text.map(User::parse).transpose().map_err(|e| live_error(&e))
}

/// Drops all privileges of this thread and of the threads that it starts later.
pub(super) fn drop_privileges() -> Result<(), CommandError> {
    privileges::drop_all().map_err(|e| live_error(&e))
}

/// Checks that the current namespace is allowed.
fn check_current_netns(netns: Option<NetnsArg>) -> Result<(), CommandError> {
    match netns {
        Some(NetnsArg::New) => {
            let help =
                "use a namespace of `ip netns add`; a client or a server may have `--peer kernel`"
                    .to_owned();
            let message = "no peer can reach a namespace that only this command is in".to_owned();
            Err(CommandError::Usage(message, Some(help)))
        }
        None if netns::in_host_namespace() => Err(live_error(&LiveError::HostNamespace)),
        Some(NetnsArg::Here) | None => Ok(()),
    }
}

/// Enters the requested namespace. Returns the settings of the kernel's TCP if it is new.
fn enter_netns(args: &LiveHostArgs) -> Result<Option<[String; 2]>, CommandError> {
    let new = match (args.own.netns, args.peer) {
        (Some(NetnsArg::New) | None, PeerArg::Kernel) => true,
        (Some(NetnsArg::Here), PeerArg::Kernel) => false,
        (netns, PeerArg::Any) => {
            check_current_netns(netns)?;
            false
        }
    };
    if !new {
        return Ok(None);
    }
    netns::enter_new().map_err(|e| live_error(&e))?;
    // Set explicitly, so that results do not depend on defaults of the machine.
    let ecn = match args.kernel_ecn {
        KernelEcnArg::Off => "0",
        KernelEcnArg::On => "1",
        KernelEcnArg::Passive => "2",
        KernelEcnArg::Accecn => "3",
        KernelEcnArg::AccecnIn => "4",
        KernelEcnArg::AccecnPassive => "5",
    };
    netns::set_sysctl("ipv4.tcp_ecn", ecn).map_err(|e| refused_ecn(ecn, &e))?;
    netns::set_sysctl("ipv4.tcp_congestion_control", &args.kernel_cc).map_err(|e| {
        let available = netns::sysctl("ipv4.tcp_available_congestion_control").unwrap_or_default();
        let help = format!(
            "a namespace has `reno` and the unrestricted congestion controls (`lowtide kernel load \
             --unrestricted`); available are {}",
            available.trim()
        );
        CommandError::Usage(
            format!("the kernel refuses the congestion control `{}`: {e}", args.kernel_cc),
            Some(help),
        )
    })?;
    Ok(Some([args.kernel_cc.clone(), ecn.to_owned()]))
}

/// A value of `net.ipv4.tcp_ecn` that this kernel does not have, or another error.
fn refused_ecn(value: &str, error: &LiveError) -> CommandError {
    let unknown = matches!(error, LiveError::System { error, .. }
        if error.kind() == std::io::ErrorKind::InvalidInput);
    if !unknown {
        return live_error(error);
    }
    let system = rustix::system::uname();
    let message = format!(
        "Linux {} refuses net.ipv4.tcp_ecn = {value}: Accurate ECN needs 7.0 or later",
        system.release().to_string_lossy()
    );
    CommandError::Usage(message, Some("use `--kernel-ecn` off, on or passive".to_owned()))
}

/// Load of a client.
pub(super) fn load(args: &LiveLoadArgs) -> LoadPlan {
    let flow = |f: &FlowArg| LoadFlow {
        start: f.start,
        direction: if f.reverse || args.reverse {
            TransferDirection::Down
        } else {
            TransferDirection::Up
        },
        amount: match (f.time, f.bytes.or(args.bytes)) {
            (None, Some(bytes)) => Amount::Bytes(bytes),
            (time, _) => Amount::Millis(time.unwrap_or(args.time).as_ms()),
        },
        write_size: u32::try_from(f.length.unwrap_or(args.length)).unwrap_or(u32::MAX),
    };
    let equal = vec![FlowArg::default(); args.parallel as usize];
    let flows = if args.flows.is_empty() { &equal } else { &args.flows };
    LoadPlan { flows: flows.iter().map(flow).collect(), interval: args.interval, seed: 1 }
}
