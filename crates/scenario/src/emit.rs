//! Emits a run as TOML: every default, every switch, no sweep, no comparison.
//!
//! Contract: reading the text gives one run with an identical setup. The hash of a run is taken of
//! it.

use crate::model::ScenarioModel;
use crate::run_config::RunConfig;
use crate::tables;
use crate::toml_writer::TomlWriter;

/// Emits the whole text for one seed.
pub(crate) fn resolved(run_config: &RunConfig, seed: u64) -> String {
    let mut out = TomlWriter::default();
    tables::write_head(&mut out, &run_config.model);
    out.0.push_str(&hashed_toml(run_config, seed));
    out.0
}

/// Emits the part of the text that determines the simulation.
pub(crate) fn hashed_toml(run_config: &RunConfig, seed: u64) -> String {
    text(&run_config.model, run_config, seed)
}

/// As [`hashed_toml`], with another `model`.
pub(crate) fn text(model: &ScenarioModel, run_config: &RunConfig, seed: u64) -> String {
    let mut out = TomlWriter::default();
    tables::write(&mut out, model, &run_config.configs, &run_config.scheme, seed);
    out.0
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use crate::tables::sections;
    use lowtide_schema::DefaultValue;

    /// Keys that an emitted run may lack: their effect is written out, or they do not apply here.
    const GONE: [&str; 15] = [
        "class",
        "connect",
        "host-profile",
        "schemes",
        "base",
        "description",
        "profile",
        "file",
        "nth",
        "detect",
        "alpha",
        "polarised",
        "gap",
        "quantum",
        "end-limit",
    ];

    /// A pipe that changes everything a pipe can, a failing link, a switch with overrides, and a
    /// deployment.
    const MORE: &str = "[pipe.forth]\non = \"bottleneck\"\ndirection = \"right\"\nrate = \"1 Gbit/s\"\n\
        delay = \"1 ms\"\nbuffer = \"50 pkt\"\ncount-in-service = true\nloss = \"1 ppm\"\n\
        [pipe.forth.mark]\nkind = \"step\"\nk = \"6 pkt\"\n\
        [failure.cut]\nlink = \"bottleneck\"\ndown = \"1 s\"\nup = \"2 s\"\n\
        rate = \"100 Mbit/s\"\n\
        [switch.at.switch1]\nbuffer = \"dynamic\"\nmemory = \"4 MB\"\nreserved = \"3 kB\"\n\
        ports-per-memory = 8\n[deployment]\nto = \"dctcp\"\nshare = \"100 %\"\n";

    /// Classes beside a dynamic buffer.
    const CLASSES: &str = "[switch.class.fast]\nservice = \"strict\"\nbuffer = \"dynamic\"\n\
        reserved = \"3 kB\"\n[switch.class.fast.mark]\nkind = \"step\"\nk = \"6 pkt\"\n\
        [switch.class.rest]\n";

    /// Asserts that the keys of tables whose path starts with `under`, and with none of `but`, are
    /// emitted.
    fn written(text: &str, under: &[&str], but: &[&str]) {
        let scenario = Scenario::parse(text, "t.toml").unwrap();
        let text = scenario.expand().unwrap().runs[0].resolved_toml();
        let tree: toml::Table = text.parse().unwrap();
        let mut seen = 0;
        for section in sections() {
            let joined = section.path.join(".");
            if !section.path.starts_with(under) || but.iter().any(|b| joined.starts_with(b)) {
                continue;
            }
            let name = |(i, part): (usize, &&'static str)| match (*part, &section.path[..i]) {
                ("*", ["hosts"]) => "senders",
                ("*", ["traffic"]) => "flows",
                ("*", ["pipe"]) => "forth",
                ("*", ["failure"]) => "cut",
                ("*", ["switch", "at"]) => "switch1",
                ("*", ["switch", "class"]) => "fast",
                _ => *part,
            };
            let path: Vec<&str> = section.path.iter().enumerate().map(name).collect();
            // Keys of other workloads, topologies and markers do not occur in this scenario.
            let mut keys = section.keys.to_vec();
            for (name, _, own) in section.kinds() {
                keys.extend(
                    own.into_iter().filter(|_| ["transfers", "dumbbell", "step"].contains(&name)),
                );
            }
            for key in keys {
                let table = path.iter().try_fold(&tree, |t, p| t.get(*p)?.as_table());
                if table.is_some_and(|t| t.contains_key(key.name)) {
                    seen += 1;
                    continue;
                }
                let static_buffer = matches!(joined.as_str(), "switch")
                    && ["alpha", "reserved", "memory", "ports-per-memory"].contains(&key.name);
                assert!(GONE.contains(&key.name) || static_buffer, "{path:?} {}", key.name);
                assert!(!matches!(key.default, DefaultValue::Required), "{path:?} {}", key.name);
            }
        }
        assert!(seen > 3);
    }

    #[test]
    fn every_key_of_the_table_is_written_out() {
        let text = crate::embedded::find("dumbbell-10g").unwrap().text;
        let own = "[hosts.senders]\nprofile = \"rfc\"\nscheme = \"dctcp\"";
        let text = text.replace("[hosts.senders]", own);
        written(
            &format!("{text}{MORE}"),
            &[],
            &["topology.links", "switch.class", "files", "question"],
        );
        written(
            &format!("{text}{MORE}{CLASSES}")
                .replace("buffer = \"50 pkt\"\n", "")
                .replace("[pipe.forth.mark]\nkind = \"step\"\nk = \"6 pkt\"\n", "")
                .replace("[switch]", "[switch]\nmemory = \"4 MB\""),
            &["switch", "class"],
            &[],
        );
    }

    #[test]
    fn files_are_written_out_as_they_are() {
        let mut out = super::TomlWriter::default();
        let text = "a \"b\" \\ \"\"\"\n\ttab\r\n\u{1}é\n";
        out.table("files");
        out.multiline("a.csv", text);
        let tree: toml::Table = out.0.parse().unwrap();
        assert_eq!(tree["files"]["a.csv"].as_str(), Some(text));
    }
}
