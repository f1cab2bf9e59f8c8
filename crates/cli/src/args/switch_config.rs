//! `lowtide import` and `lowtide export`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use lowtide_switch_config::Vendor;
use lowtide_units::{Bytes, parse_bytes};

use super::ScenarioArgs;

pub(super) const IMPORT_EXAMPLES: &str = "\
The files are those of one switch: its config_db.json, or parts of it (WRED_PROFILE, QUEUE,
BUFFER_POOL, BUFFER_PROFILE, BUFFER_QUEUE, PORT). docs/howto/switches.md has the rules.

Examples:
  lowtide import sonic config_db.json                     if all egress queues are alike
  lowtide import sonic qos.json buffers.json --queue 0    the settings of queue 0";

pub(super) const EXPORT_EXAMPLES: &str = "\
Untested on hardware: the syntax follows vendor documents only. Only what the switch can express is
exported; anything else is an error that names the key. Comments name the documents, what happens to
packets that are not ECT, what was rounded, and what is not exported; SONiC's JSON has no comments,
so they are on stderr. docs/howto/switches.md has the rules.

Examples:
  lowtide export sonic leaf-spine -s switch.mark.not-ect=drop --ports Ethernet0,Ethernet4
  lowtide export sonic mine.toml --merge config_db.json --ports Ethernet0 > merged.json
  lowtide export cumulus leaf-spine --ports swp1,swp2 --queue 3
  lowtide export junos leaf-spine --queue-memory '400 kB'    K as a percentage";

/// Format of a configuration that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Tables of SONiC's CONFIG_DB, JSON.
    Sonic,
}

/// Parses the name of a switch's operating system.
pub(super) fn vendor() -> impl TypedValueParser<Value = Vendor> {
    let values = Vendor::ALL.map(|v| PossibleValue::new(v.name()).help(v.title()));
    PossibleValuesParser::new(values).try_map(|name| {
        let named = Vendor::ALL.into_iter().find(|vendor| vendor.name() == name);
        named.ok_or("no such switch")
    })
}

/// Parses `400 kB`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Format
    #[arg(value_enum)]
    pub(crate) format: ImportFormat,
    /// Files of one switch
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Port whose settings are read; default: all, if they are alike
    #[arg(long, value_name = "NAME")]
    pub(crate) port: Option<String>,
    /// Egress queue whose settings are read; default: all, if they are alike
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) queue: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Operating system of the switch
    #[arg(value_parser = vendor())]
    pub(crate) switch: Vendor,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Pipe of the scenario with the marker of these ports, as `leaf-spine` of `advise`; needed if
    /// ports differ in their markers
    #[arg(long, value_name = "NAME")]
    pub(crate) pipe: Option<String>,
    /// Ports of the switch; default: the first one as an example (nxos, junos: none)
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) ports: Vec<String>,
    /// Egress queue
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) queue: u8,
    /// Present configuration of the switch (sonic): the output is the whole of it with the changes,
    /// which are listed on stderr
    #[arg(long, value_name = "FILE")]
    pub(crate) merge: Option<PathBuf>,
    /// With --merge: the queue may have another WRED profile, which is replaced
    #[arg(long, requires = "merge")]
    pub(crate) replace: bool,
    /// IP bytes of a packet, for thresholds in packets
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
          value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) packet: u32,
    /// Memory of the queue, for Junos, whose thresholds are percentages of it; default: the fixed
    /// limit of the scenario, if it has one
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) queue_memory: Option<Bytes>,
}
