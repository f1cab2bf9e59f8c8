//! Patterns of names, as keys, benchmarks and hosts are named by.

/// Whether `name` is what `pattern` says, in which each `*` stands for any letters, or none.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).any(|i| name.get(i..).is_some_and(|tail| glob_matches(rest, tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_letters() {
        for (pattern, name) in
            [("a", "a"), ("*", ""), ("l*-s*", "long-s1"), ("*é", "né"), ("a**b", "ab")]
        {
            assert!(glob_matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a", "ab"), ("", "a"), ("l*-s", "long-s1"), ("*a*a*", "a"), ("é*", "e")]
        {
            assert!(!glob_matches(pattern, name), "{pattern} {name}");
        }
    }
}
