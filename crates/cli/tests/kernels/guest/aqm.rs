//! Queueing disciplines of the kernel behind a token bucket, with one scripted arrival sequence
//! each. The times of the arrivals and the counts of the discipline are reported.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::{Value, json};

use super::{Report, succeed};
use crate::aqm::{BURST, CASES, Case, PAYLOAD, RATE_MBIT, gap};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 9, 2, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 9, 2, 2);

/// ECT(0) in the TOS byte.
const ECT0: i32 = 2;
/// Linux's PIE updates its probability for the first time half a second after `tc` made it.
const WARM_UP: Duration = Duration::from_secs(1);

pub(super) fn run(report: &mut Report) {
    netns::enter_new().unwrap();
    let mut links = Links::open().unwrap();
    let end = |name| VethEnd { name, namespace: None };
    links.add_veth(&end("q0"), &end("q1"), 1500).unwrap();
    links.add_address("q0", HERE.into(), 24).unwrap();
    for name in ["q0", "q1"] {
        links.disable_offloads(name).unwrap();
        links.set_link_up(name, true).unwrap();
    }
    // The other end answers no address request.
    let neighbour = format!("neigh add {THERE} lladdr 02:00:00:00:00:02 dev q0");
    succeed("ip", &neighbour.split(' ').collect::<Vec<_>>());
    for case in &CASES {
        report.line(&measure(case));
    }
}

fn tc(arguments: &str) -> String {
    succeed("tc", &arguments.split_whitespace().collect::<Vec<_>>())
}

#[expect(clippy::disallowed_methods, reason = "packets are sent at their times")]
fn measure(case: &Case) -> Value {
    tc(&format!(
        "qdisc add dev q0 root handle 1: tbf rate {RATE_MBIT}mbit burst {BURST} limit 64000000"
    ));
    tc(&format!("qdisc add dev q0 parent 1:1 handle 10: {}", case.qdisc));
    let socket = UdpSocket::bind((HERE, 0)).unwrap();
    // The sender's buffer must not limit the queue.
    setsockopt(&socket, sockopt::SndBufForce, &(256 << 20)).unwrap();
    setsockopt(&socket, sockopt::Ipv4Tos, &if case.ect { ECT0 } else { 0 }).unwrap();
    std::thread::sleep(WARM_UP);
    let (payload, to) = ([7; PAYLOAD], SocketAddr::from((THERE, 9)));
    let (start, mut due) = (Instant::now(), Duration::ZERO);
    let mut arrivals = Vec::new();
    for packet in 0.. {
        let Some(gap) = gap(packet, due) else { break };
        due += gap;
        while let Some(left) = due.checked_sub(start.elapsed()) {
            // Sleeping costs nothing in a machine whose clock skips idle time.
            std::thread::sleep(left);
        }
        arrivals.push(start.elapsed().as_micros() as u64);
        socket.send_to(&payload, to).unwrap();
    }
    // The rest of the queue leaves.
    std::thread::sleep(Duration::from_secs(10));
    let statistics = tc("-s -d -j qdisc show dev q0");
    tc("qdisc del dev q0 root");
    let all: Value = serde_json::from_str(&statistics).unwrap();
    let queue = all.as_array().unwrap().iter().find(|queue| queue["handle"] == "10:");
    json!({ "aqm": case.name, "arrivals": arrivals, "queue": queue })
}
