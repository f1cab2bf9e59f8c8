//! Profiles of real switches: ports, memory, sharing, ECN support.
//!
//! Values that a vendor does not publish are reconstructed from measurements in papers; `source`
//! says which. Memory sizes are binary: the 4 MB of DCTCP table 1 are 4 x 2^20 B.

use lowtide_schema::{Part, Registry};
use lowtide_units::{Bytes, Rate};

use crate::Ratio;
use crate::port_spec::BufferSpec;

/// Ports of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// Number of ports.
    pub count: u32,
    /// Their rate.
    pub rate: Rate,
}

/// A real switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchProfile {
    /// Name in kebab case.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its ports.
    pub ports: &'static [Ports],
    /// The shared memory, per group of ports if there are several.
    pub memory: Bytes,
    /// Ports per memory; `None`: all.
    pub ports_per_memory: Option<u32>,
    /// The dynamic threshold factor of each port.
    pub alpha: Ratio,
    /// Bytes reserved per port.
    pub reserved: Bytes,
    /// True if it can mark.
    pub ecn: bool,
    /// The source, and the values that are reconstructed.
    pub source: &'static str,
}

impl Part for SwitchProfile {
    const WHAT: &'static str = "switch profile";

    fn name(&self) -> &'static str {
        self.name
    }
}

impl SwitchProfile {
    /// Returns the admission rule of its ports.
    pub const fn buffer(&self) -> BufferSpec {
        BufferSpec::Dynamic { alpha: self.alpha, reserved: self.reserved }
    }

    /// Returns the number of ports of all kinds.
    pub fn port_count(&self) -> u32 {
        self.ports.iter().map(|p| p.count).sum()
    }

    /// Returns the capacity of each of `busy` ports of one memory if the others are empty: `alpha B
    /// / (1 + alpha n)` of the shared region, plus the reserved bytes.
    pub fn share(&self, busy: u32) -> Bytes {
        let sharing = self.ports_per_memory.unwrap_or_else(|| self.port_count());
        let reserved = self.reserved.as_u64();
        let shared = self.memory.as_u64().saturating_sub(reserved * u64::from(sharing));
        let (num, den) = (u128::from(self.alpha.num), u128::from(self.alpha.den.get()));
        let part = num * u128::from(shared) / (den + num * u128::from(busy));
        Bytes::new(u64::try_from(part).unwrap_or(u64::MAX).saturating_add(reserved))
    }
}

/// All profiles, by name.
pub static REGISTRY: Registry<SwitchProfile> = Registry::new(BUILT_IN);

/// The profiles of this crate.
static BUILT_IN: &[&SwitchProfile] = &[
    &SwitchProfile {
        name: "cat4948",
        summary: "deep buffers, no ECN: 48 x 1 Gbit/s, 2 x 10 Gbit/s, 16 MB",
        ports: &[ports(48, 1), ports(2, 10)],
        memory: mib(16),
        ports_per_memory: None,
        alpha: ratio(2, 1),
        reserved: Bytes::new(0),
        ecn: false,
        source: "DCTCP table 1; alpha reconstructed: one 1 Gbit/s port takes 11.2 MB, 89 ms, where short \
                 messages of DCTCP §4.3 take over 80 ms",
    },
    &SwitchProfile {
        name: "modern-100g",
        summary: "32 x 100 Gbit/s, 64 MB",
        ports: &[ports(32, 100)],
        memory: mib(64),
        ports_per_memory: None,
        alpha: ratio(1, 1),
        reserved: Bytes::new(9_216),
        ecn: true,
        source: "no one product: the size of switches with 3.2 Tbit/s on one chip from 2020 on; alpha of \
                 one and a jumbo frame reserved per port are usual defaults",
    },
    &SwitchProfile {
        name: "nexus-3548",
        summary: "48 x 10 Gbit/s, 6 MB for each 16 ports",
        ports: &[ports(48, 10)],
        memory: mib(6),
        ports_per_memory: Some(16),
        alpha: ratio(1, 1),
        reserved: Bytes::new(0),
        ecn: true,
        source: "ODCTCP §6.4.1; alpha is not published: one, so that a port takes half of its 6 MB",
    },
    &SwitchProfile {
        name: "scorpion",
        summary: "24 x 10 Gbit/s, 4 MB",
        ports: &[ports(24, 10)],
        memory: mib(4),
        ports_per_memory: None,
        alpha: ratio(1, 5),
        reserved: Bytes::new(0),
        ecn: true,
        source: "DCTCP table 1; alpha as of the Triumph, which is by the same maker",
    },
    &SwitchProfile {
        name: "triumph",
        summary: "top of rack: 48 x 1 Gbit/s, 4 x 10 Gbit/s, 4 MB",
        ports: &[ports(48, 1), ports(4, 10)],
        memory: mib(4),
        ports_per_memory: None,
        alpha: ratio(1, 5),
        reserved: Bytes::new(0),
        ecn: true,
        source: "DCTCP table 1; alpha reconstructed: a port that is busy alone takes about 700 KB (DCTCP \
                 fig. 1, §4.1), and 4 MiB x (1/5) / (1 + 1/5) = 699,050 B",
    },
];

const fn mib(n: u64) -> Bytes {
    Bytes::new(n << 20)
}

const fn ports(count: u32, gbps: u64) -> Ports {
    Ports { count, rate: Rate::from_gbps(gbps) }
}

const fn ratio(num: u32, den: u32) -> Ratio {
    match Ratio::new(num, den) {
        Some(ratio) => ratio,
        None => panic!("a ratio over nothing"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_name_and_has_a_source() {
        assert!(BUILT_IN.is_sorted_by_key(|p| p.name));
        for profile in REGISTRY.all() {
            assert_eq!(REGISTRY.find(profile.name), Some(profile));
            assert!(!profile.source.is_empty() && !profile.summary.is_empty());
            let groups = profile.ports_per_memory.unwrap_or(profile.port_count());
            assert!(profile.port_count().is_multiple_of(groups), "{}", profile.name);
            assert!(profile.reserved.as_u64() * u64::from(groups) < profile.memory.as_u64());
        }
        assert_eq!(REGISTRY.find("no-such-switch"), None);
    }

    #[test]
    fn share_matches_the_formula() {
        let share = |name: &str, busy| REGISTRY.find(name).map(|p| p.share(busy).as_u64());
        assert_eq!(share("triumph", 1), Some(699_050));
        // 4 MiB / 5 / (1 + 10/5): ten busy ports take 2/3 of the memory.
        assert_eq!(share("triumph", 10), Some(279_620));
        assert_eq!(share("cat4948", 1), Some(11_184_810));
        assert_eq!(share("nexus-3548", 1), Some(3 << 20));
        // (64 MiB - 32 x 9216 B) / 2 and its own 9216 B.
        assert_eq!(share("modern-100g", 1), Some(33_416_192));
    }
}
