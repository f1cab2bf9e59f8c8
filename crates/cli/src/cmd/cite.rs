//! `lowtide cite`: citations of the tool and of its sources.

use std::collections::BTreeMap;

use lowtide_papers::{
    Reference, Tool, bibtex, find_experiments, reference_of_paper, references, references_named_in,
};

use crate::args::CiteArgs;
use crate::catalogue::{self, CatalogueItem};
use crate::cmd::explain::unknown;
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn cite(args: &CiteArgs, out: Output) -> Result<(), CommandError> {
    let sources = sources(&args.names)?;
    if out.json {
        return out.answer("lowtide.cite/1", &BTreeMap::from([("references", sources)]));
    }
    let tool = Tool { version: env!("CARGO_PKG_VERSION") };
    Output::raw(&bibtex(args.names.is_empty().then_some(tool), &sources))
}

/// Sources that the items of these names cite, in the order of [`references`].
pub(super) fn sources(names: &[String]) -> Result<Vec<&'static Reference>, CommandError> {
    let mut cited: Vec<&'static Reference> = Vec::new();
    for name in names {
        let items = catalogue::find(name);
        let experiments = find_experiments(name);
        if items.is_empty() && experiments.is_empty() {
            let kinds = catalogue::KINDS.into_iter();
            let known: Vec<String> =
                kinds.flat_map(catalogue::items).map(|item| item.name).collect();
            return Err(unknown("scheme, part or experiment", name, &known));
        }
        let found = of_items(&items);
        let papers = experiments.iter().filter_map(|e| reference_of_paper(e.paper));
        let before = cited.len();
        cited.extend(found.into_iter().chain(papers));
        if cited.len() == before {
            let message = format!("`{name}` names no source with a citation");
            let help = "`lowtide explain` prints the source of each setting".to_owned();
            return Err(CommandError::Usage(message, Some(help)));
        }
    }
    Ok(references().iter().filter(|r| cited.contains(r)).collect())
}

/// Sources that the settings of the items name.
fn of_items(items: &[CatalogueItem]) -> Vec<&'static Reference> {
    // The source of an experiment is that of its paper.
    let items = items.iter().filter(|item| item.kind != "experiment");
    let text = |item: &CatalogueItem| {
        let settings = item.settings.iter().map(|s| s.source.clone());
        std::iter::once(item.spec.clone()).chain(settings).collect::<Vec<_>>()
    };
    references_named_in(&items.flat_map(text).collect::<Vec<_>>())
}
