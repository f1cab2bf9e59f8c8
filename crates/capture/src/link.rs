//! What stands before the IP header (link types of <https://www.tcpdump.org/linktypes.html>).

use crate::{Point, Unread};

// EtherTypes.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAG: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Packet type of Linux cooked captures: sent by the capturing host.
const OUTGOING: u16 = 4;
/// Tags on one frame.
const MOST_TAGS: usize = 4;

/// A link type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link(pub i32);

impl Link {
    /// The IP packet in a frame.
    ///
    /// # Errors
    /// Something else than IP, a frame too short, or a link type that is not known.
    pub fn packet(self, frame: &[u8]) -> Result<&[u8], Unread> {
        match self.0 {
            0 | 108 => frame.get(4..).ok_or(Unread::Short),
            1 => {
                let mut at = 12;
                let mut kind = number(frame, at)?;
                for _ in 0..MOST_TAGS {
                    if TAG.contains(&kind) {
                        at += 4;
                        kind = number(frame, at)?;
                    }
                }
                ip(kind, frame, at + 2)
            }
            // DLT_RAW as some systems number it, and as the list does.
            12 | 14 | 101 | 228 | 229 => Ok(frame),
            113 => ip(number(frame, 14)?, frame, 16),
            276 => ip(number(frame, 0)?, frame, 20),
            other => Err(Unread::Link(other)),
        }
    }

    /// Capture point of a frame, if its link header states it.
    pub fn point(self, frame: &[u8]) -> Point {
        let mut point = Point::default();
        match self.0 {
            1 if number(frame, 12).is_ok_and(|kind| TAG.contains(&kind)) => {
                point.vlan = number(frame, 14).ok().map(|tag| tag & 0x0fff);
            }
            113 => point.outgoing = number(frame, 0).ok().map(|kind| kind == OUTGOING),
            276 => {
                let index = frame.get(4..).and_then(<[u8]>::first_chunk);
                point.device = index.map(|b| u32::from_be_bytes(*b));
            }
            _ => {}
        }
        point
    }

    /// Its usual name.
    pub fn name(self) -> String {
        match self.0 {
            0 => "loopback (null)".to_owned(),
            108 => "loopback".to_owned(),
            1 => "Ethernet".to_owned(),
            12 | 14 | 101 | 228 | 229 => "raw IP".to_owned(),
            113 => "Linux cooked v1".to_owned(),
            276 => "Linux cooked v2".to_owned(),
            other => format!("link type {other}"),
        }
    }
}

fn number(frame: &[u8], at: usize) -> Result<u16, Unread> {
    let bytes = frame.get(at..at + 2).ok_or(Unread::Short)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn ip(kind: u16, frame: &[u8], at: usize) -> Result<&[u8], Unread> {
    match kind {
        IPV4 | IPV6 => frame.get(at..).ok_or(Unread::Short),
        _ => Err(Unread::NotIp),
    }
}
