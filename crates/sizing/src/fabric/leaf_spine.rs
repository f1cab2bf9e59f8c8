//! A leaf-spine fabric from a few quantities.

use std::path::PathBuf;
use std::sync::Arc;

use lowtide_scenario::{Directory, Scenario};
use lowtide_units::{Fraction, Rate};

use lowtide_lab::LabError;

const TEMPLATE: &str = include_str!("leaf_spine.toml");
/// Greatest load of an uplink: above it, queues grow for as long as the traffic lasts.
const MAX_LOAD: f64 = 0.95;
/// Servers that a query asks unless the request says.
const INCAST: u32 = 32;

/// A leaf-spine fabric and its traffic.
#[derive(Clone, Debug)]
pub struct LeafSpine {
    /// Racks, at least two.
    pub racks: u32,
    /// Hosts of each rack, at least two.
    pub hosts_per_rack: u32,
    /// Rate of each host's link.
    pub host_rate: Rate,
    /// Rate of each link between a leaf and a spine.
    pub up_rate: Rate,
    /// Spines; `None` for as many as carry the traffic of all hosts.
    pub spines: Option<u32>,
    /// Name of a switch profile, or a size of memory.
    pub buffer: String,
    /// Offered load, as a share of the hosts' links.
    pub load: Fraction,
    /// Distribution of the sizes of flows.
    pub sizes: String,
    /// Servers that each query asks, none for no incast; `None`: 32, or all other hosts if these
    /// are fewer.
    pub incast: Option<u32>,
    /// Flows per run.
    pub flows: u32,
    /// IP bytes of the largest packet of the hosts.
    pub mtu: u32,
}

impl LeafSpine {
    /// Spines: as given, or the fewest without oversubscription.
    pub fn spines(&self) -> u32 {
        let down = u128::from(self.hosts_per_rack) * u128::from(self.host_rate.as_bps());
        let fewest = down.div_ceil(u128::from(self.up_rate.as_bps()));
        self.spines.unwrap_or_else(|| u32::try_from(fewest).unwrap_or(u32::MAX).max(1))
    }

    /// Load of a leaf's lines to the spines, as a share: destinations are any other hosts.
    pub fn up_load(&self) -> f64 {
        let hosts = f64::from(self.racks) * f64::from(self.hosts_per_rack);
        let leaves_rack = (hosts - f64::from(self.hosts_per_rack)) / (hosts - 1.0);
        let down = f64::from(self.hosts_per_rack) * self.host_rate.as_bps() as f64;
        let up = f64::from(self.spines()) * self.up_rate.as_bps() as f64;
        self.share() * leaves_rack * down / up
    }

    fn share(&self) -> f64 {
        self.load.as_ppb() as f64 / 1e9
    }

    /// The scenario.
    ///
    /// # Errors
    /// A fabric that cannot be: too few hosts, or a load that its links cannot carry.
    pub fn scenario(&self) -> Result<Scenario, LabError> {
        let wrong = |message: String, help: &str| LabError::InvalidRequest {
            message,
            help: Some(help.to_owned()),
        };
        let hosts = u64::from(self.racks) * u64::from(self.hosts_per_rack);
        if self.racks < 2 || self.hosts_per_rack < 2 {
            return Err(wrong(
                format!(
                    "{} racks of {} hosts are no leaf-spine fabric",
                    self.racks, self.hosts_per_rack
                ),
                "at least two racks of two hosts; describe one rack as a scenario file",
            ));
        }
        if self.share() <= 0.0 || self.share() > 1.0 {
            return Err(wrong(
                format!(
                    "a load of {} is not above 0 % and at most 100 % of the hosts' links",
                    self.load
                ),
                "for instance --load '50 %'",
            ));
        }
        let up = self.up_load();
        if up > MAX_LOAD {
            let most = (self.share() / up * MAX_LOAD * 100.0).floor();
            return Err(wrong(
                format!("the links to the spines would carry {:.0} % of their rate", up * 100.0),
                &format!("at most --load '{most} %', or more spines than {}", self.spines()),
            ));
        }
        let others = u32::try_from(hosts - 1).unwrap_or(u32::MAX);
        let incast = self.incast.unwrap_or(INCAST.min(others));
        if incast > others {
            return Err(wrong(
                format!("a query cannot ask {incast} of {hosts} hosts: the client is one of them"),
                &format!("at most --incast {others}"),
            ));
        }
        let keys = [
            ("topology.leaves", self.racks.to_string()),
            ("topology.spines", self.spines().to_string()),
            ("topology.hosts-per-leaf", self.hosts_per_rack.to_string()),
            ("topology.link-rate", self.host_rate.to_string()),
            ("topology.fabric-rate", self.up_rate.to_string()),
            ("traffic.background.load", self.load.to_string()),
            ("traffic.background.sizes", self.sizes.clone()),
            ("traffic.background.flows", self.flows.to_string()),
            ("topology.mtu", format!("{} B", self.mtu)),
            ("transport.connection.mtu", self.mtu.to_string()),
        ];
        // File names, as of a distribution, are relative to the working directory.
        let files = Arc::new(Directory(PathBuf::new()));
        let mut out = Scenario::parse_with(TEMPLATE, "advise.toml", files)?.named("advise");
        for (key, value) in keys {
            out = out.with_override(key, &value)?;
        }
        if self.buffer.starts_with(|c: char| c.is_ascii_digit()) {
            out = out.with_override("switch.memory", &self.buffer)?;
        } else {
            for key in ["switch.buffer", "switch.alpha", "switch.memory"] {
                out = out.without(key);
            }
            out = out.with_override("switch.profile", &self.buffer)?;
        }
        Ok(match incast {
            0 => out.without("traffic.queries"),
            n => out.with_override("traffic.queries.fan-out", &n.to_string())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric() -> LeafSpine {
        LeafSpine {
            racks: 4,
            hosts_per_rack: 16,
            host_rate: Rate::from_gbps(25),
            up_rate: Rate::from_gbps(100),
            spines: None,
            buffer: "16 MB".to_owned(),
            load: Fraction::from_percent(50),
            sizes: "web-search-654kb".to_owned(),
            incast: None,
            flows: 2000,
            mtu: 1500,
        }
    }

    #[test]
    fn a_fabric_is_a_scenario_without_oversubscription() {
        assert_eq!(fabric().spines(), 4);
        let setup = fabric().scenario().unwrap().expand().unwrap().runs[0].setup().unwrap();
        assert_eq!((setup.hosts.len(), setup.query_clients[0].fan_out), (64, 32));
        let small = LeafSpine { racks: 2, hosts_per_rack: 4, ..fabric() };
        let setup = small.scenario().unwrap().expand().unwrap().runs[0].setup().unwrap();
        assert_eq!(setup.query_clients[0].fan_out, 7, "all others");
        let named = LeafSpine { buffer: "triumph".to_owned(), incast: Some(0), ..fabric() };
        let plan = named.scenario().unwrap().expand().unwrap();
        let toml = plan.runs[0].resolved_toml();
        assert!(toml.contains("memory = \"4194304 B\""), "{toml}");
    }

    #[test]
    fn fabrics_that_cannot_be_are_refused_with_what_would_be_right() {
        let expanded = |fabric: &LeafSpine| fabric.scenario()?.expand().map_err(LabError::from);
        let error = |fabric: LeafSpine| match expanded(&fabric).unwrap_err() {
            LabError::InvalidRequest { message, help } => {
                format!("{message}; {}", help.unwrap_or_default())
            }
            other => other.to_string(),
        };
        for (fabric, message) in [
            (LeafSpine { racks: 1, ..fabric() }, "at least two racks"),
            (LeafSpine { load: Fraction::from_percent(120), ..fabric() }, "at most 100 %"),
            (LeafSpine { load: Fraction::ZERO, ..fabric() }, "not above 0 %"),
            (
                LeafSpine { spines: Some(1), ..fabric() },
                "152 % of their rate; at most --load '31 %'",
            ),
            (LeafSpine { incast: Some(64), ..fabric() }, "at most --incast 63"),
            (LeafSpine { buffer: "trumph".to_owned(), ..fabric() }, "triumph"),
            (LeafSpine { sizes: "web".to_owned(), ..fabric() }, "web"),
        ] {
            let error = error(fabric);
            assert!(error.contains(message), "{error}");
        }
    }
}
