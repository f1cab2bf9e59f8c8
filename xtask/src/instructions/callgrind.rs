//! Parses the output of callgrind with `--compress-strings=no --compress-pos=no`.

use std::collections::BTreeMap;

/// Instructions and modelled cache misses, calls excluded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Costs {
    pub(super) total: u64,
    /// Misses of data in the first level of the modelled cache.
    pub(super) l1_misses: u64,
    /// Misses of data in the second, which is the last one of the model.
    pub(super) l2_misses: u64,
    /// By crate of the function, inlined code included: release binaries have no line tables. `std`
    /// and `other` for code that is not ours.
    pub(super) crates: BTreeMap<String, u64>,
    /// By function of the program, including code inlined into it.
    pub(super) functions: BTreeMap<String, u64>,
}

impl Costs {
    /// # Errors
    /// The text is not callgrind output.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut costs = Self::default();
        let mut function = String::new();
        let mut of_callee = false;
        let mut columns = Columns::default();
        for (line, number) in text.lines().zip(1..) {
            if let Some(events) = line.strip_prefix("events:") {
                columns = Columns::read(events);
            }
            // `fn` names the function; other keys are ignored.
            match line.split_once('=') {
                Some(("fn", name)) => function = plain(name),
                Some(("calls", _)) => of_callee = true,
                None if line.starts_with(|c: char| c.is_ascii_digit()) => {
                    // The line after `calls=` is the cost of the callee.
                    if std::mem::take(&mut of_callee) {
                        continue;
                    }
                    let cost = line.split_whitespace().nth(1).and_then(|c| c.parse::<u64>().ok());
                    let cost =
                        cost.ok_or_else(|| format!("callgrind's line {number}: `{line}`"))?;
                    costs.total += cost;
                    costs.l1_misses += columns.l1.sum(line);
                    costs.l2_misses += columns.l2.sum(line);
                    *costs.crates.entry(crate_of(&function).to_owned()).or_default() += cost;
                    *costs.functions.entry(function.clone()).or_default() += cost;
                }
                _ => {}
            }
        }
        if costs.total == 0 {
            return Err("callgrind counted nothing".to_owned());
        }
        Ok(costs)
    }
}

/// The columns of cache misses; none without `--cache-sim=yes`.
#[derive(Debug, Default)]
struct Columns {
    l1: Misses,
    l2: Misses,
}

/// The columns of read and write misses of a level, after the one of the position.
#[derive(Debug, Default)]
struct Misses(Vec<usize>);

impl Columns {
    fn read(events: &str) -> Self {
        let of = |names: [&str; 2]| {
            let events = events.split_whitespace().zip(1..);
            Misses(events.filter(|(event, _)| names.contains(event)).map(|(_, i)| i).collect())
        };
        Self { l1: of(["D1mr", "D1mw"]), l2: of(["DLmr", "DLmw"]) }
    }
}

impl Misses {
    /// Sum of these columns of a line; callgrind leaves out zeros at its end.
    fn sum(&self, line: &str) -> u64 {
        let value = |i: &usize| line.split_whitespace().nth(*i).and_then(|c| c.parse::<u64>().ok());
        self.0.iter().filter_map(value).sum()
    }
}

/// Crate of a function: the first of ours in its name, `std` for generic code of the standard
/// library, else `other`.
fn crate_of(function: &str) -> &str {
    if let Some((_, rest)) = function.split_once("lowtide_") {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return &rest[..end];
    }
    let name = function.trim_start_matches(['<', '&', '[']);
    let std = ["core::", "alloc::", "std::"].iter().any(|krate| name.starts_with(krate));
    if std { "std" } else { "other" }
}

/// Function name without its hash suffix and without crate hashes, which change with every build.
fn plain(name: &str) -> String {
    let is_hash = |h: &str| {
        h.len() == 17 && h.starts_with('h') && h[1..].bytes().all(|b| b.is_ascii_hexdigit())
    };
    let name = match name.rsplit_once("::") {
        Some((rest, hash)) if is_hash(hash) => rest,
        _ => name,
    };
    // A recursive function has a second entry `name'2`.
    let name = name
        .split_once('\'')
        .map_or(name, |(n, rest)| if rest.bytes().all(|b| b.is_ascii_digit()) { n } else { name });
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        out.push_str(before);
        match behind.split_once(']') {
            Some((hash, after))
                if hash.len() >= 8 && hash.bytes().all(|b| b.is_ascii_hexdigit()) =>
            {
                rest = after;
            }
            _ => {
                out.push('[');
                rest = behind;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
version: 1
events: Ir

ob=/somewhere/lowtide
fl=/home/me/lowtide/crates/net/src/port.rs
fn=lowtide_net::port::Port::enter::h0123456789abcdef
10 100
+ignored
fi=/home/me/lowtide/crates/sim/src/digest.rs
11 20
fe=/home/me/lowtide/crates/net/src/port.rs
cfn=malloc
calls=3 7
12 5000
13 1

fl=/rustc/59807616e1fa/library/core/src/slice/mod.rs
fn=core[0123456789abcdef]::slice::sort::<[u8]>'2
1 7
fl=???
fn=malloc
0 5000
totals: 5128
";

    #[test]
    fn costs_are_those_of_the_function_itself() {
        let costs = Costs::read(TEXT).unwrap();
        let entries = |all: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
            all.iter().map(|(k, v)| (k.clone(), *v)).collect()
        };
        let of = |name: &str, cost| (name.to_owned(), cost);
        assert_eq!(costs.total, 5128);
        assert_eq!(entries(&costs.crates), [of("net", 121), of("other", 5000), of("std", 7)]);
        assert_eq!(
            entries(&costs.functions),
            [
                of("core::slice::sort::<[u8]>", 7),
                of("lowtide_net::port::Port::enter", 121),
                of("malloc", 5000)
            ]
        );
    }

    #[test]
    fn misses_are_counted_by_level() {
        let text = "\
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
fn=a
10 100 9 9 9 3 4 9 1 2
11 100 9 9 9 3
calls=1 0
12 100 9 9 9 900
12 7
";
        let costs = Costs::read(text).unwrap();
        assert_eq!((costs.total, costs.l1_misses, costs.l2_misses), (207, 10, 3));
    }

    #[test]
    fn invalid_counts_are_errors() {
        assert!(Costs::read("").unwrap_err().contains("nothing"));
        assert!(Costs::read("fn=a\n10 many\n").unwrap_err().contains("10 many"));
    }

    #[test]
    fn crates_come_from_the_names_of_functions() {
        assert_eq!(crate_of("lowtide_tcp::cc::dctcp::Dctcp::on_ack"), "tcp");
        assert_eq!(crate_of("<lowtide_host::world::World as lowtide_sim::World>::handle"), "host");
        assert_eq!(crate_of("<core::option::Option<u8>>::map"), "std");
        assert_eq!(crate_of("arrow_array::builder::append"), "other");
    }
}
