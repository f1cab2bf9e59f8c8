//! Keys of a workload, as it declares them; distributions and flow lists may come from files.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_schema::{DistributionOf, Param, Value, ValueKind, Values};
use lowtide_traffic::Cdf;
use lowtide_traffic::workload::UserFile;

use crate::error::nearest;
use crate::files::{FileCache, error_span};
use crate::reader::TableReader;
use crate::toml_tree::SourceText;
use crate::toml_writer::TomlWriter;

/// Values of the parameters of a workload, and the contents of the files that they name.
#[derive(Default)]
pub(super) struct WorkloadValues {
    /// Complete if the table has no error.
    pub(super) values: Values,
    pub(super) distributions: BTreeMap<&'static str, Arc<Cdf>>,
    pub(super) files: BTreeMap<&'static str, Arc<UserFile>>,
    /// All files that were read, those of distributions included, in the order of the parameters.
    pub(super) sources: Vec<Arc<UserFile>>,
}

/// Reads the values of `params`; reports each error at its key.
pub(super) fn read(
    r: &mut TableReader<'_, '_, '_>,
    params: &'static [Param],
    files: &FileCache<'_>,
) -> WorkloadValues {
    let mut out = WorkloadValues::default();
    for param in params {
        let name = param.name;
        let value = r.value(name).and_then(|(value, _)| value.into_value(&param.kind));
        let Some(mut value) = value else { continue };
        // The type of the key may accept more: it has no range of sizes and times.
        if let Err(error) = param.kind.check(&value) {
            r.report(name, format!("`{name}`: {error}"), None);
            continue;
        }
        match (*param.kind.without_word(), &value) {
            (ValueKind::Distribution(of), Value::Text(text)) => {
                let Some(cdf) = distribution(r, name, text, of, files, &mut out.sources) else {
                    continue;
                };
                value = Value::Text(cdf.name().to_owned());
                out.distributions.insert(name, Arc::new(cdf));
            }
            (ValueKind::File, Value::Text(path)) => match files.get(path) {
                Ok(file) => {
                    out.sources.push(Arc::clone(&file));
                    out.files.insert(name, file);
                }
                Err(why) => {
                    let help = "paths are relative to the scenario's directory".to_owned();
                    r.report(name, format!("cannot read `{path}`: {why}"), Some(help));
                    continue;
                }
            },
            _ => {}
        }
        out.values.set(name, value);
    }
    out
}

/// Reads the distribution `text`, the value of the key `name`; adds its file to `sources`.
fn distribution(
    r: &mut TableReader<'_, '_, '_>,
    name: &str,
    text: &str,
    of: DistributionOf,
    files: &FileCache<'_>,
    sources: &mut Vec<Arc<UserFile>>,
) -> Option<Cdf> {
    if let Some(cdf) = Cdf::from_text(text, of) {
        return Some(cdf);
    }
    let file = match files.get(text) {
        Ok(file) => file,
        Err(why) => {
            let known = Cdf::names(of);
            let help = match nearest(text, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? It is one of {}", known.join(", ")),
                None => {
                    format!("write a value with its unit, a file, or one of {}", known.join(", "))
                }
            };
            let message =
                format!("`{text}` is not a distribution, a value with a unit, or a file: {why}");
            r.report(name, message, Some(help));
            return None;
        }
    };
    sources.push(Arc::clone(&file));
    match Cdf::parse(text, of, &file.text) {
        Ok(cdf) => Some(cdf),
        Err(error) => {
            let at = error_span(&file.text, &error, r.add_source(SourceText::of(&file)));
            r.report_at(at, error.message, Some(error.help));
            None
        }
    }
}

/// Writes the values.
pub(super) fn write(out: &mut TomlWriter, values: &Values) {
    for (name, value) in values.iter() {
        match value {
            Value::Bool(_) | Value::Count(_) => out.bare(name, value),
            _ => out.text(name, value),
        }
    }
}
