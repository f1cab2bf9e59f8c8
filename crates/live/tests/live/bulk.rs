//! Megabytes in both directions, with their checksums.

use lowtide_live::load::Way;

use crate::world::{World, assert_good, bytes, in_namespace, settings};

const MB: u64 = 1_000_000;

#[test]
fn the_kernel_gets_what_we_send() {
    in_namespace(|| {
        let world = World::new();
        let start = std::time::Instant::now();
        let got = world.to_kernel(false, &settings(&[]), &bytes(Way::Up, 50 * MB));
        eprintln!("{:?} {:?}", start.elapsed(), world.live.stats());
        assert_good("v4 up", &got, 50 * MB);
        let start = std::time::Instant::now();
        let got = world.to_kernel(false, &settings(&[]), &bytes(Way::Down, 50 * MB));
        eprintln!("{:?} {:?}", start.elapsed(), world.live.stats());
        assert_good("v4 down", &got, 50 * MB);
    });
}
