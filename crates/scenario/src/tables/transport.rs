//! `[transport]`: how the TCP of every host behaves where its group does not say otherwise; and what any
//! table may say of a transport.

use lowtide_host::find_host_profile;

use super::read_context::ReadContext;
use crate::keys::KeyDefault::{Is, Unset};
use crate::keys::key;
use crate::model::{SpannedName, TransportTable};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// `[transport]`.
pub(crate) static TRANSPORT: TableSpec = TableSpec {
    path: &["transport"],
    doc: "How the TCP of every host behaves, where its group does not say otherwise.",
    keys: &[
        key(
            "profile",
            KeyType::Name(NameSet::Profiles),
            Is("rfc"),
            "The stack that all switches are taken from first.",
        ),
        key(
            "scheme",
            KeyType::Name(NameSet::Schemes),
            Unset("the profile as it is"),
            "A bundle of switches on top; not together with `compare.schemes`.",
        ),
        key(
            "host-profile",
            KeyType::Name(NameSet::HostProfiles),
            Unset("as `ideal`, but the TCP of the profile untouched"),
            "What stands between TCP and the line of every host, its clock, and the switches that belong to its hardware, where nothing else is said.",
        ),
    ],
    tables: &[],
    contents: TableContents::Switches,
};

/// Reads it.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> TransportTable {
    stack(&mut file.table(&TRANSPORT))
}

/// What a table says of a transport.
pub(super) fn stack(r: &mut TableReader<'_, '_, '_>) -> TransportTable {
    let host_profile = r.text("host-profile").and_then(|name| find_host_profile(&name));
    TransportTable {
        profile: named(r, "profile"),
        scheme: named(r, "scheme"),
        host_profile,
        settings: r.settings(),
    }
}

/// A name with its place.
pub(super) fn named(r: &mut TableReader<'_, '_, '_>, key: &str) -> Option<SpannedName> {
    let at = r.at(key);
    r.text(key).map(|name| SpannedName { name, at })
}

/// Writes the names only: the switches of every group are written out in its own table and win.
pub(super) fn write(out: &mut TomlWriter, transport: &TransportTable, scheme: Option<&str>) {
    out.table("transport");
    write_named(out, "profile", transport.profile.as_ref());
    out.optional("scheme", scheme);
}

/// Writes a name out where there is one.
pub(super) fn write_named(out: &mut TomlWriter, key: &str, named: Option<&SpannedName>) {
    out.optional(key, named.map(|named| &named.name));
}
