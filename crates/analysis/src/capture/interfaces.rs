//! The interfaces of a pcapng file.
//!
//! Contract: a file may have several sections, each with its own list of interfaces. Interfaces of
//! two sections are identical if they have the same name and the same position among those of that
//! name. Joined files of one host thus remain one capture.

use std::collections::BTreeMap;

use super::link_type::LinkType;

/// Limit on interfaces; no capture has more.
const MAX_INTERFACES: usize = 65_536;
/// Characters of a name that are kept.
const MAX_NAME_CHARS: usize = 64;

/// An interface of a capture file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name, if the file states it; at most 64 characters.
    pub name: Option<String>,
    /// Packets that the capture lost at this interface (`isb_ifdrop` and `isb_osdrop` of its
    /// statistics), if the file states it.
    pub dropped: Option<u64>,
}

/// Link type and timestamp format of an interface's records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterfaceDescription {
    pub(crate) link_type: LinkType,
    /// Timestamp units per second.
    pub(crate) units_per_second: u64,
    /// Seconds added to timestamps.
    pub(crate) offset: i64,
    pub(crate) snaplen: u32,
    /// Number of the interface in the whole file.
    pub(crate) number: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    /// Interfaces of the whole file.
    all: Vec<Interface>,
    /// Interfaces of the current section.
    section: Vec<InterfaceDescription>,
    /// Interfaces described in the whole file; one in several sections counts several times.
    described: usize,
    /// Numbers by name and position among the interfaces of that name in a section.
    numbers: BTreeMap<(Option<String>, u32), u32>,
    /// Interfaces of each name in the current section.
    named: BTreeMap<Option<String>, u32>,
}

impl Interfaces {
    pub(crate) fn begin_section(&mut self) {
        self.section.clear();
        self.named.clear();
    }

    /// Adds the next interface of the section. Returns false if there are too many.
    pub(crate) fn describe(&mut self, format: InterfaceDescription, name: Option<String>) -> bool {
        if self.described >= MAX_INTERFACES {
            return false;
        }
        self.described += 1;
        let name = name.map(|n| n.chars().take(MAX_NAME_CHARS).collect::<String>());
        let name = name.filter(|n| !n.is_empty());
        let before = self.named.entry(name.clone()).or_default();
        let key = (name.clone(), *before);
        *before += 1;
        let all = &mut self.all;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            all.push(Interface { name, dropped: None });
            all.len() as u32 - 1
        });
        self.section.push(InterfaceDescription { number, ..format });
        true
    }

    /// Returns interface `id` of the section.
    pub(crate) fn get(&self, id: u32) -> Option<&InterfaceDescription> {
        self.section.get(id as usize)
    }

    /// Adds statistics of an interface. They count from its beginning, so the maximum is kept.
    pub(crate) fn on_statistics(&mut self, id: u32, dropped: u64) {
        let number = self.get(id).map(|f| f.number as usize);
        if let Some(interface) = number.and_then(|n| self.all.get_mut(n)) {
            interface.dropped = interface.dropped.max(Some(dropped));
        }
    }

    pub(crate) fn all(&self) -> &[Interface] {
        &self.all
    }
}
