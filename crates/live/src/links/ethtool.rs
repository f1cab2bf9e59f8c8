//! Offloads of an interface (`ethtool -k`, `ethtool -K`), over generic netlink.

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLA_HEADER_SIZE, NetlinkDeserializable,
    NetlinkHeader, NetlinkSerializable, NlaBuffer, NlasIterator,
};

use super::{Links, missing_attribute};
use crate::error::LiveError;

/// Features that make packets differ from those on the wire: coalesced segments and deferred
/// checksums. Names as in the kernel (`net/ethtool/common.c`).
const OFFLOADS: [&str; 12] = [
    "rx-gro",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
    "tx-checksum-fcoe-crc",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-checksum-sctp",
    "tx-generic-segmentation",
    "tx-scatter-gather",
    "tx-scatter-gather-fraglist",
];
/// Suffix of the segmentation offloads.
const SEGMENTATION: &str = "-segmentation";

fn is_offload(feature: &str) -> bool {
    OFFLOADS.contains(&feature) || feature.ends_with(SEGMENTATION)
}

/// A generic netlink message: a command and its attributes.
#[derive(Debug)]
struct Generic {
    family: u16,
    command: u8,
    attributes: Vec<u8>,
}

/// Command, version, two reserved bytes.
const GENERIC_HEADER: usize = 4;

impl NetlinkSerializable for Generic {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        GENERIC_HEADER + self.attributes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..GENERIC_HEADER].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[GENERIC_HEADER..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for Generic {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let (header_bytes, attributes) = payload
            .split_first_chunk::<GENERIC_HEADER>()
            .ok_or_else(|| DecodeError::from("a message without its header"))?;
        let attributes = attributes.to_vec();
        Ok(Self { family: header.message_type, command: header_bytes[0], attributes })
    }
}

/// Builds an attribute.
fn attribute(kind: u16, value: Vec<u8>) -> Vec<u8> {
    let nla = DefaultNla::new(kind, value);
    let mut bytes = vec![0; nla.buffer_len()];
    nla.emit(&mut bytes);
    bytes
}

fn nested(kind: u16, inner: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | NLA_F_NESTED, inner.concat())
}

fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, [value.as_bytes(), &[0]].concat())
}

/// The values of all attributes of one type.
fn values(bytes: &[u8], kind: u16) -> impl Iterator<Item = &[u8]> {
    let all = NlasIterator::new(bytes).map_while(Result::ok);
    all.filter(move |nla| nla.kind() == kind).map(NlaBuffer::into_inner).filter_map(|whole| {
        let len = usize::from(u16::from_ne_bytes(*whole.first_chunk()?));
        whole.get(NLA_HEADER_SIZE..len)
    })
}

/// Constants of `include/uapi/linux/genetlink.h` and `ethtool_netlink.h`.
mod numbers {
    pub(super) const CTRL: u16 = 0x10;
    pub(super) const CTRL_GET_FAMILY: u8 = 3;
    pub(super) const CTRL_FAMILY_ID: u16 = 1;
    pub(super) const CTRL_FAMILY_NAME: u16 = 2;
    pub(super) const FEATURES_GET: u8 = 11;
    pub(super) const FEATURES_SET: u8 = 12;
    pub(super) const FEATURES_HEADER: u16 = 1;
    pub(super) const FEATURES_WANTED: u16 = 3;
    pub(super) const FEATURES_ACTIVE: u16 = 4;
    pub(super) const HEADER_NAME: u16 = 2;
    pub(super) const BITSET_BITS: u16 = 3;
    pub(super) const BIT: u16 = 1;
    pub(super) const BIT_NAME: u16 = 2;
}
use numbers as n;

impl Links {
    fn ethtool(&mut self, command: u8, attributes: Vec<u8>) -> std::io::Result<Vec<Generic>> {
        let name = text(n::CTRL_FAMILY_NAME, "ethtool");
        let request = Generic { family: n::CTRL, command: n::CTRL_GET_FAMILY, attributes: name };
        let replies = self.generic.request(request, 0)?;
        let id = replies.iter().find_map(|a| values(&a.attributes, n::CTRL_FAMILY_ID).next());
        let id = id.and_then(|bytes| bytes.try_into().ok()).ok_or_else(missing_attribute)?;
        self.generic.request(Generic { family: u16::from_ne_bytes(id), command, attributes }, 0)
    }

    /// Returns the enabled offloads of an interface, by the kernel's names.
    ///
    /// # Errors
    /// The interface does not exist.
    pub fn offloads(&mut self, name: &str) -> Result<Vec<String>, LiveError> {
        self.get(name)?;
        let header = nested(n::FEATURES_HEADER, &[text(n::HEADER_NAME, name)]);
        let replies = self
            .ethtool(n::FEATURES_GET, header)
            .map_err(|e| LiveError::system(format!("query the offloads of `{name}`"), e))?;
        let mut on = Vec::new();
        for reply in &replies {
            let active = values(&reply.attributes, n::FEATURES_ACTIVE);
            let bits = active.flat_map(|set| values(set, n::BITSET_BITS));
            for bit in bits.flat_map(|bits| values(bits, n::BIT)) {
                // In a bitset without a mask, a listed bit is set.
                let feature = values(bit, n::BIT_NAME).next().unwrap_or(&[]);
                let feature = String::from_utf8_lossy(feature);
                let feature = feature.trim_end_matches('\0');
                if is_offload(feature) {
                    on.push(feature.to_owned());
                }
            }
        }
        Ok(on)
    }

    /// Disables every offload, so that each packet is a single segment with its checksum.
    ///
    /// # Errors
    /// The interface does not exist, no permission, or some offloads cannot be disabled; the error
    /// lists them.
    pub fn disable_offloads(&mut self, name: &str) -> Result<(), LiveError> {
        let off: Vec<Vec<u8>> = self
            .offloads(name)?
            .iter()
            .map(|feature| nested(n::BIT, &[text(n::BIT_NAME, feature)]))
            .collect();
        if off.is_empty() {
            return Ok(());
        }
        let wanted = nested(n::FEATURES_WANTED, &[nested(n::BITSET_BITS, &off)]);
        let header = nested(n::FEATURES_HEADER, &[text(n::HEADER_NAME, name)]);
        let what = || format!("disable the offloads of `{name}`");
        self.ethtool(n::FEATURES_SET, [header, wanted].concat())
            .map_err(|e| LiveError::system(what(), e))?;
        let left = self.offloads(name)?;
        if left.is_empty() {
            return Ok(());
        }
        let error = std::io::Error::other(format!("{} cannot be disabled", left.join(", ")));
        Err(LiveError::system(what(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_round_trip() {
        let bit = |name: &str| nested(n::BIT, &[text(n::BIT_NAME, name)]);
        let set = nested(n::FEATURES_ACTIVE, &[nested(n::BITSET_BITS, &[bit("rx-gro"), bit("x")])]);
        let bits = values(&set, n::FEATURES_ACTIVE).flat_map(|s| values(s, n::BITSET_BITS));
        let names: Vec<&[u8]> = bits
            .flat_map(|bits| values(bits, n::BIT))
            .flat_map(|bit| values(bit, n::BIT_NAME))
            .collect();
        assert_eq!(names, [&b"rx-gro\0"[..], b"x\0"]);
        assert_eq!(values(&set[..7], n::FEATURES_ACTIVE).count(), 0, "truncated");
        assert!(is_offload("tx-tcp-mangleid-segmentation") && !is_offload("loopback"));
    }
}
