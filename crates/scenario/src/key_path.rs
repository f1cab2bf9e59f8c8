//! Resolves dotted paths to keys, for overrides and sweeps.

use lowtide_tcp::switches;

use crate::error::{suggest, unknown};
use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::pattern::glob_matches;
use crate::settings::{SIDE_OF, SIDES, check_switch_name};
use crate::table_spec::{SWEEP, TableContents, TableSpec};
use crate::tables::ROOT;

/// Target of a dotted path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PathTarget {
    /// A key of the scenario.
    Key(KeySpec),
    /// A switch or parameter of the transport.
    Switch(switches::Setting),
}

type Unknown = (String, Option<String>);

/// Expands a path with `*` to one path for each matching table; any other path to itself.
pub(crate) fn expand_stars(path: &str, known: &KnownNames) -> Result<Vec<String>, Unknown> {
    let parts: Vec<&str> = path.split('.').collect();
    let Some(star) = parts.iter().position(|part| part.contains('*')) else {
        return Ok(vec![path.to_owned()]);
    };
    let names = known.table_names(&parts[..star]).unwrap_or_default();
    let mut out = Vec::new();
    for name in names.iter().filter(|name| glob_matches(parts[star], name)) {
        let one = [&parts[..star], &[name], &parts[star + 1..]].concat().join(".");
        out.extend(expand_stars(&one, known)?);
    }
    if out.is_empty() {
        let table = parts[..=star].join(".");
        let list: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err((format!("there is no [{table}]"), suggest(parts[star], &list)));
    }
    Ok(out)
}

/// Follows a path; the error names the first part that does not exist.
pub(crate) fn resolve(path: &str, known: &KnownNames) -> Result<PathTarget, Unknown> {
    let all = expand_stars(path, known)?;
    let parts: Vec<&str> = all.first().map_or(path, String::as_str).split('.').collect();
    if parts[0] == SWEEP {
        let help = format!(
            "sweep the key itself: `--over {}=...`",
            &path[SWEEP.len()..].trim_matches(['.', '"'])
        );
        return Err(("a sweep cannot be set as a key".to_owned(), Some(help)));
    }
    if let Some((bundle, key)) = key_of_bundle(&parts) {
        check_bundle(bundle, known)?;
        return resolve(&key, known);
    }
    follow(&ROOT, &parts, 0, known, path)
}

/// The bundle and the key of `compare.bundles.NAME.set.KEY`.
pub(crate) fn key_of_bundle<'p>(parts: &[&'p str]) -> Option<(&'p str, String)> {
    match parts {
        ["compare", "bundles", name, "set", key @ ..] if !key.is_empty() => {
            Some((name, key.join(".")))
        }
        _ => None,
    }
}

fn check_bundle(name: &str, known: &KnownNames) -> Result<(), Unknown> {
    if known.bundles.iter().any(|known| known == name) {
        return Ok(());
    }
    let list: Vec<&str> = known.bundles.iter().map(String::as_str).collect();
    Err((format!("there is no [compare.bundles.{name}]"), suggest(name, &list)))
}

fn follow(
    section: &TableSpec,
    parts: &[&str],
    depth: usize,
    known: &KnownNames,
    path: &str,
) -> Result<PathTarget, Unknown> {
    let here = parts[..depth].join(".");
    let place = if here.is_empty() { String::new() } else { format!(" in [{here}]") };
    let Some(part) = parts.get(depth) else {
        let names = names_in(section);
        let help = names.first().map(|name| format!("name a key in it, `{path}.{name}`"));
        return Err((format!("`{path}` is a table"), help));
    };
    let last = depth + 1 == parts.len();
    if section.has_switches()
        && let Some(i) = SIDES.iter().position(|s| s == part)
    {
        let name = parts[depth + 1..].join(".");
        let path = parts[..=depth].join(".");
        return check_switch_name(&name, SIDE_OF[i], &path).map(PathTarget::Switch);
    }
    if last && let Some(key) = section.key(part) {
        return Ok(PathTarget::Key(key));
    }
    let deeper = section
        .tables
        .iter()
        .find(|s| s.path.len() == depth + 1 && (s.path[depth] == *part || s.path[depth] == "*"));
    // `hosts` and `compare.bundles` are not tables, only prefixes of named ones.
    if let Some(names) = known.table_names(&parts[..=depth]) {
        return follow_named(section, parts, depth + 1, names, known, path);
    }
    if let Some(deeper) = deeper.filter(|d| {
        matches!(d.contents, TableContents::Texts | TableContents::Paths | TableContents::List)
    }) {
        let help = "write it in the scenario file".to_owned();
        return Err((format!("`{}` cannot be set by a path", deeper.path.join(".")), Some(help)));
    }
    if let Some(deeper) = deeper {
        return follow(deeper, parts, depth + 1, known, path);
    }
    let names = names_in(section);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wrong = parts[depth..].join(".");
    Err(unknown(format!("no key `{wrong}`{place}"), part, &names))
}

fn follow_named(
    section: &TableSpec,
    parts: &[&str],
    depth: usize,
    names: &[String],
    known: &KnownNames,
    path: &str,
) -> Result<PathTarget, Unknown> {
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(name) = parts.get(depth) else {
        return Err((format!("`{path}` is a table"), suggest("", &list)));
    };
    if !list.contains(name) {
        let table = parts[..depth].join(".");
        return Err((format!("there is no [{table}.{name}]"), suggest(name, &list)));
    }
    let mut pattern = section.path.to_vec();
    pattern.extend([parts[depth - 1], "*"]);
    match section.tables.iter().find(|s| s.path == pattern) {
        Some(deeper) => follow(deeper, parts, depth + 1, known, path),
        None => Err((format!("no key `{path}`"), None)),
    }
}

fn names_in(section: &TableSpec) -> Vec<String> {
    let mut names: Vec<String> = section.all_keys().iter().map(|k| k.name.to_owned()).collect();
    names.extend(section.children().into_iter().map(str::to_owned));
    if section.has_switches() {
        names.extend(SIDES.iter().map(|s| (*s).to_owned()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> KnownNames {
        KnownNames {
            hosts: vec!["senders".into(), "receivers".into()],
            traffic: vec!["short".into()],
            bundles: vec!["mine".into()],
            pipes: vec!["forth".into()],
            ..KnownNames::default()
        }
    }

    fn refused(path: &str) -> String {
        let (message, help) = resolve(path, &known()).unwrap_err();
        format!("{message}; {}", help.unwrap_or_default())
    }

    #[test]
    fn paths_lead_to_keys_and_switches() {
        for path in [
            "title",
            "run.seeds",
            "switch.buffer",
            "switch.mark.k",
            "transport.profile",
            "hosts.senders.count",
            "traffic.short.size",
            "compare.schemes",
            "compare.bundles.mine.base",
        ] {
            let last = path.rsplit('.').next().unwrap();
            assert!(
                matches!(resolve(path, &known()), Ok(PathTarget::Key(k)) if k.name == last),
                "{path}"
            );
        }
        for (path, name) in [
            ("transport.sender.window-floor", "window-floor"),
            ("hosts.senders.receiver.delack-segments", "delack-segments"),
            ("compare.bundles.mine.connection.ecn", "ecn"),
        ] {
            let found = resolve(path, &known());
            assert!(matches!(found, Ok(PathTarget::Switch(s)) if s.name() == name), "{path}");
        }
    }

    #[test]
    fn a_star_expands_to_all_matching_tables() {
        let of = |path: &str| expand_stars(path, &known());
        assert_eq!(of("hosts.*s.count").unwrap(), ["hosts.senders.count", "hosts.receivers.count"]);
        assert_eq!(
            of("hosts.send*.sender.window-floor").unwrap(),
            ["hosts.senders.sender.window-floor"]
        );
        assert_eq!(of("switch.buffer").unwrap(), ["switch.buffer"]);
        assert!(
            matches!(resolve("hosts.*.count", &known()), Ok(PathTarget::Key(k)) if k.name == "count")
        );
        assert!(refused("hosts.*.cuont").contains("`count`"));
        assert!(refused("traffic.x*.size").contains("there is no [traffic.x*]"));
        assert!(refused("switch.*.k").contains("there is no [switch.*]"));
        assert!(refused("*.buffer").contains("there is no [*]"));
    }

    #[test]
    fn an_unknown_path_names_its_first_unknown_part() {
        assert!(refused("run.sedes").contains("`seeds`"));
        assert!(refused("runn.seeds").contains("`run`"));
        assert!(refused("traffic.shrt.size").contains("`short`"));
        assert!(refused("traffic.short.siez").contains("`size`"));
        assert!(refused("transport.receiver.window-floor").contains("[transport.sender]"));
        assert!(refused("switch.mark").contains("is a table"));
        assert!(refused("hosts").contains("is a table"));
        assert!(refused("hosts.senders").contains("hosts.senders.count"));
        assert!(refused("run.seeds.more").contains("no key `seeds.more` in [run]"));
        assert!(refused("sweep.run.seeds").contains("--over run.seeds"));
        assert!(refused("").contains("no key"));
    }
}
