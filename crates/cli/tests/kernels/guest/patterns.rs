//! Drives a sending socket of the kernel with scripted ACKs, once with each control.

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use lowtide_live::{Device, netns};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use serde_json::json;
use socket2::{Domain, Socket, Type};

use super::peer::{self, INTERFACE, MSS, PEER, PORT, Peer};
use super::script::{Pause, SCRIPTS, Script};
use super::window::{Window, WindowReader};
use super::{Report, succeed};

/// Waits of 1 ms before a script that does not go on has failed.
const PATIENCE: u32 = 30_000;

/// Runs all scripts with Linux's control and with ours.
pub(super) fn run(device: &Device, report: &mut Report) {
    let windows = WindowReader::open();
    for script in &SCRIPTS {
        for control in ["dctcp", "lt_dctcp"] {
            let course = Course::drive(device, &windows, script, control);
            report.line(&course.to_json(script.name, control));
        }
    }
}

/// A new namespace with the interface, and both controls loaded.
pub(super) fn prepare() -> Device {
    netns::enter_new().unwrap();
    for (key, value) in [
        // No probe of the tail (RFC 8985 §7): its timer would fire between two scripted ACKs.
        ("ipv4.tcp_early_retrans", "0"),
        // A connection starts as the one before.
        ("ipv4.tcp_no_metrics_save", "1"),
    ] {
        netns::set_sysctl(key, value).unwrap();
    }
    let device = peer::interface();
    // One segment per packet, so that the kernel does not wait for the room of a larger one.
    succeed("ip", &["link", "set", INTERFACE, "gso_max_segs", "1"]);
    succeed("lowtide", &["kernel", "load", "lt_dctcp"]);
    device
}

/// A nonblocking socket of `control` that connects to the peer.
pub(super) fn connect<'a>(device: &'a Device, control: &str) -> (Socket, Peer<'a>) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    setsockopt(&socket, TcpCongestion, &OsString::from(control)).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.set_tcp_nodelay(true).unwrap();
    // Beyond any window of the scripts: the application never limits.
    socket.set_send_buffer_size(4 << 20).unwrap();
    // The connection is established by the peer's answer.
    let _ = socket.connect(&SocketAddr::from((PEER, PORT)).into());
    let peer = Peer::accept(device);
    (socket, peer)
}

/// State of the sender after each ACK.
#[derive(Default)]
struct Course {
    /// Acknowledged segments.
    una: Vec<u32>,
    /// Segments sent for the first time.
    nxt: Vec<u32>,
    /// Whether the ACK had ECE.
    ece: Vec<bool>,
    windows: Vec<Window>,
}

impl Course {
    fn drive(device: &Device, windows: &WindowReader, script: &Script, control: &str) -> Self {
        let (mut socket, mut peer) = connect(device, control);
        let mut course = Self::default();
        let (mut written, mut blackout, mut waits) = (0, false, 0);
        let mut pending = script.pause;
        while peer.next < script.segments {
            let limit = match pending {
                Pause::Idle(at) => u64::from(at) * u64::from(MSS),
                _ => u64::MAX,
            };
            fill(&mut socket, &mut written, limit);
            peer.poll();
            match pending {
                Pause::Blackout(at) if peer.next == at => {
                    pending = Pause::None;
                    blackout = true;
                }
                Pause::Idle(at) if peer.next == at => {
                    pending = Pause::None;
                    let rto = windows.read(control, PEER).rto_ms;
                    std::thread::sleep(Duration::from_millis(rto + rto / 5));
                    fill(&mut socket, &mut written, u64::MAX);
                    peer.poll();
                    course.push(&peer, false, windows.read(control, PEER));
                }
                _ => {}
            }
            let Some((segment, first)) = peer.take() else {
                waits += 1;
                assert!(waits < PATIENCE, "{}: no segment after {}", script.name, peer.next);
                peer::pause();
                continue;
            };
            waits = 0;
            blackout &= first;
            if first && (blackout || script.lost.contains(&segment)) {
                continue;
            }
            let ece = first && (script.marked)(segment);
            peer.acknowledge(segment, ece);
            fill(&mut socket, &mut written, limit);
            peer.poll();
            course.push(&peer, ece, windows.read(control, PEER));
        }
        peer.reset();
        course
    }

    fn push(&mut self, peer: &Peer<'_>, ece: bool, window: Window) {
        self.una.push(peer.next);
        self.nxt.push(peer.highest);
        self.ece.push(ece);
        self.windows.push(window);
    }

    fn to_json(&self, script: &str, control: &str) -> serde_json::Value {
        let windows = || self.windows.iter();
        json!({
            "script": script,
            "control": control,
            "una": self.una,
            "nxt": self.nxt,
            "ece": self.ece,
            "cwnd": windows().map(|w| w.cwnd).collect::<Vec<_>>(),
            "ssthresh": windows().map(|w| w.ssthresh).collect::<Vec<_>>(),
            "alpha": windows().map(|w| w.alpha).collect::<Vec<_>>(),
        })
    }
}

/// Writes until the send buffer is full or `limit` bytes are written.
fn fill(socket: &mut Socket, written: &mut u64, limit: u64) {
    let data = [7; 16 * MSS as usize];
    while *written < limit {
        let len = data.len().min(usize::try_from(limit - *written).unwrap_or(usize::MAX));
        match socket.write(&data[..len]) {
            Ok(n) => *written += n as u64,
            Err(_) => break,
        }
    }
}
