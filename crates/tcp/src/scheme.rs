//! Schemes: what people compare (`sack`, `ecn`, `dctcp`), as bundles of switches over a profile.
//!
//! Contract: a scheme is data and overrides whatever profile it is laid over, so that two schemes
//! differ in the same switches whichever profile lies beneath. It states every switch of which the
//! outcome of the comparison depends by definition, and no other: how losses are found and how the
//! window comes down are the profile's, the same for all.

use crate::config::Config;
use crate::profile::{Assignment, apply as apply_all};
use crate::switches::SwitchError;

/// A named bundle of switches.
#[derive(Debug)]
pub struct Scheme {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The switches.
    pub settings: &'static [Assignment],
}

/// Every scheme, by name.
pub static SCHEMES: &[Scheme] = &[
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
        name: "dx",
        summary: "DX: the window follows the queueing delay that host stamps measure",
        settings: &[
            set("cc", "dx", "DX §IV-B"),
            set("ecn", "off", "DX §I: no help of switches"),
            set("ack", "rfc3168", "RFC 5681 §4.2: delayed ACKs"),
            set("feedback", "rfc3168", "no ECN, so it has nothing to decode"),
            set("delay-option", "true", "DX §V-B"),
            set("delay-echo", "mean", "DX §V-A"),
            set("window-floor", "1", "DX eq. 1 has none; a segment is the least that can be sent"),
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
];

const fn set(switch: &'static str, value: &'static str, source: &'static str) -> Assignment {
    Assignment { switch, value, source }
}

/// The scheme of that name.
pub fn find_scheme(name: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|s| s.name == name)
}

/// Lays `scheme` over `config`.
pub fn apply(scheme: &Scheme, config: &mut Config) -> Result<(), SwitchError> {
    apply_all(scheme.settings, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{EcnWish, EctClass, FreezeGrowth};
    use crate::profile::PROFILES;
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
    fn each_scheme_is_what_its_name_says() {
        let config = |name| {
            let mut config = Config::default();
            apply(find_scheme(name).unwrap(), &mut config).unwrap();
            config
        };
        let (sack, ecn, dctcp) = (config("sack"), config("ecn"), config("dctcp"));
        assert_eq!((sack.cc, sack.ecn), ("newreno", EcnWish::Off));
        assert_eq!((ecn.cc, ecn.ecn, ecn.ect), ("newreno", EcnWish::Rfc3168, EctClass::Data));
        assert_eq!(ecn.freeze_growth, FreezeGrowth::EceAcks);
        assert_eq!((dctcp.cc, dctcp.ack, dctcp.feedback), ("dctcp", "dctcp", "dctcp"));
        assert_eq!((dctcp.ecn, dctcp.ect), (EcnWish::Rfc3168, EctClass::All));
        assert_eq!(dctcp.freeze_growth, FreezeGrowth::Off);
        assert!(find_scheme("DCTCP").is_none());
    }

    #[test]
    fn the_receiver_of_every_scheme_can_serve_its_sender() {
        for scheme in SCHEMES {
            let mut config = Config::default();
            apply(scheme, &mut config).unwrap();
            let decoder = feedback::find(config.feedback).unwrap();
            let serves = decoder.understands;
            assert!(serves.is_empty() || serves.contains(&config.ack), "{}", scheme.name);
        }
    }
}
