//! Two hosts in separate namespaces and the bottleneck between them.
//!
//! Our end is a [`Live`] on the TUN interface `lt0`; the peer's program has the TUN interface
//! `peer0`. The bottleneck takes packets at the kernel's side of each interface. A kernel peer is
//! on that side: there the bottleneck is the other end of the TUN interface.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lowtide_bottleneck::{Bottleneck, BottleneckError, BottleneckSettings, Faults, HostPort};
use lowtide_live::links::Links;
use lowtide_live::netns::{self, Namespace};
use lowtide_live::{Device, DeviceNetwork, DevicePlan, Live, LiveError};
use lowtide_net::topology::HostLine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{Blueprint, BufferSpec, Framing, HostId, PortSpec, QueueLength};
use lowtide_units::Rate;
use thiserror::Error;

use crate::peers::PeerProgram;
use crate::script::{EndpointReport, EndpointScript};

/// Our end's host in the bottleneck.
pub const OURS: HostId = HostId(0);
/// The peer's host in the bottleneck.
pub const PEER: HostId = HostId(1);
/// Our interface.
const OUR_TUN: &str = "lt0";
/// The peer's interface.
pub const PEER_TUN: &str = "peer0";
/// MTU of both, bytes.
const MTU: u16 = 1500;
/// Rate of both links, bit/s.
const RATE_BPS: u64 = 100_000_000;
/// One-way delay of each link, milliseconds.
const DELAY_MS: u64 = 1;
/// Queue capacity, packets.
const BUFFER: u64 = 200;
/// Time limit for the first steps of a peer's protocol.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for a peer to exit after the end of its standard input.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Reason that a case could not be completed.
#[derive(Debug, Error)]
pub enum TestnetError {
    /// Error of a device or a namespace.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Error of the network between them.
    #[error(transparent)]
    Bottleneck(#[from] BottleneckError),
    /// Error of the peer's program.
    #[error("the peer's program {0}")]
    Peer(String),
}

/// Address of a host.
pub fn address(host: HostId, v6: bool) -> IpAddr {
    let n = host.0 + 1;
    let v4 = IpAddr::from([10, 78, 0, n as u8]);
    if v6 { IpAddr::from([0xfd78, 0, 0, 0, 0, 0, 0, n as u16]) } else { v4 }
}

fn networks(host: HostId) -> Vec<(IpAddr, u8)> {
    vec![(address(host, false), 32), (address(host, true), 128)]
}

/// Sides of the network for the device at `at`: its own addresses and those of the other host.
fn sides(at: HostId, other: HostId) -> Vec<DeviceNetwork> {
    let side = |v6| DeviceNetwork {
        local: address(other, v6),
        peer: address(at, v6),
        prefix: if v6 { 64 } else { 24 },
    };
    vec![side(false), side(true)]
}

fn plan(kind: &str, name: &str, sides: Vec<DeviceNetwork>) -> Result<DevicePlan, LiveError> {
    DevicePlan::parse(&format!("{kind}:{name}"), MTU, sides)
}

/// Two links of equal rate with a switch between them; hosts send without a rate limit.
fn network() -> Blueprint {
    let host = |name: &str| HostLine {
        name: name.to_owned(),
        rate: Rate::from_bps(RATE_BPS).unwrap_or(Rate::from_gbps(1)),
        delay: lowtide_units::Duration::from_ms(DELAY_MS),
    };
    let port =
        PortSpec { buffer: BufferSpec::Static(QueueLength::Packets(BUFFER)), ..PortSpec::NIC };
    let hosts = vec![host("ours"), host("peer")];
    let mut plan = star(&Star { hosts, framing: Framing::Ethernet, port });
    for link in &mut plan.links {
        link.from_a.rate = Rate::from_gbps(100);
    }
    plan
}

/// A namespace whose kernel sends no packets unasked.
fn quiet_namespace() -> Result<Namespace, LiveError> {
    let namespace = Namespace::new()?;
    // A kernel without IPv6 is silent already.
    let _ = namespace.run(|| netns::set_sysctl("ipv6.conf.all.disable_ipv6", "1"))?;
    Ok(namespace)
}

/// Our end: its TUN interface, and the bottleneck's device on the kernel's side.
///
/// # Errors
/// A missing privilege.
pub fn our_end(seed: u64) -> Result<(Live, Device, Namespace), TestnetError> {
    let namespace = quiet_namespace()?;
    let make = || -> Result<(Live, Device), LiveError> {
        let tun = Device::open(&plan("tun", OUR_TUN, Vec::new())?)?;
        let locals = networks(OURS).into_iter().map(|(a, _)| a).collect();
        let settings = lowtide_live::LiveSettings { seed: Some(seed), ..Default::default() };
        let live = Live::with_device(tun, locals, settings)?;
        let device = Device::open(&plan("packet", OUR_TUN, sides(OURS, PEER))?)?;
        Ok((live, device))
    };
    let (live, device) = namespace.run(make)??;
    Ok((live, device, namespace))
}

/// Starts the bottleneck between the two devices. Captures are taken at both interfaces.
///
/// # Errors
/// Invalid fault settings, or a capture that cannot be written.
pub fn bottleneck(
    (ours, peer): (Device, Device),
    faults: &[&str],
    seed: u64,
    captures: [Option<PathBuf>; 2],
) -> Result<Bottleneck, TestnetError> {
    let mut both = Faults::default();
    faults.iter().try_for_each(|text| both.set(text))?;
    let settings = BottleneckSettings {
        seed,
        faults: vec![(OURS, both), (PEER, both)],
        captures: [OURS, PEER]
            .into_iter()
            .zip(captures)
            .filter_map(|(h, p)| Some((h, p?)))
            .collect(),
        ..BottleneckSettings::default()
    };
    let ports = vec![
        HostPort { host: OURS, device: ours, networks: networks(OURS) },
        HostPort { host: PEER, device: peer, networks: networks(PEER) },
    ];
    Ok(Bottleneck::start(&network(), ports, &settings)?)
}

/// A running peer program. Dropping it ends the program.
#[derive(Debug)]
pub struct PeerProcess {
    child: Child,
    lines: Receiver<String>,
    device: Option<Device>,
}

impl PeerProcess {
    /// Starts `program` in a new namespace, up to the point where it waits for [`Self::go`].
    ///
    /// # Errors
    /// A missing privilege; the program exits or prints something else.
    pub fn start(
        program: &PeerProgram,
        script: &EndpointScript,
        sysctls: &[(&str, &str)],
    ) -> Result<Self, TestnetError> {
        let namespace = if program.is_kernel { Namespace::new()? } else { quiet_namespace()? };
        let device = program.is_kernel.then(|| {
            namespace.run(|| -> Result<Device, LiveError> {
                for (name, value) in sysctls {
                    netns::set_sysctl(name, value)?;
                }
                Device::open(&plan("tun", PEER_TUN, sides(PEER, OURS))?)
            })
        });
        let device = device.transpose()?.transpose()?;
        let spawn = || {
            let mut command = Command::new(&program.path);
            command.args(&program.args).args(script.to_args());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()
        };
        let mut child = namespace.run(spawn)?.map_err(|e| {
            TestnetError::Peer(format!("{} does not start: {e}", program.path.display()))
        })?;
        let (told, lines) = channel();
        if let Some(out) = child.stdout.take() {
            let read = move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if told.send(line).is_err() {
                        break;
                    }
                }
            };
            // Without the thread the channel is closed, which the first wait reports.
            let _ = std::thread::Builder::new().name("peer-output".to_owned()).spawn(read);
        }
        let mut process = Self { child, lines, device };
        process.expect("tun")?;
        if process.device.is_none() {
            let join = || -> Result<Device, LiveError> {
                Links::open()?.set_link_up(PEER_TUN, true)?;
                Device::open(&plan("packet", PEER_TUN, sides(PEER, OURS))?)
            };
            process.device = Some(namespace.run(join)??);
        }
        Ok(process)
    }

    /// Takes the bottleneck's device, once.
    pub fn take_device(&mut self) -> Option<Device> {
        self.device.take()
    }

    /// Lets it start.
    ///
    /// # Errors
    /// It has exited.
    pub fn go(&mut self) -> Result<(), TestnetError> {
        let sent = self.child.stdin.as_mut().map(|input| input.write_all(b"go\n"));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(TestnetError::Peer("has ended before it began".to_owned())),
        }
    }

    /// Waits until it listens.
    ///
    /// # Errors
    /// It does not listen in time.
    pub fn wait_ready(&mut self) -> Result<(), TestnetError> {
        self.expect("ready")
    }

    /// Waits for its report.
    ///
    /// # Errors
    /// There is no report within `limit`.
    pub fn report(&mut self, limit: Duration) -> Result<EndpointReport, TestnetError> {
        let line = self.line(limit)?;
        serde_json::from_str(&line).map_err(|_| TestnetError::Peer(format!("said `{line}`")))
    }

    fn expect(&mut self, expected: &str) -> Result<(), TestnetError> {
        let line = self.line(START_TIMEOUT)?;
        if line == expected {
            return Ok(());
        }
        Err(TestnetError::Peer(format!("said `{line}` instead of `{expected}`")))
    }

    fn line(&mut self, limit: Duration) -> Result<String, TestnetError> {
        self.lines.recv_timeout(limit).map_err(|_| match self.child.try_wait() {
            Ok(Some(status)) => TestnetError::Peer(format!("has ended: {status}")),
            _ => TestnetError::Peer(format!("said nothing for {} s", limit.as_secs())),
        })
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while waited < EXIT_TIMEOUT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(step);
            waited += step;
        }
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Folder for peer programs: that of this crate's program.
pub fn build_folder(ours: &Path) -> PathBuf {
    ours.parent().unwrap_or(Path::new(".")).join("interop-peers")
}

/// Address at which `host` listens.
pub fn listener(host: HostId, v6: bool, port: u16) -> SocketAddr {
    SocketAddr::new(address(host, v6), port)
}
