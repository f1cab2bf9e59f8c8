//! The interfaces that a pcapng file describes.
//!
//! Contract: a file may have several sections, each with its own list of interfaces. Interfaces of
//! the same name at the same position among those of that name are the same one, so that joined
//! files of one host stay one capture.

use std::collections::BTreeMap;

use crate::LinkType;

/// More interfaces than a capture has.
const MAX_INTERFACES: usize = 65_536;
/// Characters of a name that are kept.
const MAX_NAME_CHARS: usize = 64;

/// An interface of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name, where the file states it; at most 64 characters.
    pub name: Option<String>,
    /// Packets that the capture lost there (`isb_ifdrop` and `isb_osdrop` of its statistics), where
    /// stated.
    pub dropped: Option<u64>,
}

/// Link type and stamps of the records of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterfaceDescription {
    pub(crate) link_type: LinkType,
    /// Stamps count units of one second divided by this.
    pub(crate) units_per_second: u64,
    /// Added to stamps, seconds.
    pub(crate) offset: i64,
    pub(crate) snaplen: u32,
    /// Its number in the whole file.
    pub(crate) number: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    /// Of the whole file.
    all: Vec<Interface>,
    /// Of the section at hand.
    section: Vec<InterfaceDescription>,
    /// Described in the whole file, counting an interface once per section.
    described: usize,
    /// Numbers by name and position among those of that name in a section.
    numbers: BTreeMap<(Option<String>, u32), u32>,
    /// Interfaces of each name in the section at hand.
    named: BTreeMap<Option<String>, u32>,
}

impl Interfaces {
    pub(crate) fn begin_section(&mut self) {
        self.section.clear();
        self.named.clear();
    }

    /// The next interface of the section; false where there are too many.
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

    /// The interface of that number in the section.
    pub(crate) fn get(&self, id: u32) -> Option<&InterfaceDescription> {
        self.section.get(id as usize)
    }

    /// Statistics of an interface: they count from the beginning, so the greatest stands.
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
