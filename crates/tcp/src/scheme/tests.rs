use super::*;
use crate::profile;
use crate::settings::config::{Config, CwrRule, EcnNegotiation, EctClass, FreezeGrowth};
use crate::{feedback, switches};

#[test]
fn schemes_override_every_profile() {
    for scheme in REGISTRY.all() {
        for profile in profile::REGISTRY.all() {
            let mut config = profile.config().unwrap();
            scheme.apply(&mut config).unwrap();
            for a in scheme.settings {
                let text = switches::get_text(&config, a.switch).unwrap();
                assert_eq!(text, a.value, "{} over {}", scheme.name, profile.name);
            }
        }
    }
}

#[test]
fn losses_are_found_and_answered_as_the_profile_does() {
    for scheme in REGISTRY.all() {
        for profile in profile::REGISTRY.all() {
            let before = profile.config().unwrap();
            let mut config = before.clone();
            scheme.apply(&mut config).unwrap();
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
        REGISTRY.find(name).unwrap().apply(&mut config).unwrap();
        config
    };
    let (sack, ecn, dctcp) = (config("sack"), config("ecn"), config("dctcp"));
    assert_eq!((sack.cc, sack.ecn), ("newreno", EcnNegotiation::Off));
    assert_eq!((ecn.cc, ecn.ecn, ecn.ect), ("newreno", EcnNegotiation::Rfc3168, EctClass::Data));
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
    assert!(REGISTRY.find("DCTCP").is_none());
}

#[test]
fn the_receiver_of_every_scheme_fits_its_sender() {
    for scheme in REGISTRY.all() {
        let mut config = Config::default();
        scheme.apply(&mut config).unwrap();
        let decoder = feedback::REGISTRY.find(config.feedback).unwrap();
        let serves = decoder.ack_policies;
        assert!(serves.is_empty() || serves.contains(&config.ack), "{}", scheme.name);
    }
}
