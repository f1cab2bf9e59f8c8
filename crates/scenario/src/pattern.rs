//! Glob patterns for names of keys, benchmarks and hosts.

/// Returns whether `name` matches `pattern`, in which each `*` matches any letters, or none.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).any(|i| name.get(i..).is_some_and(|tail| glob_matches(rest, tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_letters() {
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
