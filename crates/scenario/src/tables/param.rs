//! Keys of a workload; distributions and flow lists may come from files.

use std::sync::Arc;

use lowtide_traffic::Cdf;
use lowtide_traffic::cdf::CdfKind;
use lowtide_traffic::workload::{
    UserFile, WorkloadArgs, WorkloadParam, WorkloadParamKind, WorkloadParamValue,
};
use lowtide_units::Rate;

use crate::error::nearest;
use crate::files::{FileCache, error_span};
use crate::reader::TableReader;
use crate::toml_tree::SourceText;
use crate::toml_writer::TomlWriter;
use lowtide_schema::Value;

/// Reads a parameter's value, and the file that it is from.
pub(super) fn read(
    r: &mut TableReader<'_, '_, '_>,
    param: &WorkloadParam,
    files: &FileCache<'_>,
) -> (WorkloadParamValue, Option<Arc<UserFile>>) {
    let name = param.name;
    let mut kind = param.kind;
    if let WorkloadParamKind::Optional(inner) = kind {
        match r.single(name) {
            Some(Value::Name("off")) | None => return (WorkloadParamValue::Off, None),
            Some(_) => kind = *inner,
        }
    }
    let value = match kind {
        WorkloadParamKind::Count { .. } => WorkloadParamValue::Count(r.count(name)),
        WorkloadParamKind::Size | WorkloadParamKind::SizeOrUnlimited => {
            WorkloadParamValue::Size(r.size(name))
        }
        WorkloadParamKind::Time => WorkloadParamValue::Time(r.time(name).unwrap_or_default()),
        WorkloadParamKind::Rate => {
            WorkloadParamValue::Rate(r.rate(name).unwrap_or(Rate::from_gbps(1)))
        }
        WorkloadParamKind::Parts { min, .. } => {
            WorkloadParamValue::Parts(r.parts(name).unwrap_or(min))
        }
        WorkloadParamKind::Choice(names) => {
            let chosen = r.text(name);
            let chosen = names.iter().find(|n| Some(**n) == chosen.as_deref());
            WorkloadParamValue::Choice(chosen.or(names.first()).copied().unwrap_or_default())
        }
        WorkloadParamKind::Distribution(kind) => return distribution(r, name, kind, files),
        WorkloadParamKind::File => {
            let Some(path) = r.text(name) else { return (WorkloadParamValue::Off, None) };
            return match files.get(&path) {
                Ok(file) => (WorkloadParamValue::File(Arc::clone(&file)), Some(file)),
                Err(why) => {
                    let help = "paths are relative to the scenario's directory".to_owned();
                    r.report(name, format!("cannot read `{path}`: {why}"), Some(help));
                    (WorkloadParamValue::Off, None)
                }
            };
        }
        // Optional parameters are not nested.
        WorkloadParamKind::Optional(_) => WorkloadParamValue::Off,
    };
    (value, None)
}

fn distribution(
    r: &mut TableReader<'_, '_, '_>,
    name: &str,
    kind: CdfKind,
    files: &FileCache<'_>,
) -> (WorkloadParamValue, Option<Arc<UserFile>>) {
    let Some(text) = r.text(name) else { return (WorkloadParamValue::Off, None) };
    if let Some(cdf) = Cdf::from_text(&text, kind) {
        return (WorkloadParamValue::Distribution(Arc::new(cdf)), None);
    }
    let file = match files.get(&text) {
        Ok(file) => file,
        Err(why) => {
            let known = Cdf::names(kind);
            let help = match nearest(&text, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? It is one of {}", known.join(", ")),
                None => {
                    format!("write a value with its unit, a file, or one of {}", known.join(", "))
                }
            };
            let message =
                format!("`{text}` is not a distribution, a value with a unit, or a file: {why}");
            r.report(name, message, Some(help));
            return (WorkloadParamValue::Off, None);
        }
    };
    match Cdf::parse(&text, kind, &file.text) {
        Ok(cdf) => (WorkloadParamValue::Distribution(Arc::new(cdf)), Some(file)),
        Err(error) => {
            let at = error_span(&file.text, &error, r.add_source(SourceText::of(&file)));
            r.report_at(at, error.message, Some(error.help));
            (WorkloadParamValue::Off, Some(file))
        }
    }
}

/// Writes a parameter's value.
pub(super) fn write(out: &mut TomlWriter, param: &WorkloadParam, args: &WorkloadArgs) {
    let name = param.name;
    let mut kind = param.kind;
    if let WorkloadParamKind::Optional(inner) = kind {
        if !args.is_set(name) {
            return out.text(name, "off");
        }
        kind = *inner;
    }
    match kind {
        WorkloadParamKind::Count { .. } => out.bare(name, args.count(name)),
        WorkloadParamKind::Time => out.text(name, args.time(name)),
        WorkloadParamKind::Rate => out.optional(name, args.rate(name)),
        WorkloadParamKind::Parts { .. } => out.optional(name, args.parts(name)),
        WorkloadParamKind::Choice(_) => out.optional(name, args.choice(name)),
        WorkloadParamKind::Distribution(_) => {
            out.optional(name, args.distribution(name).map(|cdf| cdf.name()));
        }
        WorkloadParamKind::File => out.optional(name, args.file(name).map(|file| &file.name)),
        WorkloadParamKind::Size | WorkloadParamKind::SizeOrUnlimited => match args.size(name) {
            Some(size) => out.text(name, size),
            None => out.text(name, "unlimited"),
        },
        WorkloadParamKind::Optional(_) => {}
    }
}
