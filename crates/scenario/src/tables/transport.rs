//! `[transport]`: default TCP configuration of every host; and the transport keys of any table.

use lowtide_host::profile;

use super::read_context::ReadContext;
use crate::keys::key;
use crate::model::{SpannedName, TransportTable};
use crate::reader::TableReader;
use crate::table_spec::{TableContents, TableSpec};
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue::{Is, Unset};

/// `[transport]`.
pub(crate) static TRANSPORT: TableSpec = TableSpec {
    path: &["transport"],
    doc: "TCP configuration of every host, unless its group sets otherwise.",
    keys: &[
        key(
            "profile",
            KeyType::Name(NameSet::Profiles),
            Is("rfc"),
            "Stack that provides the defaults of all switches.",
        ),
        key(
            "scheme",
            KeyType::Name(NameSet::Schemes),
            Unset("the profile unchanged"),
            "Scheme applied to the profile; not together with `compare.schemes`.",
        ),
        key(
            "host-profile",
            KeyType::Name(NameSet::HostProfiles),
            Unset("as `ideal`, with the TCP of the profile unchanged"),
            "Defaults for the host stack, NIC and clock of every host, and for the TCP switches of its hardware.",
        ),
    ],
    tables: &[],
    contents: TableContents::Switches,
};

/// Reads `[transport]`.
pub(super) fn read(file: &mut ReadContext<'_, '_, '_>) -> TransportTable {
    stack(&mut file.table(&TRANSPORT))
}

/// Reads the transport keys of a table.
pub(super) fn stack(r: &mut TableReader<'_, '_, '_>) -> TransportTable {
    let host_profile = r.text("host-profile").and_then(|name| profile::REGISTRY.find(&name));
    TransportTable {
        profile: named(r, "profile"),
        scheme: named(r, "scheme"),
        host_profile,
        settings: r.settings(),
    }
}

/// Reads a name with its location.
pub(super) fn named(r: &mut TableReader<'_, '_, '_>, key: &str) -> Option<SpannedName> {
    let at = r.at(key);
    r.text(key).map(|name| SpannedName { name, at })
}

/// Writes only the names: the table of each group contains all switches, which take precedence.
pub(super) fn write(out: &mut TomlWriter, transport: &TransportTable, scheme: Option<&str>) {
    out.table("transport");
    write_named(out, "profile", transport.profile.as_ref());
    out.optional("scheme", scheme);
}

/// Writes a name if there is one.
pub(super) fn write_named(out: &mut TomlWriter, key: &str, named: Option<&SpannedName>) {
    out.optional(key, named.map(|named| &named.name));
}
