//! Replay of a recorded run on a fresh endpoint.

use std::fs;
use std::io::BufReader;
use std::time::Duration;

use lowtide_live::LiveSettings;
use lowtide_live::load::TransferDirection;
use lowtide_sockets::replay;

use crate::world::{World, assert_good, flows_of, in_namespace, settings};

pub(crate) fn a_replay_reproduces_every_result() {
    in_namespace(|| {
        let path = std::env::temp_dir().join(format!("lowtide-recording-{}", std::process::id()));
        let world = World::with(LiveSettings {
            record_path: Some(path.clone()),
            ..LiveSettings::default()
        });
        let config = settings(&[("ecn", "rfc3168"), ("receive-buffer", "200 kB")]);
        let load = flows_of(3, TransferDirection::Up, 400_000);
        assert_good("up", &world.to_kernel(false, &config, &load), 1_200_000);
        let load = flows_of(3, TransferDirection::Down, 400_000);
        assert_good("down", &world.serve_kernel(true, &config, &load), 1_200_000);
        let stats = world.live.shutdown(Duration::from_secs(2)).unwrap();

        let summary = replay(&mut BufReader::new(fs::File::open(&path).unwrap())).unwrap();
        let tcp = stats.packets.received - stats.packets.not_ours;
        assert_eq!(summary.segments, tcp);
        assert!(summary.transmissions > 500 && summary.calls > 2 * summary.segments, "{summary:?}");

        // Remove one segment from the recording: some result must differ.
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let data =
            lines.iter().rposition(|l| l.contains(" segment ") && l.contains("Taken")).unwrap();
        let kept: Vec<&str> =
            lines.iter().enumerate().filter(|(i, _)| *i != data - 40).map(|(_, l)| *l).collect();
        let shorter = kept.join("\n") + "\n";
        let changed = replay(&mut shorter.as_bytes());
        let same = matches!(&changed, Ok(again) if again.calls == summary.calls);
        assert!(!same, "{changed:?}");
    });
}
