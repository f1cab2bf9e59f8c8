//! `lowtide import` and `lowtide export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ScenarioArgs;

pub(super) const IMPORT_EXAMPLES: &str = "\
The files are those of one switch: its config_db.json, or parts of it (WRED_PROFILE, QUEUE,
BUFFER_POOL, BUFFER_PROFILE, BUFFER_QUEUE, PORT). docs/howto/switches.md has the rules.

Examples:
  lowtide import sonic config_db.json                     if all egress queues are alike
  lowtide import sonic qos.json buffers.json --queue 0    the settings of queue 0";

pub(super) const EXPORT_EXAMPLES: &str = "\
Only what SONiC can express is exported; anything else is an error that names the key.
docs/howto/switches.md has the rules.

Examples:
  lowtide export sonic leaf-spine -s switch.mark.not-ect=drop --ports Ethernet0,Ethernet4
  lowtide export sonic mine.toml -s switch.mark.k='97500 B' > lowtide.json";

/// Format of the configuration of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SwitchFormat {
    /// Tables of SONiC's CONFIG_DB, JSON.
    Sonic,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Format
    #[arg(value_enum)]
    pub(crate) format: SwitchFormat,
    /// Files of one switch
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Egress queue whose settings are read; default: all, if they are alike
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) queue: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Format
    #[arg(value_enum)]
    pub(crate) format: SwitchFormat,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Ports of the switch
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "Ethernet0")]
    pub(crate) ports: Vec<String>,
    /// Egress queue
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(crate) queue: u8,
    /// IP bytes of a packet, for thresholds in packets
    #[arg(long, value_name = "BYTES", default_value_t = 1500,
          value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub(crate) packet: u32,
}
