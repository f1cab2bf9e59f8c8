//! The lines of a switch, with the notes that belong to them.

use std::fmt::Write as _;

use lowtide_units::Bytes;
use serde_json::Value;

use crate::error::ConfigError;
use crate::vendor::Vendor;

/// Ports and queue that an export is for.
#[derive(Clone, Default, Debug)]
pub struct Placement {
    /// Names of the ports, as `Ethernet0`; empty: the first port of the switch, as an example.
    pub ports: Vec<String>,
    /// Number of the egress queue.
    pub queue: u8,
    /// Memory of the queue, of which Junos takes percentages.
    pub queue_memory: Option<Bytes>,
}

impl Placement {
    /// The ports, else `example`.
    pub(crate) fn ports_or(&self, example: &str) -> Vec<String> {
        if self.ports.is_empty() { vec![example.to_owned()] } else { self.ports.clone() }
    }

    /// Checks that the switch has the queue, and that its thresholds are in bytes if `in_bytes`.
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
        if in_bytes && self.queue_memory.is_some() {
            let problem = "its thresholds are no percentages: leave out --queue-memory";
            return Err(ConfigError::placement(vendor, problem));
        }
        Ok(())
    }
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
    /// Sentences: sources, packets that are not ECT, rounding, settings that are left out.
    pub notes: Vec<String>,
}

impl Configuration {
    pub(crate) fn new(vendor: Vendor, content: Content, notes: Vec<String>) -> Self {
        let sources = vendor
            .sources()
            .iter()
            .map(|s| format!("Source: {}, {}, {}", s.title, s.version, s.url));
        let untried = "Written from these documents; not tried on a switch.".to_owned();
        Self { vendor, content, notes: sources.chain([untried]).chain(notes).collect() }
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
            let _ = writeln!(file, "{before}{note}{after}");
        }
        file + lines
    }
}
