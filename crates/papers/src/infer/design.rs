//! Settings to evaluate: Latin hypercubes of the prior, changes of the defaults, and
//! proposals of tree-structured Parzen estimators (Bergstra et al. 2011; crate `tpe`).
//!
//! Contract: a design follows from the seed and from the losses so far, in order, and from nothing
//! else, so any number of processes finds the same settings.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use tpe::{TpeOptimizer, TpeOptimizerBuilder};

use super::open::{OpenParameter, OpenSettings};
use super::setting::Setting;

/// Share of the evaluated settings that an estimator takes for good.
const GOOD: f64 = 0.2;

/// Attempts to find a setting that is not known yet.
const ATTEMPTS: usize = 50;

pub(super) type DesignRng = Xoshiro256PlusPlus;

pub(super) fn rng(seed: u64) -> DesignRng {
    DesignRng::seed_from_u64(seed)
}

/// Draws `count` settings from the prior: each parameter has one in each of `count` intervals of
/// equal probability.
pub(super) fn latin_hypercube(
    open: &OpenSettings,
    count: usize,
    rng: &mut DesignRng,
) -> Vec<Setting> {
    let mut columns = Vec::new();
    for _ in &open.parameters {
        let mut cells: Vec<usize> = (0..count).collect();
        cells.shuffle(rng);
        let within =
            |cell: usize, rng: &mut DesignRng| (cell as f64 + rng.random::<f64>()) / count as f64;
        columns.push(cells.into_iter().map(|c| within(c, rng)).collect::<Vec<f64>>());
    }
    (0..count)
        .map(|i| Setting::at(open, &columns.iter().map(|column| column[i]).collect::<Vec<_>>()))
        .collect()
}

/// Most changes of the defaults that are combined.
pub(super) const COMBINED: usize = 5;

/// The defaults with one parameter changed.
pub(super) fn single_changes(open: &OpenSettings) -> Vec<Setting> {
    let mut out = Vec::new();
    for (i, parameter) in open.parameters.iter().enumerate() {
        for value in parameter.changes() {
            let mut values = vec![String::new(); open.parameters.len()];
            values[i] = value;
            out.push(Setting { values });
        }
    }
    out
}

/// The defaults with the best two, three and more single changes of different parameters, of
/// those with a smaller loss than the defaults.
pub(super) fn combined_changes(singles: &[(Setting, f64)], defaults: f64) -> Vec<Setting> {
    let mut better: Vec<&(Setting, f64)> = singles.iter().filter(|(_, l)| *l < defaults).collect();
    better.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut out = Vec::new();
    let mut values: Vec<String> = Vec::new();
    let mut changes = 0;
    for (setting, _) in better {
        values.resize(setting.values.len(), String::new());
        let change = setting.values.iter().position(|v| !v.is_empty());
        let Some(i) = change.filter(|i| values[*i].is_empty()) else { continue };
        values[i].clone_from(&setting.values[i]);
        changes += 1;
        if changes > 1 {
            out.push(Setting { values: values.clone() });
        }
        if changes == COMBINED {
            break;
        }
    }
    out
}

/// Proposes `count` settings that are not in `known`, by the losses of those; fewer if the space
/// has no more.
pub(super) fn propose(
    open: &OpenSettings,
    known: &[(Setting, f64)],
    count: usize,
    rng: &mut DesignRng,
) -> Result<Vec<Setting>, String> {
    let mut estimators = Vec::new();
    for (i, parameter) in open.parameters.iter().enumerate() {
        let mut estimator = estimator(parameter)?;
        for (setting, loss) in known {
            let at = setting.values.get(i).and_then(|v| parameter.coordinate(v));
            if let Some(at) = at {
                // A bound of the range itself is outside of the estimator's half-open range.
                let at =
                    if parameter.choices().is_some() { at } else { at.min(1.0_f64.next_down()) };
                estimator.tell(at, *loss).map_err(|e| e.to_string())?;
            }
        }
        estimators.push(estimator);
    }
    let mut out: Vec<Setting> = Vec::new();
    for _ in 0..count * ATTEMPTS {
        if out.len() == count {
            break;
        }
        let mut unit = Vec::new();
        for (parameter, estimator) in open.parameters.iter().zip(&mut estimators) {
            let at = estimator.ask(rng).map_err(|e| e.to_string())?;
            unit.push(match parameter.choices() {
                Some(choices) => (at.floor() + 0.5) / choices as f64,
                None => at,
            });
        }
        let setting = Setting::at(open, &unit);
        if !out.contains(&setting) && !known.iter().any(|(k, _)| *k == setting) {
            out.push(setting);
        }
    }
    Ok(out)
}

fn estimator(parameter: &OpenParameter) -> Result<TpeOptimizer, String> {
    let mut builder = TpeOptimizerBuilder::new();
    builder.gamma(GOOD);
    let (estimator, range) = match parameter.choices() {
        Some(choices) => {
            // The best of many candidates would always be the same choice, with or without effect:
            // one candidate is a sample of the good settings.
            builder.candidates(1);
            (tpe::histogram_estimator(), tpe::categorical_range(choices))
        }
        None => (tpe::parzen_estimator(), tpe::range(0.0, 1.0)),
    };
    let range = range.map_err(|e| e.to_string())?;
    builder.build(estimator, range).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn open() -> OpenSettings {
        let words = "says = \"a\"\nquote = \"b\"\nsource = \"§V\"\nwhy = \"c\"\nprior = \"d\"\n";
        let text = format!(
            "[[parameter]]\nname = \"x\"\n{words}keys = [\"x\"]\nrange = [\"0\", \"1\"]\n\
             scale = \"linear\"\n\
             [[parameter]]\nname = \"rule\"\n{words}\
             [[parameter.choice]]\nname = \"a\"\nset = {{}}\n\
             [[parameter.choice]]\nname = \"b\"\nset = {{ \"r\" = true }}\n"
        );
        OpenSettings::parse(&text, "open.toml").unwrap()
    }

    fn x(setting: &Setting) -> f64 {
        setting.values[0].parse().unwrap()
    }

    #[test]
    fn a_hypercube_has_one_setting_in_each_interval() {
        let settings = latin_hypercube(&open(), 16, &mut rng(1));
        // A value is rounded to three digits, which may reach the edge of its interval.
        let cells: BTreeSet<usize> =
            settings.iter().map(|s| ((x(s) + 1e-9) * 16.0).floor() as usize).collect();
        assert!(cells.len() >= 15, "{cells:?}");
        assert_eq!(settings.iter().filter(|s| s.values[1] == "a").count(), 8);
        assert_eq!(settings, latin_hypercube(&open(), 16, &mut rng(1)));
        assert_ne!(settings, latin_hypercube(&open(), 16, &mut rng(2)));
    }

    #[test]
    fn changes_of_the_defaults_are_combined_in_the_order_of_their_losses() {
        let singles = single_changes(&open());
        let values =
            |of: &[Setting]| -> Vec<Vec<String>> { of.iter().map(|s| s.values.clone()).collect() };
        assert_eq!(values(&singles), [["0.25", ""], ["0.75", ""], ["", "b"]]);
        let losses = [0.3, 0.2, 0.1];
        let known: Vec<_> = singles.into_iter().zip(losses).collect();
        assert_eq!(values(&combined_changes(&known, 0.4)), [["0.75", "b"]]);
        assert_eq!(values(&combined_changes(&known, 0.15)), Vec::<Vec<String>>::new());
    }

    #[test]
    fn proposals_are_near_the_good_settings() {
        let open = open();
        let loss = |s: &Setting| (x(s) - 0.8).abs() + if s.values[1] == "b" { 0.0 } else { 0.5 };
        let mut rng = rng(7);
        let draws = latin_hypercube(&open, 40, &mut rng);
        let known: Vec<_> = draws.into_iter().map(|s| (s.clone(), loss(&s))).collect();
        let proposed = propose(&open, &known, 20, &mut rng).unwrap();
        let mean = |losses: Vec<f64>| losses.iter().sum::<f64>() / losses.len() as f64;
        let before = mean(known.iter().map(|(_, loss)| *loss).collect());
        let after = mean(proposed.iter().map(loss).collect());
        assert!(after < before / 2.0, "{after} against {before}");
        // A choice without an effect keeps all its values.
        let loss = |s: &Setting| (x(s) - 0.8).abs();
        let draws = latin_hypercube(&open, 40, &mut rng);
        let without: Vec<_> = draws.into_iter().map(|s| (s.clone(), loss(&s))).collect();
        let free = propose(&open, &without, 20, &mut rng).unwrap();
        let choices: BTreeSet<&str> = free.iter().map(|s| s.values[1].as_str()).collect();
        assert_eq!(choices.len(), 2);
        assert!(proposed.iter().all(|p| known.iter().all(|(k, _)| k != p)));
    }
}
