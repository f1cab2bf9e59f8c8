//! The members of an archive that somebody else wrote, one after the other, within bounds.
//!
//! Contract: a member is a regular file with a plain path. Sizes are checked as they are stated,
//! before the content is read. The content never exceeds the bounds, whatever is stated.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};

use flate2::read::GzDecoder;
use lowtide_input_files::check_path;
use tar::{Archive, EntryType, PaxExtensions};

/// Most members; a run directory has one for each table, figure and scheme.
const MAX_MEMBERS: usize = 100_000;
/// Most bytes of all members together.
const MAX_BYTES: u64 = 64_000_000_000;
/// Most bytes that a byte of the archive may expand to. Tables and texts expand to 2 to 20, zeros
/// to a thousand.
const MAX_RATIO: u64 = 100;
/// Bytes that any archive may expand to beyond the ratio.
const FREE_BYTES: u64 = 16_000_000;
/// Longest header with the name of a member, bytes.
const MAX_NAME_HEADER: u64 = 64 << 10;

/// One member.
pub(crate) struct Member<'a> {
    /// The folder of all members.
    pub(crate) folder: &'a str,
    /// Its path in the folder.
    pub(crate) path: &'a str,
    /// Its content.
    pub(crate) content: &'a mut dyn Read,
}

/// Reason that an archive is refused, as a clause, or an error of the visitor.
pub(crate) enum MemberError<E> {
    Refused(String),
    Visitor(E),
}

/// Counts the bytes of the archive.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count += n as u64;
        Ok(n)
    }
}

/// Expands an archive up to the ratio.
struct Expanded<'a, R: Read> {
    gzip: GzDecoder<Counted<R>>,
    count: u64,
    /// Set at the bound: readers of tar replace the text of an error.
    exceeded: &'a Cell<bool>,
}

impl<R: Read> Read for Expanded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.gzip.read(buffer)?;
        self.count += n as u64;
        if self.count > bound(self.gzip.get_ref().count) {
            self.exceeded.set(true);
            return Err(io::Error::other("too much"));
        }
        Ok(n)
    }
}

/// Most bytes that `packed` bytes of an archive may expand to.
fn bound(packed: u64) -> u64 {
    packed.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES).min(MAX_BYTES)
}

/// Calls `visit` with each member of the archive `file`, from its begin. Returns the folder of all
/// members.
pub(crate) fn for_each_member<E>(
    mut file: &File,
    visit: &mut dyn FnMut(Member<'_>) -> Result<(), E>,
) -> Result<String, MemberError<E>> {
    let exceeded = Cell::new(false);
    let unreadable = |e: &io::Error| {
        MemberError::Refused(if exceeded.get() {
            let free = FREE_BYTES / 1_000_000;
            format!(
                "it expands to more than {MAX_RATIO} times its size and {free} MB, as no results do"
            )
        } else {
            e.to_string()
        })
    };
    let packed = file.metadata().map_err(|e| unreadable(&e))?.len();
    file.rewind().map_err(|e| unreadable(&e))?;
    let gzip = GzDecoder::new(Counted { inner: BufReader::new(file), count: 0 });
    let mut archive = Archive::new(Expanded { gzip, count: 0, exceeded: &exceeded });
    // Raw: the reader of tar would keep a name of any length in memory.
    let entries = archive.entries().map_err(|e| unreadable(&e))?.raw(true);
    let mut folder: Option<String> = None;
    let mut long_name: Option<Vec<u8>> = None;
    let (mut members, mut headers, mut bytes) = (0_usize, 0_usize, 0_u64);
    for entry in entries {
        let mut entry = entry.map_err(|e| unreadable(&e))?;
        let size = entry.header().entry_size().map_err(|e| unreadable(&e))?;
        headers += 1;
        bytes = bytes.saturating_add(size);
        if members > MAX_MEMBERS || headers > 2 * MAX_MEMBERS {
            return Err(MemberError::Refused(format!("it has more than {MAX_MEMBERS} members")));
        }
        if bytes > bound(packed) {
            return Err(MemberError::Refused(format!(
                "its members have {bytes} bytes or more, and an archive of {packed} bytes has at \
                 most {}",
                bound(packed)
            )));
        }
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::GNULongName | EntryType::XHeader) {
            if size > MAX_NAME_HEADER {
                let reason = format!("the name of a member has {size} bytes");
                return Err(MemberError::Refused(reason));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(|e| unreadable(&e))?;
            let name = match kind {
                EntryType::XHeader => pax_name(&text).map_err(MemberError::Refused)?,
                _ => Some(text.into_iter().take_while(|byte| *byte != 0).collect()),
            };
            long_name = name.or(long_name);
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        let path = String::from_utf8(name).map_err(|_| {
            MemberError::Refused("the name of a member is not UTF-8 text".to_owned())
        })?;
        let shown = path.escape_debug();
        if kind != EntryType::Regular {
            return Err(MemberError::Refused(format!("`{shown}` is no plain file in it")));
        }
        check_path(&path).map_err(|e| MemberError::Refused(e.to_string()))?;
        let Some((first, within)) = path.split_once('/') else {
            return Err(MemberError::Refused(format!("`{shown}` is in no folder")));
        };
        let folder = folder.get_or_insert_with(|| first.to_owned());
        if *folder != first {
            return Err(MemberError::Refused("it has several folders".to_owned()));
        }
        members += 1;
        let content = &mut entry as &mut dyn Read;
        let visited = visit(Member { folder, path: within, content });
        if exceeded.get() {
            return Err(unreadable(&io::Error::other("too much")));
        }
        visited.map_err(MemberError::Visitor)?;
    }
    folder.ok_or_else(|| MemberError::Refused("it is empty".to_owned()))
}

/// The name that an extended header of POSIX gives the next member.
fn pax_name(text: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut name = None;
    for extension in PaxExtensions::new(text) {
        let extension = extension.map_err(|e| format!("an extended header: {e}"))?;
        match extension.key_bytes() {
            b"path" => name = Some(extension.value_bytes().to_vec()),
            // It would replace the size or the content of the member.
            b"size" => return Err("an extended header states a size".to_owned()),
            key if key.starts_with(b"GNU.sparse") => {
                return Err("a member is sparse".to_owned());
            }
            _ => {}
        }
    }
    Ok(name)
}
