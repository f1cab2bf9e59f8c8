//! Scenario files: parsed, completed, checked and expanded, never run.

use lowtide_scenario::Scenario;

/// Longer files find nothing new, and take long.
const MAX_LEN: usize = 8_192;
/// Prefixes of lines that represent `-s` or `--over`.
const OVERRIDE: &str = "#-s ";
const SWEEP: &str = "#--over ";

/// Tests a file; lines that begin with `#-s key=value` or `#--over key=a,b` also become such
/// options.
pub fn run(data: &[u8]) {
    let data = &data[..data.len().min(MAX_LEN)];
    let text = String::from_utf8_lossy(data);
    let Ok(mut scenario) = Scenario::parse(&text, "fuzz.toml") else { return };
    assert_eq!(scenario.text(), text);
    for line in text.lines() {
        let changed = if let Some((key, value)) = split(line, OVERRIDE) {
            scenario.clone().with_override(key, value)
        } else if let Some((key, values)) = split(line, SWEEP) {
            let values: Vec<String> = values.split(',').map(str::to_owned).collect();
            scenario.clone().with_sweep(key, &values)
        } else {
            continue;
        };
        match changed {
            Ok(changed) => scenario = changed,
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
    let plan = match scenario.expand() {
        Ok(plan) => plan,
        Err(errors) => {
            assert!(!errors.to_string().is_empty(), "an error without a text");
            return;
        }
    };
    assert!(!plan.runs.is_empty() && plan.runs.len() <= 1_000_000);
    let again = scenario.expand().expect("the first expansion succeeded");
    assert_eq!(plan.hash, again.hash);
    // The resolved text specifies the same run.
    let (first, last) = (&plan.runs[0], &plan.runs[plan.runs.len() - 1]);
    for run in [first, last] {
        let toml = run.resolved_toml();
        let resolved = Scenario::parse(&toml, "resolved.toml")
            .and_then(|s| s.expand())
            .unwrap_or_else(|e| panic!("{e}\nin the resolved text:\n{toml}"));
        assert_eq!(resolved.runs.len(), 1, "one run became several:\n{toml}");
        assert_eq!(resolved.runs[0].hash, run.hash, "another run:\n{toml}");
    }
}

fn split<'a>(line: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(start)?.split_once('=')
}
