//! `[compare]`: what everything is run once for, and the schemes that a file makes itself.

use super::file::File;
use super::transport;
use crate::keys::Fallback::Unset;
use crate::keys::key;
use crate::model::{Bundle, Named};
use crate::section::{More, Section};
use crate::text::Text;
use crate::value::{Names, Ty};

/// `[compare]`.
pub(crate) static COMPARE: Section = Section {
    path: &["compare"],
    doc: "Everything is run once for each of these.",
    keys: &[key(
        "schemes",
        Ty::NameList(Names::Schemes),
        Unset("one run, as `[transport]` says"),
        "Names of schemes, or of bundles below.",
    )],
    tables: &[&BUNDLES],
    more: More::Nothing,
};

/// `[compare.bundles.NAME]`.
pub(crate) static BUNDLES: Section = Section {
    path: &["compare", "bundles", "*"],
    doc: "A scheme of this file's own, which any `scheme` or `schemes` may name.",
    keys: &[
        key(
            "profile",
            Ty::Name(Names::Profiles),
            Unset("as `transport.profile`"),
            "The stack of all hosts whose group names none.",
        ),
        key(
            "base",
            Ty::Name(Names::BaseSchemes),
            Unset("the transport as it is"),
            "The scheme that it starts from.",
        ),
    ],
    tables: &[&SET],
    more: More::Switches,
};

/// `[compare.bundles.NAME.set]`, which [`crate::surroundings`] reads.
static SET: Section = Section {
    path: &["compare", "bundles", "*", "set"],
    doc: "What else of the scenario is different where this bundle is compared: quoted dotted keys, as of a sweep, \
          each with one value. A phantom queue that belongs to HULL, a scheme for another group of hosts.",
    keys: &[],
    tables: &[],
    more: More::Paths,
};

/// Reads what is compared.
pub(super) fn read(file: &mut File<'_, '_, '_>) -> Vec<Named> {
    let mut r = file.table(&COMPARE);
    let written = r.has("schemes");
    let names = r.names("schemes");
    if names.as_ref().is_some_and(Vec::is_empty) {
        let help = "name a scheme, or take the key out".to_owned();
        r.complain("schemes", "an empty comparison", Some(help));
    }
    let named = |(name, at)| Named { name, at };
    let out: Vec<Named> = names.unwrap_or_default().into_iter().map(named).collect();
    if written {
        let scheme = file.root.get(&["transport", "scheme"]);
        if let Some(node) = scheme {
            let help = "a compared scheme replaces it; set `compare.schemes` alone, or take \
                        `[compare]` out";
            file.complaints.add(
                node.at,
                "`transport.scheme` together with `compare.schemes`",
                Some(help.to_owned()),
            );
        }
    }
    out
}

/// Reads the bundles, of which there may be none.
pub(super) fn bundles(file: &mut File<'_, '_, '_>) -> Vec<Bundle> {
    if file.root.get(&["compare", "bundles"]).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for named in file.groups(&BUNDLES, "mine") {
        let name = named.name;
        if lowtide_tcp::scheme::find_scheme(name).is_some() {
            let message = format!("`{name}` is the name of a scheme already");
            file.complaints.add(named.at, message, Some("choose another name".to_owned()));
        }
        let mut r = file.reader(&BUNDLES, &[], named);
        let profile = transport::named(&mut r, "profile");
        let base = transport::named(&mut r, "base");
        out.push(Bundle { name: name.to_owned(), profile, base, settings: r.settings() });
    }
    out
}

/// Writes the name of a bundle out; its switches stand in the groups already.
pub(super) fn write(out: &mut Text, bundle: &Bundle) {
    out.table(&format!("compare.bundles.{}", bundle.name));
    transport::write_named(out, "profile", bundle.profile.as_ref());
    transport::write_named(out, "base", bundle.base.as_ref());
}
