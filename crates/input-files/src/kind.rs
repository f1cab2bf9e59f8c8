//! Kinds of files, each with the most bytes that are read.

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileKind {
    /// Its name, with an article.
    pub name: &'static str,
    /// Most bytes of such a file.
    pub max_bytes: u64,
    /// Advice for a file that is larger, as an imperative clause.
    pub remedy: &'static str,
}

const MB: u64 = 1_000_000;
const GB: u64 = 1_000 * MB;
const TB: u64 = 1_000 * GB;

/// A scenario. A list of digits takes a hundred times as much memory as its text.
pub const SCENARIO: FileKind = FileKind {
    name: "a scenario",
    max_bytes: 32 * MB,
    remedy: "put lists of flows into separate files",
};

/// A file that a scenario names; the limit is above any list of flows that may be run.
pub const NAMED_BY_SCENARIO: FileKind = FileKind {
    name: "a flow list, size distribution or other file that a scenario names",
    max_bytes: 512 * MB,
    remedy: "shorten it",
};

/// A TOML file other than a scenario.
pub const SETTINGS: FileKind = FileKind {
    name: "a TOML file of claims or thresholds",
    max_bytes: 16 * MB,
    remedy: "shorten it",
};

/// A packetdrill script.
pub const SCRIPT: FileKind = FileKind {
    name: "a packetdrill script",
    max_bytes: 16 * MB,
    remedy: "divide it into several scripts",
};

/// A capture, which is read in pieces.
pub const CAPTURE: FileKind =
    FileKind { name: "a capture", max_bytes: TB, remedy: "divide it, or filter it by flow" };

/// Output of `ss`.
pub const SOCKETS: FileKind =
    FileKind { name: "an output of `ss`", max_bytes: 64 * MB, remedy: "filter it by port" };

/// A JSON file that is not in a run directory.
pub const JSON: FileKind = FileKind {
    name: "a JSON file (switch configuration, advice, evaluation)",
    max_bytes: 64 * MB,
    remedy: "name the file that the command expects",
};

/// `manifest.json`, which lists each of at most a million runs, and `run.json`.
pub const MANIFEST: FileKind = FileKind {
    name: "`manifest.json` or `run.json`",
    max_bytes: GB,
    remedy: "make the results again",
};

/// A text of a run directory that is read as a whole.
pub const RESULT_TEXT: FileKind = FileKind {
    name: "a text of a run directory (scenario, summary, plan)",
    max_bytes: GB,
    remedy: "make the results again",
};

/// A table or another file of a run directory, which is read in pieces.
pub const TABLE: FileKind = FileKind {
    name: "a table or figure of a run directory",
    max_bytes: TB,
    remedy: "divide the sweep",
};

/// An archive of `lowtide bundle`; the content has its own limits.
pub const ARCHIVE: FileKind = FileKind {
    name: "an archive of `lowtide bundle`",
    max_bytes: 64 * GB,
    remedy: "ask its authors for the run directory",
};

/// A font file.
pub const TYPEFACE: FileKind =
    FileKind { name: "a font file", max_bytes: 64 * MB, remedy: "name one family's file" };

/// All kinds, in the order of the reference page.
pub const ALL: [FileKind; 12] = [
    SCENARIO,
    NAMED_BY_SCENARIO,
    SETTINGS,
    SCRIPT,
    CAPTURE,
    SOCKETS,
    JSON,
    MANIFEST,
    RESULT_TEXT,
    TABLE,
    ARCHIVE,
    TYPEFACE,
];

/// A size as messages and pages show it: `64 MB`.
pub(crate) fn size_text(bytes: u64) -> String {
    let (unit, name) = match bytes {
        TB.. => (TB, "TB"),
        GB.. => (GB, "GB"),
        MB.. => (MB, "MB"),
        _ => return format!("{bytes} B"),
    };
    if bytes.is_multiple_of(unit) {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{:.1} {name}", bytes as f64 / unit as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    const MARK: &str = "<!-- Generated from `crates/input-files`; a test compares it. -->\n";

    #[test]
    fn the_page_has_the_limits() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/input-files.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (head, rest) = page.split_once(MARK).unwrap();
        let mut table = "| kind of file | at most | if it is larger |\n|---|---|---|\n".to_owned();
        for FileKind { name, max_bytes, remedy } in ALL {
            writeln!(table, "| {name} | {} | {remedy} |", size_text(max_bytes)).unwrap();
        }
        let tail = rest.split_once("\n\n").map_or("", |(_, tail)| tail);
        let wanted = format!("{head}{MARK}{table}\n{tail}");
        if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
            std::fs::write(&path, wanted).unwrap();
        } else {
            assert_eq!(page, wanted, "LOWTIDE_WRITE_DOCS=1 cargo test -p lowtide-input-files");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size_text(999_999), "999999 B");
        assert_eq!(size_text(64_000_001), "64.0 MB");
        assert_eq!(size_text(64_000_000), "64 MB");
        assert_eq!(size_text(3 * TB), "3 TB");
    }
}
