//! A run written out: every default, every switch, no sweep and no comparison left.
//!
//! Contract: reading the text gives one run with the same setup. It is also what a run is hashed by.

use crate::case::Case;
use crate::tables;
use crate::text::Text;

/// The whole text for one seed.
pub(crate) fn resolved(case: &Case, seed: u64) -> String {
    let mut out = Text::default();
    tables::write_head(&mut out, &case.model);
    out.0.push_str(&physics(case, seed));
    out.0
}

/// The part of the text that decides what happens.
pub(crate) fn physics(case: &Case, seed: u64) -> String {
    let mut out = Text::default();
    tables::write(&mut out, &case.model, &case.configs, &case.scheme, seed);
    out.0
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::keys::Fallback;
    use crate::tables::sections;

    /// Keys that a written-out run may lack: they describe what is no longer, or not, there.
    const GONE: [&str; 4] = ["schemes", "base", "description", "gamma"];

    /// A pipe that changes everything that a pipe can.
    const PIPE: &str = "[pipe.forth]\non = \"bottleneck\"\ndirection = \"right\"\nrate = \"1 Gbit/s\"\n\
        delay = \"1 ms\"\nbuffer = \"50 pkt\"\ncount-in-service = true\nloss = \"1 ppm\"\n\
        [pipe.forth.mark]\nkind = \"step\"\nk = \"6 pkt\"\n";

    #[test]
    fn every_key_of_the_table_is_written_out() {
        let text = crate::embedded::find("dumbbell-10g").unwrap().text;
        let scenario = Scenario::parse(&format!("{text}{PIPE}"), "t.toml").unwrap();
        let scenario = scenario.with_override("hosts.senders.profile", "rfc").unwrap();
        let scenario = scenario.with_override("hosts.senders.scheme", "dctcp").unwrap();
        let text = scenario.expand().unwrap().runs[0].resolved_toml();
        let tree: toml::Table = text.parse().unwrap();
        for section in sections() {
            let path: Vec<&str> = section
                .path
                .iter()
                .scan("", |before, part| {
                    let name = match (*part, *before) {
                        ("*", "hosts") => "senders",
                        ("*", "traffic") => "flows",
                        ("*", "pipe") => "forth",
                        (part, _) => part,
                    };
                    *before = part;
                    Some(name)
                })
                .collect();
            // Other workloads' and topologies' keys have no place in this scenario.
            let mut keys = section.keys.to_vec();
            for (name, _, own) in section.kinds() {
                keys.extend(own.into_iter().filter(|_| ["transfers", "dumbbell"].contains(&name)));
            }
            for key in keys {
                if GONE.contains(&key.name)
                    || (path.first() == Some(&"compare") && key.name == "profile")
                {
                    assert!(matches!(key.default, Fallback::Unset(_)), "{}", key.name);
                    continue;
                }
                let table = path.iter().try_fold(&tree, |t, p| t.get(*p)?.as_table());
                assert!(table.is_some_and(|t| t.contains_key(key.name)), "{path:?} {}", key.name);
            }
        }
    }
}
