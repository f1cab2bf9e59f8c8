//! The pages: one per scheme, control, policy, decoder and profile, and the index.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use lowtide_tcp::cc::{self, Signal};
use lowtide_tcp::profile::{self, Assignment};
use lowtide_tcp::scheme::{self, Scheme};
use lowtide_tcp::{Param, ack, feedback, switches};

use crate::module::Module;

const MADE: &str = "<!-- Generated from the code by `cargo xtask docs`; a test checks it. -->\n";

/// All pages, by path below `docs/reference/schemes/`.
pub(crate) fn all() -> BTreeMap<String, String> {
    let mut out = BTreeMap::from([("README.md".to_owned(), index())]);
    let mut add = |path: String, text: String| {
        let text = format!("{MADE}{}\n", text.trim_end());
        assert!(out.insert(path.clone(), text).is_none(), "{path} twice");
    };
    for s in scheme::REGISTRY.all() {
        add(format!("{}.md", s.name), scheme_page(s));
    }
    for p in profile::REGISTRY.all() {
        add(format!("profile/{}.md", p.name), profile_page(p.name, p.summary, p.settings));
    }
    for e in cc::REGISTRY.all() {
        add(format!("cc/{}.md", e.name), control(e));
    }
    for e in ack::REGISTRY.all() {
        let module = Module::of("ack", e.name);
        add(format!("ack/{}.md", e.name), registered("ack", e.name, e.params, &module, ""));
    }
    for e in feedback::REGISTRY.all() {
        let module = Module::of("feedback", e.name);
        let serves = match e.ack_policies {
            [] => "It decodes the echo of any receiver.\n".to_owned(),
            names => format!(
                "It decodes the echo of {}.\n",
                list(names.iter().map(|n| format!("[`{n}`](../ack/{n}.md)")))
            ),
        };
        add(
            format!("feedback/{}.md", e.name),
            registered("feedback", e.name, e.params, &module, &serves),
        );
    }
    out
}

fn index() -> String {
    let mut out = format!(
        "{MADE}# Schemes and their components\n\
         A **scheme** is the unit of comparison: a named bundle of switches. It selects a\n\
         **congestion control** (how much the sender has in flight), a **feedback decoder**\n\
         (how the sender interprets the echoed bits) and an **acknowledgement policy** (when\n\
         the receiver acknowledges, and what it echoes). The three are independent: any sender\n\
         can be paired with any receiver. A **profile** is the complete configuration of a\n\
         stack; a scheme overrides parts of it.\n\n\
         `lowtide list` prints these tables, `lowtide explain NAME` one entry, `lowtide explain\n\
         --diff a b` the differences of two. [Deviations](../deviations.md) lists deviations\n\
         from specifications. `CONTRIBUTING.md` describes how to add a\n\
         scheme.\n\n"
    );
    out += &table("Schemes", "", scheme::REGISTRY.all().map(|s| (s.name, s.summary)));
    let controls = cc::REGISTRY.all().map(|e| (e.name, e.summary));
    out += &table("Congestion controls (`cc`)", "cc/", controls);
    let decoders = feedback::REGISTRY.all().map(|e| (e.name, e.summary));
    out += &table("Feedback decoders (`feedback`)", "feedback/", decoders);
    let policies = ack::REGISTRY.all().map(|e| (e.name, e.summary));
    out += &table("Acknowledgement policies (`ack`)", "ack/", policies);
    out += &table("Profiles", "profile/", profile::REGISTRY.all().map(|p| (p.name, p.summary)));
    format!("{}\n", out.trim_end())
}

fn table<'a>(title: &str, folder: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = format!("## {title}\n| name | what it is |\n|---|---|\n");
    for (name, summary) in rows {
        let _ = writeln!(out, "| [`{name}`]({folder}{name}.md) | {} |", cell(summary));
    }
    out + "\n"
}

fn scheme_page(s: &Scheme) -> String {
    let mut out = format!("# Scheme `{}`\n{}.\n\n", s.name, s.summary);
    for (room, title) in
        [("cc", "The sender"), ("feedback", "Its decoder"), ("ack", "The receiver")]
    {
        let Some(name) = s.value(room) else { continue };
        let text = Module::of(room, name).first("Algorithm").to_owned();
        let _ = write!(out, "## {title}: [`{name}`]({room}/{name}.md)\n{text}\n\n");
    }
    out += "## Settings\nEverything else is the profile's.\n\n";
    out += &settings(s.settings);
    let _ = write!(
        out,
        "\n## Try it\n```sh\nlowtide run first-light -s compare.schemes={0}\nlowtide explain {0}\n```\n",
        s.name
    );
    out
}

fn profile_page(name: &str, summary: &str, list: &[Assignment]) -> String {
    let rest = if name == "rfc" { "have their defaults" } else { "are as in [`rfc`](rfc.md)" };
    format!(
        "# Profile `{name}`\nThis is {summary}.\nSwitches that it does not set {rest}.\n\n{}",
        settings(list)
    )
}

fn settings(list: &[Assignment]) -> String {
    let mut out = "| switch | value | meaning | source |\n|---|---|---|---|\n".to_owned();
    for a in list {
        let doc = switches::find(a.switch).map_or("", |s| s.doc());
        let (doc, source) = (cell(doc), cell(a.source));
        let _ = writeln!(out, "| `{}` | `{}` | {doc} | {source} |", a.switch, a.value);
    }
    out
}

fn control(e: &cc::CcEntry) -> String {
    let module = Module::of("cc", e.name);
    let d = &e.declared;
    let signals = d.reacts_to.iter().map(|s| {
        match s {
            Signal::Loss => "loss",
            Signal::Ecn => "ECN marks",
            Signal::Delay => "delay",
        }
        .to_owned()
    });
    let mut says = format!("It reacts to {}.", list(signals));
    if d.proportional {
        says += " An ECN cut is proportional to the marked share.";
    }
    if e.requires.ecn {
        says += "\nIt needs ECN; *Algorithm* covers its behaviour without ECN.";
    }
    if e.requires.host_stamps {
        says += " It needs the delay option on the wire.";
    }
    let floor = d.floor_segments;
    let plural = if floor == 1 { "" } else { "s" };
    let _ = writeln!(
        says,
        "\nNo reaction except a timeout reduces its window below {floor} segment{plural}, or below the\n\
         switch `window-floor` if that is less."
    );
    for x in d.exemptions {
        let _ = write!(
            says,
            "\nIt breaks `{}` of the conformance kit on purpose:\n{}.\n",
            x.rule, x.source
        );
    }
    registered("cc", e.name, e.params, &module, &says)
}

fn registered(room: &str, name: &str, params: &[Param], module: &Module, says: &str) -> String {
    let what = match room {
        "cc" => "Congestion control",
        "ack" => "Acknowledgement policy",
        _ => "Feedback decoder",
    };
    let mut out = format!("# {what} `{name}`\n{}\n\n", module.title);
    for heading in ["Algorithm", "Spec", "Deviations", "Kernel twin"] {
        let shown = if heading == "Spec" { "Specification" } else { heading };
        let _ = write!(out, "## {shown}\n{}\n\n", module.section(heading));
    }
    if !says.is_empty() {
        let _ = write!(out, "## Declared properties\n{says}\n");
    }
    out += "## Parameters\n";
    if params.is_empty() {
        out += "None.\n";
    } else {
        out += "| name | default | accepts | meaning | source |\n|---|---|---|---|---|\n";
    }
    for p in params {
        let _ = writeln!(
            out,
            "| `{name}.{}` | `{}` | {} | {} | {} |",
            p.name,
            p.default.text().unwrap_or_default(),
            cell(&p.kind.describe()),
            cell(p.doc),
            cell(p.source)
        );
    }
    let schemes: Vec<String> = scheme::REGISTRY
        .all()
        .filter(|s| s.value(room) == Some(name))
        .map(|s| format!("[`{0}`](../{0}.md)", s.name))
        .collect();
    if !schemes.is_empty() {
        let _ = write!(out, "\n## Schemes with it\n{}.\n", list(schemes.into_iter()));
    }
    let side = if room == "ack" { "receiver" } else { "sender" };
    let _ = write!(
        out,
        "\nCode: `{}`.\nIn a scenario: `transport.{side}.{room} = \"{name}\"`.\n",
        module.path
    );
    out
}

/// `a`, `a and b`, `a, b and c`.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
