//! The keys of a workload: a distribution and a list of flows may come from files.

use std::sync::Arc;

use lowtide_traffic::Cdf;
use lowtide_traffic::cdf::Measure;
use lowtide_traffic::workload::{Args, Param, ParamKind, ParamValue, UserFile};
use lowtide_units::Rate;

use crate::error::nearest;
use crate::files::{Library, place};
use crate::reader::Reader;
use crate::text::Text;
use crate::tree::Source;
use crate::value::Val;

/// The value of a parameter, and the file that it is from.
pub(super) fn read(
    r: &mut Reader<'_, '_, '_>,
    param: &Param,
    library: &Library<'_>,
) -> (ParamValue, Option<Arc<UserFile>>) {
    let name = param.name;
    let mut kind = param.kind;
    if let ParamKind::Optional(inner) = kind {
        match r.value(name) {
            Some((Val::Word("off"), _)) | None => return (ParamValue::Off, None),
            Some(_) => kind = *inner,
        }
    }
    let value = match kind {
        ParamKind::Count { .. } => ParamValue::Count(r.count(name)),
        ParamKind::Size | ParamKind::SizeOrUnlimited => ParamValue::Size(r.size(name)),
        ParamKind::Time => ParamValue::Time(r.time(name).unwrap_or_default()),
        ParamKind::Rate => ParamValue::Rate(r.rate(name).unwrap_or(Rate::from_gbps(1))),
        ParamKind::Parts { min, .. } => ParamValue::Parts(r.parts(name).unwrap_or(min)),
        ParamKind::Choice(names) => {
            let chosen = r.text(name);
            let chosen = names.iter().find(|n| Some(**n) == chosen.as_deref());
            ParamValue::Choice(chosen.or(names.first()).copied().unwrap_or_default())
        }
        ParamKind::Distribution(measure) => return distribution(r, name, measure, library),
        ParamKind::File => {
            let Some(path) = r.text(name) else { return (ParamValue::Off, None) };
            return match library.get(&path) {
                Ok(file) => (ParamValue::File(Arc::clone(&file)), Some(file)),
                Err(why) => {
                    let help = "paths lead from the scenario's own directory".to_owned();
                    r.complain(name, format!("cannot read `{path}`: {why}"), Some(help));
                    (ParamValue::Off, None)
                }
            };
        }
        // One optional parameter in another says nothing more.
        ParamKind::Optional(_) => ParamValue::Off,
    };
    (value, None)
}

fn distribution(
    r: &mut Reader<'_, '_, '_>,
    name: &str,
    measure: Measure,
    library: &Library<'_>,
) -> (ParamValue, Option<Arc<UserFile>>) {
    let Some(text) = r.text(name) else { return (ParamValue::Off, None) };
    if let Some(cdf) = Cdf::written(&text, measure) {
        return (ParamValue::Distribution(Arc::new(cdf)), None);
    }
    let file = match library.get(&text) {
        Ok(file) => file,
        Err(why) => {
            let known = Cdf::names(measure);
            let help = match nearest(&text, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? It is one of {}", known.join(", ")),
                None => {
                    format!("write a value with its unit, a file, or one of {}", known.join(", "))
                }
            };
            let message =
                format!("`{text}` is no distribution, no value with a unit, and no file: {why}");
            r.complain(name, message, Some(help));
            return (ParamValue::Off, None);
        }
    };
    match Cdf::parse(&text, measure, &file.text) {
        Ok(cdf) => (ParamValue::Distribution(Arc::new(cdf)), Some(file)),
        Err(error) => {
            let at = place(&file.text, &error, r.source(Source::of(&file)));
            r.complain_at(at, error.message, Some(error.help));
            (ParamValue::Off, Some(file))
        }
    }
}

/// Writes the value of a parameter out.
pub(super) fn write(out: &mut Text, param: &Param, args: &Args) {
    let name = param.name;
    let mut kind = param.kind;
    if let ParamKind::Optional(inner) = kind {
        if !args.is_set(name) {
            return out.text(name, "off");
        }
        kind = *inner;
    }
    match kind {
        ParamKind::Count { .. } => out.bare(name, args.count(name)),
        ParamKind::Time => out.text(name, args.time(name)),
        ParamKind::Rate => out.some(name, args.rate(name)),
        ParamKind::Parts { .. } => out.some(name, args.parts(name)),
        ParamKind::Choice(_) => out.some(name, args.choice(name)),
        ParamKind::Distribution(_) => out.some(name, args.distribution(name).map(|cdf| cdf.name())),
        ParamKind::File => out.some(name, args.file(name).map(|file| &file.name)),
        ParamKind::Size | ParamKind::SizeOrUnlimited => match args.size(name) {
            Some(size) => out.text(name, size),
            None => out.text(name, "unlimited"),
        },
        ParamKind::Optional(_) => {}
    }
}
