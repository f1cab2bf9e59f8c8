//! `[compare]`: the compared schemes, and the bundles that a file defines.

use super::read_context::ReadContext;
use super::transport;
use crate::keys::key;
use crate::model::{Bundle, SpannedName};
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::Unset;

/// `[compare]`.
pub(crate) static COMPARE: TableSpec = TableSpec {
    path: &["compare"],
    doc: "Compared schemes: everything is run once for each.",
    keys: &[key(
        "schemes",
        KeyType::NameList(NameSet::Schemes),
        Unset("one run with `[transport]`"),
        "Names of schemes, or of bundles below.",
    )],
    tables: &[&BUNDLES],
    contents: TableContents::KeysOnly,
};

/// `[compare.bundles.NAME]`.
pub(crate) static BUNDLES: TableSpec = TableSpec {
    path: &["compare", "bundles", "*"],
    doc: "A scheme defined in this file, for any `scheme` or `schemes`.",
    keys: &[
        key(
            "profile",
            KeyType::Name(NameSet::Profiles),
            Unset("as `transport.profile`"),
            "Stack of all hosts whose group names none.",
        ),
        key(
            "base",
            KeyType::Name(NameSet::BaseSchemes),
            Unset("the transport unchanged"),
            "Scheme that the bundle extends.",
        ),
    ],
    tables: &[&SET],
    contents: TableContents::Switches,
};

/// `[compare.bundles.NAME.set]`, which [`crate::bundle_overrides`] reads.
static SET: TableSpec = TableSpec {
    path: &["compare", "bundles", "*", "set"],
    doc: "Other keys of the scenario that this bundle sets when it is compared: quoted dotted keys, as in a sweep, \
          each with one value. Examples: the phantom queue of HULL, a scheme for another host group.",
    keys: &[],
    tables: &[],
    contents: TableContents::Paths,
};

/// Reads the compared schemes.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> Vec<SpannedName> {
    let mut r = file.table(&COMPARE);
    let written = r.has("schemes");
    let names = r.names("schemes");
    if names.as_ref().is_some_and(Vec::is_empty) {
        let help = "name a scheme, or remove the key".to_owned();
        r.report("schemes", "an empty comparison", Some(help));
    }
    let named = |(name, at)| SpannedName { name, at };
    let out: Vec<SpannedName> = names.unwrap_or_default().into_iter().map(named).collect();
    if written {
        let scheme = file.root.get(&["transport", "scheme"]);
        if let Some(node) = scheme {
            let help = "a compared scheme replaces it; set only `compare.schemes`, or remove \
                        `[compare]`";
            file.diagnostics.add(
                node.at,
                "`transport.scheme` together with `compare.schemes`",
                Some(help.to_owned()),
            );
        }
    }
    out
}

/// Reads the bundles; there may be none.
pub(super) fn bundles(file: &mut ReadContext<'_, '_, '_>) -> Vec<Bundle> {
    if file.root.get(&["compare", "bundles"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&BUNDLES, "mine") {
        let name = named.name;
        if lowtide_tcp::scheme::REGISTRY.find(name).is_some() {
            let message = format!("`{name}` is the name of a scheme already");
            file.diagnostics.add(named.at, message, Some("choose another name".to_owned()));
        }
        let mut r = file.reader(&BUNDLES, &[], named);
        let profile = transport::named(&mut r, "profile");
        let base = transport::named(&mut r, "base");
        out.push(Bundle { name: name.to_owned(), profile, base, settings: r.settings() });
    }
    out
}

/// Writes the name of a bundle; the host groups already contain its switches.
pub(super) fn write(out: &mut TomlWriter, bundle: &Bundle) {
    out.table(&format!("compare.bundles.{}", bundle.name));
    transport::write_named(out, "profile", bundle.profile.as_ref());
    transport::write_named(out, "base", bundle.base.as_ref());
}
