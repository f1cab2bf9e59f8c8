//! The operating systems of switches.

use std::fmt;

lowtide_units::named_enum! {
    /// Operating system of a switch.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Vendor ALL {
        /// SONiC.
        Sonic = "sonic",
        /// NVIDIA Cumulus Linux, by NVUE.
        Cumulus = "cumulus",
        /// Cisco NX-OS of the Nexus 9000 series.
        Nxos = "nxos",
        /// Juniper Junos of the QFX series.
        Junos = "junos",
    }
}

impl Vendor {
    /// Name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sonic => "SONiC",
            Self::Cumulus => "Cumulus Linux",
            Self::Nxos => "Cisco NX-OS",
            Self::Junos => "Juniper Junos",
        }
    }

    /// A port, as the switch names it.
    pub const fn example_port(self) -> &'static str {
        match self {
            Self::Sonic => "Ethernet0",
            Self::Cumulus => "swp1",
            Self::Nxos => "Ethernet1/1",
            Self::Junos => "et-0/0/0",
        }
    }

    /// Beginnings of the names of its ports.
    pub(crate) const fn port_prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Sonic => &["Ethernet"],
            Self::Cumulus => &["swp"],
            Self::Nxos => &["Ethernet", "ethernet", "Eth", "eth"],
            Self::Junos => &["et-", "xe-", "ge-", "mge-"],
        }
    }

    /// Name of a file with its configuration.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Sonic => "sonic.json",
            Self::Cumulus => "cumulus.sh",
            Self::Nxos => "nxos.cfg",
            Self::Junos => "junos.conf",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
