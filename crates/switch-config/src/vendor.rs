//! The operating systems of switches, and the documents that their lines follow.

use std::fmt;

/// Operating system of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vendor {
    /// SONiC.
    Sonic,
    /// NVIDIA Cumulus Linux, by NVUE.
    Cumulus,
    /// Cisco NX-OS of the Nexus 9000 series.
    Nxos,
    /// Juniper Junos of the QFX series.
    Junos,
}

/// A document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Title.
    pub title: &'static str,
    /// Version or date of the text that was read.
    pub version: &'static str,
    /// Address.
    pub url: &'static str,
}

impl Vendor {
    /// All, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Sonic, Self::Cumulus, Self::Nxos, Self::Junos];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sonic => "sonic",
            Self::Cumulus => "cumulus",
            Self::Nxos => "nxos",
            Self::Junos => "junos",
        }
    }

    /// Name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Sonic => "SONiC",
            Self::Cumulus => "Cumulus Linux",
            Self::Nxos => "Cisco NX-OS",
            Self::Junos => "Juniper Junos",
        }
    }

    /// Name of a file with its lines.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Sonic => "sonic.json",
            Self::Cumulus => "cumulus.sh",
            Self::Nxos => "nxos.cfg",
            Self::Junos => "junos.conf",
        }
    }

    /// The documents that define the lines.
    pub const fn sources(self) -> &'static [Source] {
        match self {
            Self::Sonic => &[Source {
                title: "YANG model sonic-wred-profile",
                version: "revision 2026-06-23",
                url: "https://github.com/sonic-net/sonic-buildimage",
            }],
            Self::Cumulus => &[
                Source {
                    title: "Cumulus Linux User Guide, Quality of Service",
                    version: "5.17",
                    url: "https://github.com/CumulusNetworks/docs/blob/0270baa1191be94e10d205a486c\
                          4fac1b09a0014/content/cumulus-linux-517/Layer-1-and-Switch-Ports/Quality\
                          -of-Service/_index.md",
                },
                Source {
                    title: "NVUE Reference, QoS",
                    version: "commands since 5.3 and 5.4",
                    url: "https://docs.nvidia.com/networking-ethernet-software/nvue-reference/\
                          Set-and-Unset-Commands/QoS/",
                },
                Source {
                    title: "Linux, mlxsw: spectrum_qdisc: Offload RED ECN nodrop mode",
                    version: "8040c96b4fc6",
                    url: "https://git.zx2c4.com/linux-dev/commit/\
                          ?id=8040c96b4fc60d2f2c7e7eb3bfe65b633a30af90",
                },
            ],
            Self::Nxos => &[
                Source {
                    title: "Microsoft, Azure Local: QoS policy of a Cisco Nexus switch",
                    version: "2026",
                    url: "https://github.com/Azure/AzureLocal-Supportability/blob/main/TSG/\
                          Networking/Top-Of-Rack-Switch/\
                          Reference-TOR-QOS-Policy-Configuration.md",
                },
                Source {
                    title: "Cisco Nexus 9000 NX-OS QoS Configuration Guide, Queuing and Scheduling",
                    version: "10.5(x), of which only the beginning was read",
                    url: "https://www.cisco.com/c/en/us/td/docs/dcn/nx-os/nexus9000/105x/\
                          configuration/qos/cisco-nexus-9000-series-nx-os-quality-of-service-\
                          configuration-guide-105x/m-configuring-queuing-and-scheduling.html",
                },
            ],
            Self::Junos => &[
                Source {
                    title: "Juniper, Configuring CoS WRED Drop Profiles",
                    version: "traffic-mgmt-qfx",
                    url: "https://www.juniper.net/documentation/us/en/software/junos/\
                          traffic-mgmt-qfx/topics/task/cos-drop-profiles-qfx-series-cli.html",
                },
                Source {
                    title: "Juniper, Example: Configuring ECN, older edition",
                    version: "Junos 13.2X51-D25 and later",
                    url: "https://www.juniper.net/documentation/cn/zh/software/junos/cos/topics/\
                          example/cos-schedulers-explicit-congestion-notification-configuring.html",
                },
                Source {
                    title: "Juniper Validated Design, AI Data Center Multitenancy, QFX5240",
                    version: "Junos Evolved, read in a collection of its configurations",
                    url: "https://www.juniper.net/documentation/us/en/software/jvd/\
                          jvd-ai-dc-evpn-multitenancy/index.html",
                },
            ],
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
