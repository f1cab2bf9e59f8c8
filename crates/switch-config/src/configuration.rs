//! Switch configuration, with the notes that belong to it.

use std::fmt::Write as _;

use lowtide_output::comment;
use lowtide_units::Bytes;
use serde_json::Value;

use crate::error::ConfigError;
use crate::settings::{NotEct, Settings, Signal};
use crate::vendor::Vendor;

/// First note of every configuration.
const UNTESTED: &str = "Untested on hardware: the syntax follows vendor documents only.";

/// The documents, in one table for all switches.
const SOURCES: &str =
    concat!("Sources: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/howto/switches.md#sources");

/// Packets that WRED with ECN drops although their hosts use ECN (RFC 3168 §6.1).
const NOT_ECT_TRAFFIC: &str = "SYN, SYN-ACK, pure ACKs and retransmissions of hosts with RFC 3168 \
    ECN are not ECT, nor are DNS, ICMP and BGP. A lost SYN costs a second. Put control traffic and \
    hosts without ECN into a separate queue.";

/// The error of thresholds and sizes: 1500 B of IP are 1524 B (six cells of 254 B) to 1664 B (eight
/// cells of 208 B), which lowers K by 2 to 10 %.
const UNITS: &str = "Lengths are bytes of IP packets, as simulated. A switch counts Ethernet \
    frames in whole cells, of 200 to 420 B: with packets of 1500 B it reaches K at 2 to 10 % fewer \
    packets, with short packets much earlier.";

/// Ports and queue that an export is for.
#[derive(Clone, Default, Debug)]
pub struct Placement {
    /// Names of the ports, as `Ethernet0`. Empty: the first port as an example, or no port if the
    /// configuration need not name one.
    pub ports: Vec<String>,
    /// Number of the egress queue.
    pub queue: u8,
    /// Memory of the queue; Junos has thresholds as percentages of it.
    pub queue_memory: Option<Bytes>,
    /// Class of the ports, `leaf-spine`, which becomes a part of the names of profiles, so that
    /// several classes have separate profiles. Empty: all ports are alike.
    pub class: String,
}

impl Placement {
    /// The ports, else `example`.
    pub(crate) fn ports_or(&self, example: &str) -> Vec<String> {
        if self.ports.is_empty() { vec![example.to_owned()] } else { self.ports.clone() }
    }

    /// The name of a profile or policy: `name` with the class of the ports.
    pub(crate) fn profile(&self, name: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let class: String = self.class.chars().map(plain).collect();
        if class.is_empty() { name.to_owned() } else { format!("{name}-{class}") }
    }

    /// Checks that the switch has the queue, that its thresholds are in bytes if `in_bytes`, and
    /// that the ports can be names of ports.
    pub(crate) fn check(
        &self,
        vendor: Vendor,
        queues: u8,
        in_bytes: bool,
    ) -> Result<(), ConfigError> {
        if self.queue >= queues {
            let (last, queue) = (queues - 1, self.queue);
            let problem = format!("its egress queues are 0 to {last}, not {queue}");
            return Err(ConfigError::placement(vendor, problem));
        }
        if let Some(port) = self.ports.iter().find(|port| !is_port_name(vendor, port)) {
            let blank = if vendor == Vendor::Nxos { ", with one blank inside" } else { "" };
            let problem = format!(
                "`{port}` cannot be the name of a port: it has letters, digits and `/.:_-`{blank}, as \
                 in `--ports {}`",
                vendor.example_port()
            );
            return Err(ConfigError::placement(vendor, problem));
        }
        let prefixes = vendor.port_prefixes();
        let is_known = |port: &&String| prefixes.iter().any(|prefix| port.starts_with(prefix));
        if let Some(port) = self.ports.iter().find(|port| !is_known(port)) {
            let problem = format!(
                "`{port}` is no port of it: their names begin with {}",
                prefixes.join(", ")
            );
            return Err(ConfigError::placement(vendor, problem));
        }
        if in_bytes && self.queue_memory.is_some() {
            let problem = "its thresholds are no percentages: leave out --queue-memory";
            return Err(ConfigError::placement(vendor, problem));
        }
        Ok(())
    }
}

/// Longest name of a port, bytes: more than any of these systems has.
const MAX_PORT_NAME: usize = 64;

/// Whether a name has only characters that are in names and ranges of ports: no configuration
/// language gives them another meaning. NX-OS also writes `Ethernet 1/1`.
fn is_port_name(vendor: Vendor, name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.:_-".contains(c);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_plain);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let words = match (vendor, name.split_once(' ')) {
        (Vendor::Nxos, Some((kind, number))) => is_word(kind) && is_word(number),
        _ => is_word(name),
    };
    name.len() <= MAX_PORT_NAME && begins && words
}

/// The input of a switch.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// Tables, as SONiC reads them.
    Json(Value),
    /// Lines of text, each with its line end.
    Lines(String),
}

/// The configuration of a switch for one queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Configuration {
    /// The switch that reads it.
    pub vendor: Vendor,
    /// Tables or lines.
    pub content: Content,
    /// Sentences: sources, packets that are not ECT, rounding, settings that are not exported.
    pub notes: Vec<String>,
}

impl Configuration {
    /// Adds the notes that all switches share to `particular`, those of one switch.
    pub(crate) fn new(
        vendor: Vendor,
        settings: &Settings,
        content: Content,
        particular: Vec<String>,
    ) -> Self {
        let mut notes = vec![UNTESTED.to_owned(), SOURCES.to_owned()];
        notes.extend(particular);
        if settings.marking.is_some_and(|m| m.signal == Signal::Mark(NotEct::Drop)) {
            notes.push(NOT_ECT_TRAFFIC.to_owned());
        }
        notes.push(UNITS.to_owned());
        Self { vendor, content, notes }
    }

    /// The text of a file for the switch. Lines have the notes as comments; JSON has none.
    pub fn file(&self) -> String {
        let lines = match &self.content {
            Content::Json(tables) => return format!("{tables:#}\n"),
            Content::Lines(lines) => lines,
        };
        let (before, after) = match self.vendor {
            Vendor::Nxos => ("! ", ""),
            Vendor::Junos => ("/* ", " */"),
            Vendor::Sonic | Vendor::Cumulus => ("# ", ""),
        };
        let mut file = String::new();
        for note in &self.notes {
            let _ = writeln!(file, "{before}{}{after}", comment::text(note));
        }
        file + lines
    }
}
