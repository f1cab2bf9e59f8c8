//! Sends scripted data with CE to a socket of the kernel, once with each control, and reports the
//! ACKs: the receiving half of DCTCP.

use std::io::Read;

use lowtide_live::Device;
use lowtide_wire::Ecn;
use serde_json::json;

use super::patterns::connect;
use super::{Report, peer};

/// Segments of the script.
const SEGMENTS: u32 = 300;

/// CE of a segment: single marks, pairs, runs of several lengths.
fn marked(segment: u32) -> bool {
    matches!(segment % 40, 3 | 9 | 10 | 15..=17 | 22..=27 | 31 | 33)
}

pub(super) fn run(device: &Device, report: &mut Report) {
    for control in ["dctcp", "lt_dctcp"] {
        let (mut socket, mut peer) = connect(device, control);
        while peer.acks.is_empty() {
            peer.poll();
            peer::pause();
        }
        let mut buffer = [0; 4096];
        for segment in 0..SEGMENTS {
            let ecn = if marked(segment) { Ecn::Ce } else { Ecn::Ect0 };
            peer.send_data(ecn, segment % 50 == 11);
            while socket.read(&mut buffer).is_ok_and(|n| n > 0) {}
            peer.poll();
        }
        report.line(&json!({ "received": SEGMENTS, "control": control, "acks": peer.acks }));
        peer.reset();
    }
}
