//! Bulk flows over a marking bottleneck of the kernel: a veth pair, `tbf` with `red` in it, and a
//! delay on the way back.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns::{self, Namespace};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::peer::{KERNEL, PORT};
use super::window::WindowReader;
use super::{Report, succeed};

/// Samples of a flow, one each 50 ms. The first second is the start and is not counted.
const SAMPLES: u32 = 200;
const WARM_UP: u32 = 20;
const INTERVAL: Duration = Duration::from_millis(50);

/// The receiver, behind the router.
const FAR: Ipv4Addr = Ipv4Addr::new(10, 9, 1, 2);

/// `net.ipv4.tcp_ecn` of both ends, with a run of each control: classic ECN, and AccECN, which
/// kernels before 7.0 refuse.
const MODES: [&str; 3] = ["1", "1", "3"];

/// 20 Mbit/s, K = 20 packets, a round trip of 10 ms without queue: a product of 17 packets.
pub(super) fn run(report: &mut Report) {
    netns::enter_new().unwrap();
    let (far, middle) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    // The queue is in a separate namespace: TCP small queues bound a queue at the sender.
    middle.run(|| router(&far)).unwrap();
    succeed("lowtide", &["kernel", "load", "lt_dctcp"]);
    let reader = WindowReader::open();
    let bottleneck = |arguments: &str| middle.run(|| tc(arguments)).unwrap();
    for mode in MODES {
        let set = || netns::set_sysctl("ipv4.tcp_ecn", mode);
        if set().is_err() {
            break;
        }
        far.run(set).unwrap().unwrap();
        for control in ["dctcp", "lt_dctcp"] {
            bottleneck("add dev r1 root handle 1: tbf rate 20mbit burst 3028 limit 600000");
            // `red` with one threshold marks every packet above it.
            bottleneck(
                "add dev r1 parent 1:1 handle 10: red limit 600000 min 30000 max 30001 \
                avpkt 1500 burst 21 bandwidth 20mbit probability 1 ecn",
            );
            report.line(&flow((&far, &middle), control, &reader));
            bottleneck("del dev r1 root");
        }
    }
}

/// Makes the veth pairs to both ends in this namespace, and forwards between them.
fn router(far: &Namespace) {
    // Process 1 is in the sender's namespace.
    let near = Namespace::of_process(1).unwrap();
    let mut links = Links::open().unwrap();
    for (name, end, namespace, address) in [("r0", "v0", &near, KERNEL), ("r1", "v1", far, FAR)] {
        let (here, there) =
            (VethEnd { name, namespace: None }, VethEnd { name: end, namespace: Some(namespace) });
        links.add_veth(&here, &there, 1500).unwrap();
        links.disable_offloads(name).unwrap();
        links.set_link_up(name, true).unwrap();
        namespace.run(|| up(&mut Links::open().unwrap(), end, address)).unwrap();
        let subnet = address.octets()[2];
        links.add_address(name, Ipv4Addr::new(10, 9, subnet, 254).into(), 24).unwrap();
        let gateway = format!("10.9.{subnet}.254");
        let route = || succeed("ip", &["route", "add", "default", "via", &gateway]);
        namespace.run(route).unwrap();
    }
    netns::set_sysctl("ipv4.ip_forward", "1").unwrap();
    far.run(|| tc("add dev v1 root netem delay 10ms limit 10000")).unwrap();
}

fn up(links: &mut Links, name: &str, address: Ipv4Addr) {
    links.disable_offloads(name).unwrap();
    links.add_address(name, address.into(), 24).unwrap();
    links.set_link_up(name, true).unwrap();
}

fn tc(arguments: &str) {
    let words: Vec<_> = ["qdisc"].into_iter().chain(arguments.split_whitespace()).collect();
    succeed("tc", &words);
}

fn choose(socket: &impl AsFd, control: &str) {
    setsockopt(&socket.as_fd(), TcpCongestion, &OsString::from(control)).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "both ends run beside the samples")]
fn flow((far, middle): (&Namespace, &Namespace), control: &str, windows: &WindowReader) -> Value {
    let to = SocketAddr::from((FAR, PORT));
    let listener = far.run(|| TcpListener::bind(to)).unwrap().unwrap();
    choose(&listener, control);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    choose(&socket, control);
    socket.connect(&to.into()).unwrap();
    let mut out = TcpStream::from(socket);
    let (mut into, _) = listener.accept().unwrap();
    let end = out.try_clone().unwrap();
    let writer = thread::spawn(move || while out.write_all(&[7; 16_384]).is_ok() {});
    let reader = thread::spawn(move || {
        let (mut buffer, mut received) = (vec![0; 65_536], 0);
        while let Ok(n @ 1..) = into.read(&mut buffer) {
            received += n as u64;
        }
        received
    });
    let start = std::time::Instant::now();
    let (mut cwnd, mut alpha) = (Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        thread::sleep(INTERVAL);
        let window = windows.read(control, FAR);
        if sample >= WARM_UP {
            cwnd.push(window.cwnd);
            alpha.push(window.alpha);
        }
    }
    // Before the FIN, which is not ECN-capable: `red` may drop it.
    let statistics = middle.run(|| succeed("tc", &["-s", "-j", "qdisc"])).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    end.shutdown(std::net::Shutdown::Both).unwrap();
    writer.join().unwrap();
    let received = reader.join().unwrap();
    let queue: Value = serde_json::from_str(&statistics).unwrap();
    let red = queue.as_array().unwrap().iter().find(|q| q["kind"] == "red").cloned();
    json!({
        "control": control,
        "cwnd": cwnd,
        "alpha": alpha,
        "mbit_per_s": received as f64 * 8e-6 / seconds,
        "red": red,
    })
}
