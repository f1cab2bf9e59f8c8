//! `[question]`: the question that the results answer first.

use lowtide_rows::{AskedScheme, ScenarioQuestion};
use lowtide_schema::DefaultValue::{Is, Required, Unset};
use lowtide_units::Fraction;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::sweep;
use crate::table_spec::{TableContents, TableSpec};
use crate::value::{KeyType, NameSet};

/// `[question]`.
pub(crate) static QUESTION: TableSpec = TableSpec {
    path: &["question"],
    doc: "The question that the results answer first, in one sentence. It affects no run.",
    keys: &[
        key("traffic", KeyType::Name(NameSet::Traffic), Required, "Traffic group of the question."),
        key(
            "measure",
            KeyType::Name(NameSet::Fixed(&["completion-time", "slowdown"])),
            Is("completion-time"),
            "`completion-time` from the open to the last byte, or `slowdown`, the completion time over the ideal one.",
        ),
        key(
            "percentile",
            KeyType::Name(NameSet::Fixed(&["mean", "p50", "p95", "p99", "p99.9"])),
            Is("mean"),
            "Percentile of the measure, or its mean: of the flows of a seed, then the mean over the seeds.",
        ),
        key(
            "tolerance",
            KeyType::Parts { min: Fraction::ZERO, max: Fraction::ONE },
            Is("5 %"),
            "Relative difference up to which two schemes count as equal.",
        ),
        key(
            "both-sides",
            KeyType::Name(NameSet::Schemes),
            Unset("no sentence about sides"),
            "Scheme with the new behaviour at senders and receivers, with which `one-side` is compared.",
        ),
        key(
            "one-side",
            KeyType::Name(NameSet::Schemes),
            Unset("no sentence about sides"),
            "Scheme with the new behaviour at one side.",
        ),
        key(
            "source",
            KeyType::Text,
            Unset("`reported`"),
            "Origin of the reported values, before the first of them.",
        ),
    ],
    tables: &[&AT, &ASKED],
    contents: TableContents::KeysOnly,
};

static AT: TableSpec = TableSpec {
    path: &["question", "at"],
    doc: "Point of the sweep: quoted dotted keys, each with one value. Without it, or if no point has these values, the last point; \
          reported values are shown only at this point.",
    keys: &[],
    tables: &[],
    contents: TableContents::Paths,
};

/// `[question.schemes.NAME]`.
static ASKED: TableSpec = TableSpec {
    path: &["question", "schemes", "*"],
    doc: "A scheme in the answer, in this order; the first is the baseline. A scheme that is not compared is left out.",
    keys: &[
        key("name", KeyType::Text, Unset("the name of the scheme"), "Its name in the sentence."),
        key(
            "reported",
            KeyType::Text,
            Unset("no comparison"),
            "Value of the source: a time, `\"82.5 ms\"`, or a slowdown, `\"1.2\"`.",
        ),
    ],
    tables: &[],
    contents: TableContents::KeysOnly,
};

/// Reads the table; there may be none.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Option<ScenarioQuestion> {
    let node = file.root.get(QUESTION.path)?;
    let mut r = file.table(&QUESTION);
    let traffic = r.text("traffic");
    let measure = r.text("measure").unwrap_or_default();
    let percentile = r.text("percentile").unwrap_or_default();
    let tolerance = r.parts("tolerance").unwrap_or_default();
    let tolerance = tolerance.as_ppb() as f64 / 1e9;
    let (both_sides, one_side) = (r.text("both-sides"), r.text("one-side"));
    if both_sides.is_some() != one_side.is_some() {
        let lacking = if one_side.is_some() { "both-sides" } else { "one-side" };
        r.report_missing(lacking);
    }
    let source = r.text("source");
    let mut at = Vec::new();
    for (key, span, value) in node.get(&["at"]).map(sweep::dotted_entries).unwrap_or_default() {
        match sweep::value_label(&key, value, file.known) {
            Ok(label) => at.push((key, label)),
            Err((message, help)) => {
                file.diagnostics.add(span, format!("`{key}` in [question.at]: {message}"), help);
            }
        }
    }
    // The source reports the statistic of the file; an override asks for another one.
    let other_statistic = ["measure", "percentile"]
        .iter()
        .any(|key| node.get(&[key]).is_some_and(|value| value.is_override));
    let mut schemes = Vec::new();
    for named in file.groups(&ASKED, "dctcp") {
        let known = file.known.list(NameSet::Schemes);
        if !known.iter().any(|name| name == named.name) {
            let message = format!("unknown scheme `{}` in [question.schemes]", named.name);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = crate::error::suggest(named.name, &known);
            file.diagnostics.add(named.at, message, help);
        }
        let mut r = file.reader(&ASKED, &[], named);
        let name = r.text("name");
        let text = r.text("reported");
        let reported = text.as_deref().and_then(|text| number(text, &measure));
        if text.is_some() && reported.is_none() {
            let kind = if measure == "slowdown" {
                "a slowdown, `\"1.2\"`"
            } else {
                "a time, `\"82.5 ms\"`"
            };
            r.report("reported", format!("`reported` is not {kind}"), None);
        }
        let reported = reported.filter(|_| !other_statistic);
        schemes.push(AskedScheme { scheme: named.name.to_owned(), name, reported });
    }
    Some(ScenarioQuestion {
        traffic: traffic?,
        measure,
        percentile,
        tolerance,
        at,
        both_sides,
        one_side,
        source,
        schemes,
    })
}

/// Reads a value of the measure: milliseconds, or a slowdown of at least one.
fn number(text: &str, measure: &str) -> Option<f64> {
    if measure == "slowdown" {
        return text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 1.0);
    }
    lowtide_units::parse_duration(text).ok().map(|time| time.as_ps() as f64 / 1e9)
}
