use lowtide_tcp::switches;
use lowtide_units::Duration;

use super::*;
use crate::datapath::nic::NicSpec;
use crate::setup::HostSetup;

#[test]
fn profiles_are_found_by_name_in_order_and_every_value_has_a_source() {
    assert_eq!(REGISTRY.names(), ["freebsd-2013", "ideal", "linux", "papers-2010"]);
    for profile in REGISTRY.all() {
        assert!(std::ptr::eq(profile, REGISTRY.find(profile.name).expect("itself")));
        let all = profile.transport.iter().chain(profile.sources);
        assert!(all.clone().all(|a| a.source.len() > 5), "{}", profile.name);
        let stated = |knob: &str| profile.sources.iter().any(|a| a.switch == knob);
        assert_eq!(stated("moderation"), profile.nic.moderation > Duration::ZERO);
        assert_eq!(stated("aggregate"), profile.nic.aggregation.is_some());
        assert_eq!(stated("stack"), profile.nic.stack != NicSpec::IDEAL.stack);
    }
    assert!(REGISTRY.find("windows").is_none());
}

#[test]
fn a_profile_sets_only_its_own_switches() {
    let fresh = HostSetup::default();
    for profile in REGISTRY.all() {
        let mut host = HostSetup::default();
        profile.apply(&mut host).expect("switches that exist");
        assert_eq!((host.nic, host.clock), (profile.nic, profile.clock));
        for a in profile.transport {
            let mut alone = fresh.config.clone();
            lowtide_tcp::profile::apply(&[*a], &mut alone).expect("a valid value");
            let text = |config| switches::get_text(config, a.switch);
            assert_eq!(text(&host.config), text(&alone), "{}", a.switch);
        }
        let other = lowtide_tcp::profile::diff(&host.config, &fresh.config);
        let names: Vec<&str> = other.iter().map(|d| d.switch.as_str()).collect();
        let hardware = ["tso-segments", "rto-granularity"];
        let own = profile.transport.iter().map(|a| a.switch);
        let allowed: Vec<&str> = match profile.name {
            "freebsd-2013" => own.collect(),
            _ => own.filter(|name| hardware.contains(name)).collect(),
        };
        assert!(names.iter().all(|name| allowed.contains(name)), "{}: {names:?}", profile.name);
    }
    assert_eq!(REGISTRY.find("ideal").map(|p| p.nic), Some(NicSpec::default()));
}
