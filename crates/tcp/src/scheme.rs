//! Schemes under comparison (`sack`, `ecn`, `dctcp`), as bundles of switches over a profile.
//!
//! Contract: a scheme is data and overrides any profile, so two schemes differ in the same switches
//! over every profile. It sets every switch on which the comparison depends by definition, and no
//! other: loss detection and window reduction are the profile's and equal for all. One-sided DCTCP
//! is three schemes, because its halves run on different hosts.
//! halves go to different hosts.

use crate::profile::{Assignment, apply as apply_all};
use crate::settings::config::Config;
use crate::switches::SwitchError;

/// A named bundle of switches.
#[derive(Debug)]
pub struct Scheme {
    /// Name as users type it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The switches.
    pub settings: &'static [Assignment],
}

/// All schemes, sorted by name.
pub static SCHEMES: &[Scheme] = &[
    Scheme {
        name: "accecn",
        summary: "NewReno with Accurate ECN: halve once per window of marks, no latch, no CWR",
        settings: &[
            set("cc", "newreno", "RFC 5681"),
            set("ecn", "accecn", "RFC 9768 §3.1.1"),
            set("ack", "accecn", "RFC 9768 §3.2.2.5.1; over RFC 3168 its own policy"),
            set("feedback", "accecn", "RFC 9768 §3.2.2; over RFC 3168 its own decoder"),
            set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6, which RFC 9768 §4 keeps"),
            set("cwr", "after-reduction", "RFC 3168 §6.1.2, over RFC 3168"),
            set("cut", "per-window", "RFC 3168 §6.1.2, which RFC 9768 §4 keeps"),
            set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
            set("sack", "true", "RFC 9768 §3.1.1: recommended, and so is DSACK"),
        ],
    },
    Scheme {
        name: "dctcp",
        summary: "DCTCP: cut in proportion to the marked share, exact echo",
        settings: &[
            set("cc", "dctcp", "RFC 8257"),
            set("ecn", "rfc3168", "RFC 8257 §3: negotiated as classic ECN"),
            set("ack", "dctcp", "RFC 8257 §3.2"),
            set("feedback", "dctcp", "RFC 8257 §3.3"),
            set("ect", "all", "RFC 8257 §3.6"),
            set("cwr", "after-reduction", "RFC 8257 §3.3"),
            set("cut", "per-window", "RFC 8257 §3.3"),
            set("freeze-growth", "off", "RFC 8257 §3.4: grows as usual"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "dctcp-accecn",
        summary: "DCTCP over Accurate ECN: its feedback is negotiated; over RFC 3168 it meets the latch",
        settings: &[
            set("cc", "dctcp", "RFC 8257"),
            set("ecn", "accecn", "RFC 9768 §3.1.1"),
            set("ack", "accecn", "RFC 9768 §3.2.2.5.1; over RFC 3168 its own policy"),
            set("feedback", "accecn", "RFC 9768 §3.2.2; over RFC 3168 its own decoder"),
            set("ect", "all", "RFC 8257 §3.6; RFC 9768 §2.5 reports control packets, too"),
            set("cwr", "after-reduction", "RFC 3168 §6.1.2, over RFC 3168"),
            set("cut", "per-window", "RFC 8257 §3.3"),
            set("freeze-growth", "off", "RFC 8257 §3.4: grows as usual"),
            set("sack", "true", "RFC 9768 §3.1.1: recommended, and so is DSACK"),
        ],
    },
    Scheme {
        name: "dx",
        summary: "DX: the window follows the queueing delay that host stamps measure",
        settings: &[
            set("cc", "dx", "DX §IV-B"),
            set("ecn", "off", "DX §I: no help of switches"),
            set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
            set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
            set("delay-option", "true", "DX §V-B"),
            set("delay-echo", "mean", "DX §V-A"),
            set(
                "window-floor",
                "2",
                "DX eq. 1 has none; one segment would wait for the delayed-ACK timer",
            ),
            set("freeze-growth", "off", "DX eq. 1: each round trip decides anew"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "ecn",
        summary: "NewReno with classic ECN: halve once per window of marks",
        settings: &[
            set("cc", "newreno", "RFC 5681"),
            set("ecn", "rfc3168", "RFC 3168 §6.1.1"),
            set("ack", "rfc3168", "RFC 3168 §6.1.3"),
            set("feedback", "rfc3168", "RFC 3168 §6.1.2"),
            set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6"),
            set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
            set("cut", "per-window", "RFC 3168 §6.1.2"),
            set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "hull",
        summary: "HULL at the host: DCTCP whose data is paced; the switch marks by a phantom queue",
        settings: &[
            set("cc", "hull", "HULL (NSDI 2012) §4"),
            set("pacing", "control", "HULL (NSDI 2012) §4.3"),
            set("ecn", "rfc3168", "RFC 8257 §3: negotiated as classic ECN"),
            set("ack", "dctcp", "RFC 8257 §3.2"),
            set("feedback", "dctcp", "RFC 8257 §3.3"),
            set("ect", "all", "RFC 8257 §3.6"),
            set("cwr", "after-reduction", "RFC 8257 §3.3"),
            set("cut", "per-window", "RFC 8257 §3.3"),
            set("freeze-growth", "off", "RFC 8257 §3.4: grows as usual"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "odctcp",
        summary: "one-sided DCTCP on both sides: CWR and the latched echo, CWR delayed as usual",
        settings: &[
            set("cc", "dctcp", "RFC 8257"),
            set("ecn", "rfc3168", "ODCTCP §2.1"),
            set("ack", "odctcp", "ODCTCP §5.2.2"),
            set("feedback", "one-sided", "ODCTCP §5.1.2"),
            set("ect", "all", "ODCTCP §4.1: ect_handler"),
            set("cwr", "after-reduction", "ODCTCP §5.1.2"),
            set("cut", "per-window", "ODCTCP §3.2: per RTT"),
            set("freeze-growth", "off", "ODCTCP §4.2.1"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "odctcp-receiver",
        summary: "one-sided DCTCP receiver; what it sends is classic ECN",
        settings: &[
            set("cc", "newreno", "RFC 5681"),
            set("ecn", "rfc3168", "ODCTCP §2.1"),
            set("ack", "odctcp", "ODCTCP §5.2.2"),
            set("feedback", "rfc3168", "RFC 3168 §6.1.2"),
            set("ect", "data", "RFC 3168 §6.1.4 to §6.1.6"),
            set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
            set("cut", "per-window", "RFC 3168 §6.1.2"),
            set("freeze-growth", "ece-acks", "RFC 3168 §6.1.2"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "odctcp-sender",
        summary: "one-sided DCTCP sender: CWR after a cut, for receivers of classic ECN",
        settings: &[
            set("cc", "dctcp", "RFC 8257"),
            set("ecn", "rfc3168", "ODCTCP §2.1"),
            set("ack", "rfc3168", "ODCTCP §5.1: the receiver is standard ECN"),
            set("feedback", "one-sided", "ODCTCP §5.1.2"),
            set("ect", "all", "ODCTCP §4.1: ect_handler"),
            set("cwr", "after-reduction", "ODCTCP §5.1.2"),
            set("cut", "per-window", "ODCTCP §3.2: per RTT"),
            set("freeze-growth", "off", "ODCTCP §4.2.1"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "sack",
        summary: "NewReno with SACK, losses found as the profile does, no ECN",
        settings: &[
            set("cc", "newreno", "RFC 5681"),
            set("ecn", "off", "RFC 3168 §6.1.1: not asked for"),
            set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
            set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "tdctcp",
        summary: "TDCTCP: DCTCP with a larger increase, alpha reset, and a delayed-ACK timer that adapts",
        settings: &[
            set("cc", "tdctcp", "TDCTCP §IV-A, §IV-B"),
            set("ecn", "rfc3168", "TDCTCP §III"),
            set("ack", "tdctcp", "TDCTCP §IV-C"),
            set("feedback", "dctcp", "TDCTCP §III: the sender reconstructs the run of marks"),
            set("ect", "all", "RFC 8257 §3.6, as `dctcp`"),
            set("cwr", "after-reduction", "RFC 3168 §6.1.2"),
            set("cut", "per-window", "TDCTCP §III: not more than once in a window of data"),
            set("freeze-growth", "ece-acks", "TDCTCP algorithm 1: grows when ECE = 0"),
            set("window-floor", "1", "TDCTCP §IV-C: the window was reduced to 1 segment"),
            set("delack-timer", "200 ms", "TDCTCP §IV-C: the upper bound"),
            set("sack", "true", "RFC 2018"),
        ],
    },
    Scheme {
        name: "vegas",
        summary: "TCP Vegas with the values of ns-2, no ECN",
        settings: &[
            set("cc", "vegas", "Brakmo and Peterson 1995"),
            set("vegas.alpha", "1", "ns-2, DX fig. 7"),
            set("vegas.beta", "3", "ns-2, DX fig. 7"),
            set("vegas.gamma", "1", "ns-2"),
            set("ecn", "off", "Brakmo and Peterson 1995: before ECN"),
            set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
            set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
            set("sack", "true", "RFC 2018"),
        ],
    },
];

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}

/// Finds a scheme by its name.
pub fn find_scheme(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|s| s.name == name)
}

/// Applies `scheme` over `config`.
pub fn apply(scheme: &Scheme, config: &mut Config) -> Result<(), SwitchError> {
    apply_all(scheme.settings, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PROFILES;
    use crate::settings::config::{CwrRule, EcnNegotiation, EctClass, FreezeGrowth};
    use crate::{feedback, switches};

    #[test]
    fn schemes_override_every_profile() {
        for scheme in SCHEMES {
            for profile in PROFILES {
                let mut config = profile.config().unwrap();
                apply(scheme, &mut config).unwrap();
                for a in scheme.settings {
                    let text = switches::get_text(&config, a.switch).unwrap();
                    assert_eq!(text, a.value, "{} over {}", scheme.name, profile.name);
                }
            }
        }
    }

    #[test]
    fn losses_are_found_and_answered_as_the_profile_does() {
        for scheme in SCHEMES {
            for profile in PROFILES {
                let before = profile.config().unwrap();
                let mut config = before.clone();
                apply(scheme, &mut config).unwrap();
                assert_eq!(
                    (config.recovery, config.reduction, config.tail_loss_probe),
                    (before.recovery, before.reduction, before.tail_loss_probe),
                    "{} over {}",
                    scheme.name,
                    profile.name
                );
            }
        }
    }

    #[test]
    fn each_scheme_sets_the_switches_of_its_name() {
        let config = |name| {
            let mut config = Config::default();
            apply(find_scheme(name).unwrap(), &mut config).unwrap();
            config
        };
        let (sack, ecn, dctcp) = (config("sack"), config("ecn"), config("dctcp"));
        assert_eq!((sack.cc, sack.ecn), ("newreno", EcnNegotiation::Off));
        assert_eq!(
            (ecn.cc, ecn.ecn, ecn.ect),
            ("newreno", EcnNegotiation::Rfc3168, EctClass::Data)
        );
        assert_eq!(ecn.freeze_growth, FreezeGrowth::EceAcks);
        assert_eq!((dctcp.cc, dctcp.ack, dctcp.feedback), ("dctcp", "dctcp", "dctcp"));
        assert_eq!((dctcp.ecn, dctcp.ect), (EcnNegotiation::Rfc3168, EctClass::All));
        assert_eq!(dctcp.freeze_growth, FreezeGrowth::Off);
        let [both, sender, receiver] = ["odctcp", "odctcp-sender", "odctcp-receiver"].map(config);
        for c in [&both, &sender] {
            assert_eq!((c.cc, c.feedback, c.cwr), ("dctcp", "one-sided", CwrRule::AfterReduction));
        }
        assert_eq!((sender.ack, both.ack), ("rfc3168", "odctcp"));
        // Each half leaves the other direction unchanged.
        assert_eq!(receiver, Config { ack: "odctcp", ..ecn });
        let (accecn, modern) = (config("accecn"), config("dctcp-accecn"));
        assert_eq!(
            (accecn.cc, accecn.ecn, accecn.ect),
            ("newreno", EcnNegotiation::AccEcn, EctClass::Data)
        );
        assert_eq!(
            (modern.cc, modern.ecn, modern.ect),
            ("dctcp", EcnNegotiation::AccEcn, EctClass::All)
        );
        assert_eq!((modern.ack, modern.feedback), ("accecn", "accecn"));
        assert!(find_scheme("DCTCP").is_none());
    }

    #[test]
    fn the_receiver_of_every_scheme_fits_its_sender() {
        for scheme in SCHEMES {
            let mut config = Config::default();
            apply(scheme, &mut config).unwrap();
            let decoder = feedback::find(config.feedback).unwrap();
            let serves = decoder.ack_policies;
            assert!(serves.is_empty() || serves.contains(&config.ack), "{}", scheme.name);
        }
    }
}
