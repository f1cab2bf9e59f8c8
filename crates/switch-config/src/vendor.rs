//! The operating systems of switches, and the documents that their configuration follows.

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

    /// A port, as the switch names it.
    pub(crate) const fn example_port(self) -> &'static str {
        match self {
            Self::Sonic => "Ethernet0",
            Self::Cumulus => "swp1",
            Self::Nxos => "Ethernet1/1",
            Self::Junos => "et-0/0/0",
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

    /// The documents that define the configuration.
    pub const fn sources(self) -> &'static [Source] {
        match self {
            Self::Sonic => &[
                Source {
                    title: "YANG model sonic-wred-profile",
                    version: "revision 2026-06-23",
                    url: "https://github.com/sonic-net/sonic-buildimage",
                },
                Source {
                    title: "SAI, inc/saiwred.h",
                    version: "0e1fcb6f5551",
                    url: "https://github.com/opencomputeproject/SAI/blob/0e1fcb6f555140d762dd28cb8d\
                          764a25c2cc102d/inc/saiwred.h",
                },
                Source {
                    title: "sonic-swss #4718 and #4719, one threshold for ECT and not ECT",
                    version: "July 2026",
                    url: "https://github.com/sonic-net/sonic-swss/issues/4718",
                },
                Source {
                    title: "Netberg, WRED and ECN, which transmits packets that are not ECT",
                    version: "sonic-202012",
                    url: "https://netbergtw.com/top-support/netberg-sonic/wred-and-ecn/",
                },
                Source {
                    title: "SONiC, WRED and ECN statistics",
                    version: "0.1",
                    url: "https://github.com/sonic-net/SONiC/blob/65f1020317768c83efc322c2369640a32\
                          10175d2/doc/qos/ECN_and_WRED_statistics_HLD.md",
                },
                Source {
                    title: "Ansible, dellemc.enterprise_sonic.sonic_qos_buffer",
                    version: "3.0.0",
                    url: "https://docs.ansible.com/ansible/12/collections/dellemc/enterprise_sonic/\
                          sonic_qos_buffer_module.html",
                },
            ],
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
                    title: "Microsoft, Azure Local: QoS policy of a Cisco Nexus switch, RDMA sample",
                    version: "2026",
                    url: "https://github.com/Azure/AzureLocal-Supportability/blob/main/TSG/\
                          Networking/Top-Of-Rack-Switch/\
                          Reference-TOR-QOS-Policy-Configuration.md",
                },
                Source {
                    title: "Cisco Nexus 9000 NX-OS QoS Configuration Guide, Queuing and Scheduling",
                    version: "10.5(x), of which introduction and limitations were read",
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
                    title: "Juniper, fill-level",
                    version: "traffic-mgmt-qfx",
                    url: "https://www.juniper.net/documentation/us/en/software/junos/\
                          traffic-mgmt-qfx/topics/ref/statement/\
                          fill-level-edit-class-of-service.html",
                },
                Source {
                    title: "Juniper, CoS Support on QFX Series Switches",
                    version: "traffic-mgmt-qfx",
                    url: "https://www.juniper.net/documentation/us/en/software/junos/\
                          traffic-mgmt-qfx/topics/concept/cos-qfx-series-support-by-qfx-platform\
                          .html",
                },
                Source {
                    title: "Juniper, buffer-dynamic-threshold",
                    version: "Junos Evolved 22.3R1",
                    url: "https://www.juniper.net/documentation/us/en/software/junos/cli-reference/\
                          topics/ref/statement/class-of-service-schedulers-buffer-dynamic-threshold\
                          .html",
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
