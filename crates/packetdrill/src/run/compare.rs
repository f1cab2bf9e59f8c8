//! Compares a sent packet with the line that expects it, field by field.

use super::inbound::payload_byte;
use super::notation::{self, flags, list};
use super::observed::ObservedPacket;
use super::peer::{Peer, ScriptPacket, tuple_of};
use super::setup::Setup;
use crate::script::{PacketSpec, TcpOption};

/// One text per differing field; empty if the packet matches.
pub(super) fn differences(
    spec: &PacketSpec,
    observed: &ObservedPacket,
    peer: &mut Peer,
    setup: &Setup,
) -> Vec<String> {
    let mut out = Vec::new();
    let segment = &observed.segment;
    let mut field = |name: &str, got: String, expected: String| {
        if got != expected {
            out.push(format!("{name}: {got}, expected {expected}"));
        }
    };
    if let Some(expected) = peer.tuple() {
        let got = tuple_of(observed);
        field("from port", got.local_port.to_string(), expected.local_port.to_string());
        field("to port", got.remote_port.to_string(), expected.remote_port.to_string());
        field("from address", got.local.to_string(), expected.local.to_string());
        field("to address", got.remote.to_string(), expected.remote.to_string());
    }
    if let Some(ecn) = spec.ecn
        && !ecn.matches(segment.ecn)
    {
        field("ECN", notation::ecn(segment.ecn).text().to_string(), ecn.text().to_string());
    }
    field("flags", flags(segment.flags), flags(spec.flags));
    let ScriptPacket(got) = peer.in_script_numbers(observed);
    field("sequence number", got.seq.to_string(), spec.seq.to_string());
    field("length", segment.payload_len.to_string(), spec.len.to_string());
    if let (Some(ack), Some(got)) = (spec.ack, got.ack) {
        field("ack", got.to_string(), ack.to_string());
    }
    if let Some(window) = spec.window {
        field("win", segment.window.to_string(), window.to_string());
    }
    field("urg", segment.urgent.to_string(), spec.urgent.to_string());
    if let Some(at) = wrong_byte(observed, peer) {
        field("payload", format!("wrong from its byte {at} on"), "the written bytes".to_string());
    }
    if let Some(expected) = &spec.options {
        options(expected, observed, &got.options.unwrap_or_default(), peer, setup, &mut out);
    }
    out
}

/// Index of the first payload byte that the application did not write there.
fn wrong_byte(observed: &ObservedPacket, peer: &Peer) -> Option<usize> {
    let first = peer.local_offset(observed.segment.seq.raw())?;
    let right = |(i, byte): (usize, &u8)| *byte == payload_byte(first.wrapping_add(i as u32));
    observed.payload.iter().enumerate().position(|pair| !right(pair))
}

fn options(
    expected: &[TcpOption],
    observed: &ObservedPacket,
    shown: &[TcpOption],
    peer: &mut Peer,
    setup: &Setup,
    out: &mut Vec<String>,
) {
    let kinds =
        |options: &[TcpOption]| -> Vec<_> { options.iter().map(std::mem::discriminant).collect() };
    if kinds(expected) != kinds(shown) {
        let show = |options: &[TcpOption]| format!("<{}>", list(options));
        out.push(format!("options: {}, expected {}", show(shown), show(expected)));
        return;
    }
    for ((expected, shown), found) in expected.iter().zip(shown).zip(&observed.options) {
        let (
            TcpOption::Timestamps { value, echo },
            // Timestamps are mapped here, one by one.
            TcpOption::Timestamps { value: got_value, echo: got_echo },
        ) = (expected, found)
        else {
            if expected != shown {
                out.push(format!("option: {shown}, expected {expected}"));
            }
            continue;
        };
        if got_echo != echo {
            out.push(format!("TSecr: {got_echo}, expected {echo}"));
        }
        let first = peer.first_stamp();
        let stands_for = peer.map_timestamp(*value, *got_value);
        let apart = got_value.wrapping_sub(stands_for).cast_signed();
        // Two departures that the script has at one instant may be ticks apart in real time.
        let ticks = if setup.real_time { setup.tolerance.as_ms() } else { 0 };
        if u64::from(apart.unsigned_abs()) > ticks {
            out.push(format!("TSval: {apart} ticks after the one that was {value} before"));
        } else if let (Some((script, wire)), Some(tick)) = (first, setup.tick) {
            // With a tick configured, the differences must also agree, within the tolerance.
            let stated = i64::from(value.wrapping_sub(script).cast_signed());
            let ticked = i64::from(got_value.wrapping_sub(wire).cast_signed());
            let slack = (setup.tolerance.as_ps() / tick.as_ps().max(1)) as i64;
            if (stated - ticked).abs() > slack {
                out.push(format!("TSval: {ticked} ticks after the first one, expected {stated}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;
    use crate::script::Script;
    use crate::stack::{Stack, StackSettings};

    #[test]
    fn wrong_byte_is_found_at_its_offset() {
        let script = Script::parse("x", "").unwrap();
        let mut peer = Peer::new(&Setup::read(&script, &RunOptions::default()).unwrap());
        let mut stack = Stack::new(StackSettings::default());
        let fd = stack.socket(false);
        let remote = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
        assert!(stack.connect(fd, remote, 8080).is_err(), "it would wait");
        let syn = ObservedPacket::read(&stack.take_packet().unwrap().bytes).unwrap();
        peer.on_host_packet(&syn, None);

        let mut data = syn;
        data.segment.seq = data.segment.seq.add(1 + 700);
        data.payload = (700..800).map(payload_byte).collect();
        assert_eq!(wrong_byte(&data, &peer), None);
        data.payload[42] ^= 1;
        assert_eq!(wrong_byte(&data, &peer), Some(42));
    }
}
