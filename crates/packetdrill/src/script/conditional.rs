//! `#ifdef STANDARD`, `#ifndef`, `#else`, `#endif`.
//!
//! Only `STANDARD` is defined: scripts use it to choose the standard behaviour over that of one
//! system. Unselected text becomes spaces, so byte offsets do not change.

use std::sync::Arc;

use super::ScriptError;

pub(super) fn apply(name: &str, shown: &Arc<str>) -> Result<String, ScriptError> {
    let mut out = String::with_capacity(shown.len());
    // For each open `#if`: whether its current branch is selected, and its offset.
    let mut open: Vec<(bool, usize)> = Vec::new();
    let mut at = 0;
    for line in shown.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim();
        let error = |message: String| {
            let lead = line.len() - line.trim_start().len();
            ScriptError::new(name, shown, start + lead..start + lead + trimmed.len(), message)
        };
        let directive = trimmed.strip_prefix('#').map(str::trim);
        let Some(directive) = directive else {
            let counts = open.iter().all(|(counts, _)| *counts);
            if counts {
                out.push_str(line);
            } else {
                blank(&mut out, line);
            }
            continue;
        };
        blank(&mut out, line);
        let mut words = directive.split_whitespace();
        match (words.next().unwrap_or(""), words.next()) {
            ("ifdef", Some("STANDARD")) => open.push((true, start)),
            ("ifndef", Some("STANDARD")) => open.push((false, start)),
            ("ifdef" | "ifndef", other) => {
                let message = format!("`{}` is not known", other.unwrap_or("(no name)"));
                return Err(error(message).help("only `STANDARD` is, and it is defined"));
            }
            ("else", None) => match open.last_mut() {
                Some((counts, _)) => *counts = !*counts,
                None => return Err(error("`#else` without `#ifdef`".to_string())),
            },
            ("endif", None) => {
                if open.pop().is_none() {
                    return Err(error("`#endif` without `#ifdef`".to_string()));
                }
            }
            // `#!/usr/bin/...` on the first line names the program that runs it.
            (first, _) if start == 0 && first.starts_with('!') => {}
            (other, _) => {
                let help = "comments begin with `//`; the directives are #ifdef STANDARD, #ifndef STANDARD, #else and #endif";
                return Err(error(format!("`#{other}` is not supported")).help(help));
            }
        }
    }
    if let Some((_, start)) = open.pop() {
        return Err(ScriptError::new(name, shown, start..start + 6, "this `#if` has no `#endif`"));
    }
    Ok(out)
}

/// Replaces all but line ends by spaces.
fn blank(out: &mut String, line: &str) {
    out.extend(line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
}
