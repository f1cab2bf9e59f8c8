//! `[transport]`: how the TCP of every host behaves where its group does not say otherwise; and what any
//! table may say of a transport.

use lowtide_host::find_host_profile;

use super::file::File;
use crate::keys::Fallback::{Is, Unset};
use crate::keys::key;
use crate::model::{Named, Stack};
use crate::reader::Reader;
use crate::section::{More, Section};
use crate::text::Text;
use crate::value::{Names, Ty};

/// `[transport]`.
pub(crate) static TRANSPORT: Section = Section {
    path: &["transport"],
    doc: "How the TCP of every host behaves, where its group does not say otherwise.",
    keys: &[
        key(
            "profile",
            Ty::Name(Names::Profiles),
            Is("rfc"),
            "The stack that all switches are taken from first.",
        ),
        key(
            "scheme",
            Ty::Name(Names::Schemes),
            Unset("the profile as it is"),
            "A bundle of switches on top; not together with `compare.schemes`.",
        ),
        key(
            "host-profile",
            Ty::Name(Names::HostProfiles),
            Unset("as `ideal`, but the TCP of the profile untouched"),
            "What stands between TCP and the line of every host, its clock, and the switches that belong to its hardware, where nothing else is said.",
        ),
    ],
    tables: &[],
    more: More::Switches,
};

/// Reads it.
pub(super) fn read(file: &mut File<'_, '_, '_>) -> Stack {
    stack(&mut file.table(&TRANSPORT))
}

/// What a table says of a transport.
pub(super) fn stack(r: &mut Reader<'_, '_, '_>) -> Stack {
    let host_profile = r.text("host-profile").and_then(|name| find_host_profile(&name));
    Stack {
        profile: named(r, "profile"),
        scheme: named(r, "scheme"),
        host_profile,
        settings: r.settings(),
    }
}

/// A name with its place.
pub(super) fn named(r: &mut Reader<'_, '_, '_>, key: &str) -> Option<Named> {
    let at = r.at(key);
    r.text(key).map(|name| Named { name, at })
}

/// Writes the names only: the switches of every group are written out in its own table and win.
pub(super) fn write(out: &mut Text, transport: &Stack, scheme: Option<&str>) {
    out.table("transport");
    write_named(out, "profile", transport.profile.as_ref());
    out.some("scheme", scheme);
}

/// Writes a name out where there is one.
pub(super) fn write_named(out: &mut Text, key: &str, named: Option<&Named>) {
    out.some(key, named.map(|named| &named.name));
}
