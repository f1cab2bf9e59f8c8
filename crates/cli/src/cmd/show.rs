//! `lowtide show`: the file of an embedded scenario, setup or experiment, to edit.

use serde::Serialize;

use crate::catalogue::nearest_names;
use crate::error::CommandError;
use crate::output::Output;

#[derive(Serialize)]
struct Shown {
    name: String,
    text: String,
}

pub(crate) fn show(name: &str, out: Output) -> Result<(), CommandError> {
    let scenarios = lowtide_scenario::embedded_scenarios().iter();
    let scenarios = scenarios.map(|s| (s.name.to_owned(), s.text));
    let experiments = lowtide_papers::experiments();
    let experiments = experiments.iter().map(|e| (e.id(), e.scenario));
    let all: Vec<(String, &str)> = scenarios.chain(experiments).collect();
    let Some((name, text)) = all.iter().find(|(known, _)| known == name) else {
        return Err(unknown(name, &all));
    };
    if out.json {
        let (name, text) = (name.clone(), (*text).to_owned());
        return out.answer("lowtide.show/1", &Shown { name, text });
    }
    Output::raw(text)
}

fn unknown(name: &str, all: &[(String, &str)]) -> CommandError {
    let known: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let near: Vec<String> =
        nearest_names(name, &known).iter().map(|near| format!("`{near}`")).collect();
    let list = "`lowtide list scenarios` and `lowtide papers list` show all";
    let help = if near.is_empty() {
        list.to_owned()
    } else {
        format!("did you mean {}? {list}", near.join(" or "))
    };
    let message = format!("there is no embedded scenario or experiment `{name}`");
    CommandError::Usage(message, Some(help))
}
