//! Clocks with ticks: what a host sees of round trips.

mod common;

use common::{config, flow, outcome, port, star_setup};
use lowtide_units::Duration;

#[test]
fn a_host_that_measures_in_milliseconds_shows_whole_ones() {
    let run = |tick: Duration, k: u64| {
        let mut config = config("dctcp");
        config.rtt_granularity = tick;
        let mut setup = star_setup(2, &config, port(1_000, k));
        setup.flows =
            (0..2).map(|i| flow(&setup, i, 8_000_000, Duration::ZERO)).collect::<Vec<_>>();
        let flows = outcome(&setup).flows;
        (flows[0].srtt.expect("it measured"), flows[0].srtt_shown.expect("it measured"))
    };
    let (exact, shown) = run(Duration::ZERO, 20);
    assert_eq!(exact, shown, "no tick, nothing to round");
    assert!((Duration::from_us(100)..Duration::from_us(700)).contains(&exact), "{exact}");
    // A round trip below a tick counts as one: the least that such a host can express.
    let ms = Duration::from_ms(1);
    assert_eq!(run(ms, 20), (ms, ms));
    // 300 packets of 12.3 us, 3.7 ms: the estimate keeps fractions, what is shown does not.
    let (exact, _) = run(Duration::ZERO, 300);
    let (kept, shown) = run(ms, 300);
    assert!(exact > ms * 2, "{exact}");
    assert!(kept.abs_diff(exact) < ms, "{kept} of {exact}");
    assert_eq!(shown, ms * (kept.as_ps() / ms.as_ps()));
}
