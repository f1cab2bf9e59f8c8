//! The benchmarks of `suite.toml`.

use std::sync::LazyLock;

use lowtide_scenario::glob_matches;
use serde::Deserialize;
use toml::Table;

/// One benchmark: an embedded scenario with some keys set.
#[derive(Clone, Debug)]
pub struct Benchmark {
    /// Its name, `perm-128-sack-probes`.
    pub name: String,
    /// Description of its workload.
    pub summary: String,
    /// It runs when no benchmark is named.
    pub by_default: bool,
    pub(super) scenario: String,
    pub(super) set: Vec<(String, String)>,
    /// Its probes are on; otherwise nothing is sampled, even if the scenario has probes.
    pub(super) probes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    benchmark: Vec<Entry>,
    variants: Variants,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    summary: String,
    scenario: String,
    #[serde(default)]
    set: Table,
    /// Replaces the keys that the variant sets.
    sack: Option<Table>,
    #[serde(default)]
    short: bool,
    /// It has no variants.
    #[serde(default)]
    alone: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variants {
    sack: Variant,
    probes: Variant,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    summary: String,
    set: Table,
}

/// Every benchmark, in the order of the file, each followed by its variants.
pub fn all() -> &'static [Benchmark] {
    static ALL: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
        // A test reads it, so a released file is valid.
        let file: Option<File> = toml::from_str(include_str!("suite.toml")).ok();
        file.map(|f| f.benchmark.iter().flat_map(|b| expand_variants(b, &f.variants)).collect())
            .unwrap_or_default()
    });
    &ALL
}

fn expand_variants(entry: &Entry, variants: &Variants) -> Vec<Benchmark> {
    [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .filter(|variant| !entry.alone || *variant == (false, false))
        .map(|(sack, probes)| {
            let mut made = Benchmark {
                name: entry.name.clone(),
                summary: entry.summary.clone(),
                by_default: entry.short && !sack && !probes,
                scenario: entry.scenario.clone(),
                set: pairs(&entry.set),
                probes,
            };
            if sack {
                made.add("sack", &variants.sack.summary);
                made.set.extend(pairs(entry.sack.as_ref().unwrap_or(&variants.sack.set)));
            }
            if probes {
                made.add("probes", &variants.probes.summary);
                made.set.extend(pairs(&variants.probes.set));
            }
            made
        })
        .collect()
}

impl Benchmark {
    fn add(&mut self, name: &str, summary: &str) {
        self.name = format!("{}-{name}", self.name);
        self.summary = format!("{}; {summary}", self.summary);
    }
}

fn pairs(table: &Table) -> Vec<(String, String)> {
    let text = |v: &toml::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    table.iter().map(|(k, v)| (k.clone(), text(v))).collect()
}

/// Returns the benchmarks that match `patterns`, each once, in the order of the list; the default
/// ones for an empty list. `*` matches any characters: `perm-*`, `*-probes`.
///
/// # Errors
/// The first pattern that matches no benchmark.
pub fn select(patterns: &[String]) -> Result<Vec<&'static Benchmark>, &str> {
    if patterns.is_empty() {
        return Ok(all().iter().filter(|b| b.by_default).collect());
    }
    let strange = |p: &&String| !all().iter().any(|b| glob_matches(p, &b.name));
    if let Some(pattern) = patterns.iter().find(strange) {
        return Err(pattern);
    }
    Ok(all().iter().filter(|b| patterns.iter().any(|p| glob_matches(p, &b.name))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_every_scenario_takes_its_keys() {
        assert_eq!(all().len(), 11 * 4 + 3);
        for benchmark in all() {
            let (_, setup) =
                super::super::specification(benchmark).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(setup.probes.interval.is_some(), benchmark.probes, "{}", benchmark.name);
            let hosts = benchmark.name.split('-').nth(1).and_then(|n| n.parse::<usize>().ok());
            let expected = match benchmark.name.split('-').next() {
                Some("dumbbell") => hosts.map(|n| 2 * n),
                Some("incast") => hosts.map(|n| n + 1),
                _ => hosts,
            };
            assert!(expected.is_none_or(|n| n == setup.hosts.len()), "{}", benchmark.name);
            let sack = benchmark.name.contains("-sack");
            let cc = if sack { "newreno" } else { "dctcp" };
            assert_eq!(setup.hosts[0].config.cc, cc, "{}", benchmark.name);
        }
    }

    #[test]
    fn patterns_name_benchmarks() {
        let names = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            let found = select(&patterns).map_err(str::to_owned)?;
            Ok::<_, String>(found.iter().map(|b| b.name.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["perm-128"]).unwrap(), ["perm-128"]);
        assert_eq!(
            names(&["perm-1*4", "perm-128*"]).unwrap(),
            ["perm-128", "perm-128-sack", "perm-128-probes", "perm-128-sack-probes", "perm-1024"]
        );
        assert_eq!(names(&["*"]).unwrap().len(), all().len());
        assert_eq!(names(&["perm-*", "perm-64*"]), Err("perm-64*".to_owned()));
        let short = names(&[]).unwrap();
        assert!(short.contains(&"perm-128") && !short.iter().any(|n| n.contains("sack")));
        assert!(
            glob_matches("a*b*c", "a__b__b__c")
                && !glob_matches("a*b*c", "a__b__")
                && glob_matches("*", "")
        );
    }
}
