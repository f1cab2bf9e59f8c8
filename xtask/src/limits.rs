//! The limits in `xtask/limits.toml`, and whether a raised one has its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// The file, from the root of the repository.
const FILE: &str = "xtask/limits.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    limit: u64,
    /// One line for each raise: the value and the reason.
    raised: Vec<String>,
}

/// All limits by name.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Limits(BTreeMap<String, Limit>);

impl Limits {
    /// Reads the limits.
    ///
    /// # Errors
    /// The file is wrong, or a limit is above that of the commit before without a new reason.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
        let limits = Self::parse(&text)?;
        if let Some(before) = text_before(root, &text) {
            limits.check_raised(&Self::parse(&before)?)?;
        }
        Ok(limits)
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|e| format!("{FILE}: {e}"))
    }

    /// Each limit above the earlier one has a line more than it.
    fn check_raised(&self, before: &Self) -> Result<(), String> {
        for (name, now) in &self.0 {
            let Some(then) = before.0.get(name) else { continue };
            if now.limit > then.limit && now.raised.len() <= then.raised.len() {
                return Err(format!(
                    "{FILE}: `{name}` rose from {} to {}; add a line with the reason to its \
                     `raised`",
                    then.limit, now.limit
                ));
            }
        }
        Ok(())
    }

    /// Returns an error if `value` is above the limit `name`; `what` has the value.
    pub(crate) fn hold(&self, name: &str, what: &str, value: u64) -> Result<(), String> {
        let known = self.0.get(name).ok_or_else(|| format!("{FILE} has no `{name}`"))?;
        if value > known.limit {
            return Err(format!(
                "{what}: {value} is above the limit {} of `{name}` in {FILE}",
                known.limit
            ));
        }
        Ok(())
    }
}

/// The newest committed text of the file that differs from `text`; none without git.
fn text_before(root: &Path, text: &str) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let commits = git(&["log", "-2", "--format=%H", "--", FILE])?;
    let texts = commits.lines().filter_map(|commit| git(&["show", &format!("{commit}:{FILE}")]));
    texts.into_iter().find(|before| before != text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(limit: u64, raised: &[&str]) -> Limits {
        Limits::parse(&format!("[lines]\nlimit = {limit}\nraised = {raised:?}")).unwrap()
    }

    #[test]
    fn a_limit_rises_with_a_reason_only() {
        let before = limits(100, &["100: the parser"]);
        let error = limits(101, &["100: the parser"]).check_raised(&before).unwrap_err();
        assert!(error.contains("`lines` rose from 100 to 101"), "{error}");
        limits(101, &["100: the parser", "101: the writer"]).check_raised(&before).unwrap();
        limits(99, &[]).check_raised(&before).unwrap();
    }

    #[test]
    fn a_value_above_its_limit_is_refused() {
        let known = limits(100, &[]);
        known.hold("lines", "all crates", 100).unwrap();
        let error = known.hold("lines", "all crates", 101).unwrap_err();
        assert!(error.contains("101 is above the limit 100 of `lines`"), "{error}");
        assert!(known.hold("crates", "x", 1).unwrap_err().contains("no `crates`"));
    }

    #[test]
    fn the_commit_before_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let done =
                Command::new("git").args(identity).args(arguments).current_dir(root).output();
            assert!(done.unwrap().status.success(), "{arguments:?}");
        };
        fs::create_dir(root.join("xtask")).unwrap();
        let write = |limit: u64| {
            let text = format!("[lines]\nlimit = {limit}\nraised = []\n");
            fs::write(root.join(FILE), &text).unwrap();
        };
        write(10);
        Limits::read(root).unwrap();
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-qm", "a"]);
        Limits::read(root).unwrap();
        write(11);
        assert!(Limits::read(root).unwrap_err().contains("rose from 10 to 11"));
        git(&["commit", "-qam", "b"]);
        assert!(Limits::read(root).unwrap_err().contains("rose from 10 to 11"));
    }
}
