//! Opens files that people, scenarios, manifests and archives name.
//!
//! Contract: only a regular file is opened, and at most the limit of its kind is read, even if the
//! file grows meanwhile. A device, pipe, socket or directory is refused by its type; nothing is
//! read from it and no reader waits for it. A path from a manifest or an archive stays inside its
//! folder: it has plain components only, and none of them is a symbolic link.

mod beneath;
mod kind;
mod open;
mod refusal;

pub use beneath::{check_links, check_name, check_path, open_beneath, place_beneath};
pub use kind::{
    ALL, ARCHIVE, CAPTURE, FileKind, JSON, MANIFEST, NAMED_BY_SCENARIO, RESULT_TEXT, SCENARIO,
    SCRIPT, SETTINGS, SOCKETS, TABLE, TYPEFACE,
};
pub use open::{open, open_directory, read, read_open, read_text};
pub use refusal::is_refusal;
