//! Changed archives: members, their names and types, the lists of hashes, the bytes.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use crate::directories::{change_json, fit_entry, manifest_text, read_manifest};
use crate::random::{Rng, TEXTS, change_bytes};

/// A member: path, type and content.
#[derive(Clone, PartialEq, Debug)]
struct Member {
    path: Vec<u8>,
    kind: EntryType,
    content: Vec<u8>,
}

/// Writes a changed copy of the archive `base` into `case`. Returns the commands for it.
pub(crate) fn write(case: &Path, base: &Path, rng: &mut Rng) -> Vec<Vec<String>> {
    let mut members = read(base);
    match rng.below(6) {
        0 => change_results(&mut members, rng),
        1 => change_file(&mut members, "bundle.json", rng),
        2 => add_member(&mut members, rng),
        3 => change_file(&mut members, "manifest.json", rng),
        4 => change_file(&mut members, ".toml", rng),
        _ => {}
    }
    if !rng.one_in(4) {
        fit_hashes(&mut members);
    }
    let mut tar = tar_of(&members);
    if rng.one_in(5) {
        change_bytes(&mut tar, rng);
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar).unwrap();
    let mut bytes = gzip.finish().unwrap();
    if rng.one_in(5) {
        change_bytes(&mut bytes, rng);
    }
    fs::write(case.join("a.tar.gz"), bytes).unwrap();
    let mut words = vec!["bundle", "--verify", "a.tar.gz"];
    words.extend((!rng.one_in(3)).then_some("--repeat"));
    words.extend(rng.one_in(3).then_some("-o").into_iter().flat_map(|o| [o, "unpacked"]));
    vec![words.into_iter().map(str::to_owned).collect()]
}

fn read(path: &Path) -> Vec<Member> {
    let mut archive = Archive::new(GzDecoder::new(fs::File::open(path).unwrap()));
    let mut members = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let (path, kind) = (entry.path_bytes().into_owned(), entry.header().entry_type());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        members.push(Member { path, kind, content });
    }
    members
}

fn tar_of(members: &[Member]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for Member { path, kind, content } in members {
        let mut header = Header::new_gnu();
        // Set as bytes: the library refuses paths that leave the folder.
        let field = &mut header.as_gnu_mut().unwrap().name;
        let length = path.len().min(field.len());
        field[..length].copy_from_slice(&path[..length]);
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, &**content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn find<'a>(members: &'a mut [Member], end: &str) -> Option<&'a mut Member> {
    members.iter_mut().find(|m| m.path.ends_with(end.as_bytes()))
}

/// Gives the list of hashes the hash of each file.
fn fit_hashes(members: &mut [Member]) {
    let mut list = String::new();
    for member in members.iter().filter(|m| !m.path.ends_with(b"/SHA256SUMS")) {
        let hash = Sha256::digest(&member.content);
        let path = String::from_utf8_lossy(&member.path);
        let path = path.split_once('/').map_or(&*path, |(_, path)| path);
        for byte in hash {
            write!(list, "{byte:02x}").unwrap();
        }
        writeln!(list, "  {path}").unwrap();
    }
    if let Some(member) = find(members, "/SHA256SUMS") {
        member.content = list.into_bytes();
    }
}

/// Changes a JSON file by a value, another file by its bytes.
fn change_file(members: &mut [Member], end: &str, rng: &mut Rng) {
    let Some(member) = find(members, end) else { return };
    let text = String::from_utf8_lossy(&member.content).into_owned();
    if end == "manifest.json" {
        let mut value = read_manifest(&text);
        change_json(&mut value, rng);
        member.content = manifest_text(&value).into_bytes();
    } else if let Ok(mut value) = serde_json::from_str::<Value>(&text)
        && !rng.one_in(4)
    {
        if rng.one_in(2) {
            let text: &&str = rng.pick(&TEXTS);
            let words = shlex::split(text).unwrap_or_default();
            value["repeat"] = words.into_iter().skip(1).collect();
        } else {
            change_json(&mut value, rng);
        }
        member.content = value.to_string().into_bytes();
    } else {
        change_bytes(&mut member.content, rng);
    }
}

/// Changes a file of the results, with fitting hashes in the manifest.
fn change_results(members: &mut [Member], rng: &mut Rng) {
    let at = rng.below(members.len());
    change_bytes(&mut members[at].content, rng);
    let Member { path, content, .. } = members[at].clone();
    let path = String::from_utf8_lossy(&path).into_owned();
    let Some((_, path)) = path.split_once("/results/") else { return };
    if path == "manifest.json" {
        return;
    }
    if let Some(member) = find(members, "/manifest.json") {
        let mut value = read_manifest(&String::from_utf8_lossy(&member.content));
        fit_entry(&mut value, path, &content);
        member.content = manifest_text(&value).into_bytes();
    }
}

/// Adds or renames a member.
fn add_member(members: &mut Vec<Member>, rng: &mut Rng) {
    let folder = members[0].path.split(|b| *b == b'/').next().unwrap().to_vec();
    let text = rng.pick(&TEXTS).as_bytes();
    let path = match rng.below(3) {
        0 => text.to_vec(),
        _ => [&folder, &b"/"[..], text].concat(),
    };
    let kinds = [
        EntryType::Regular,
        EntryType::Regular,
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::Directory,
        EntryType::GNULongName,
        EntryType::XHeader,
        EntryType::GNUSparse,
    ];
    let kind = *rng.pick(&kinds);
    let content = match kind {
        EntryType::GNULongName => [text, b"\0"].concat(),
        EntryType::XHeader if rng.one_in(2) => {
            let line = format!(" path={}\n", String::from_utf8_lossy(text));
            format!("{}{line}", line.len() + 2).into_bytes()
        }
        _ if rng.one_in(4) => vec![0; 1 << 20],
        _ => b"secret\n".to_vec(),
    };
    let at = rng.below(members.len() + 1);
    members.insert(at, Member { path, kind, content });
    if rng.one_in(3) {
        let at = rng.below(members.len());
        members.remove(at);
    }
}

pub(crate) fn an_unchanged_archive_is_the_archive() {
    let members = vec![
        Member { path: b"f/a".to_vec(), kind: EntryType::Regular, content: b"a".to_vec() },
        Member { path: b"f/SHA256SUMS".to_vec(), kind: EntryType::Regular, content: Vec::new() },
    ];
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar_of(&members)).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("a.tar.gz");
    fs::write(&path, gzip.finish().unwrap()).unwrap();
    let mut again = read(&path);
    assert_eq!(again, members);
    fit_hashes(&mut again);
    let list = String::from_utf8(again[1].content.clone()).unwrap();
    assert_eq!(list, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n");
}
