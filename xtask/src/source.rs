//! Parses a Rust file for the chores: its tokens by line, its comments, its strings.
//!
//! A line of product code has at least one token that is neither a comment nor below
//! `#[cfg(test)]`.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

/// The parts of one Rust file. Lines are 1-based.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Lines with a token outside of tests.
    pub(crate) product: BTreeSet<usize>,
    /// Modules declared below `#[cfg(test)]`: their files are tests.
    pub(crate) test_modules: Vec<String>,
    /// Comments: line and text, without the slashes.
    pub(crate) comments: Vec<(usize, String)>,
    /// String literals as written: first line and text, with the quotes.
    pub(crate) strings: Vec<(usize, String)>,
    /// Column after the last token of each line, in characters; a comment or blanks follow.
    ends: Vec<usize>,
}

/// Reads the tokens and comments of `text`.
///
/// # Errors
///
/// The text is not Rust.
pub(crate) fn read(text: &str) -> Result<Source, String> {
    let stream = TokenStream::from_str(text).map_err(|e| e.to_string())?;
    let lines: Vec<&str> = text.lines().collect();
    let mut source = Source { ends: vec![0; lines.len() + 2], ..Source::default() };
    source.walk(stream, false, &lines);
    for (at, line) in lines.iter().enumerate() {
        let rest: String = line.chars().skip(source.ends[at + 1]).collect();
        if let Some(text) = rest.trim().strip_prefix("//") {
            let text = text.trim_start_matches(['/', '!']);
            source.comments.push((at + 1, text.trim_end().to_owned()));
        }
    }
    Ok(source)
}

impl Source {
    fn walk(&mut self, stream: TokenStream, test: bool, lines: &[&str]) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut test_until = if test { tokens.len() } else { 0 };
        let mut at = 0;
        while at < tokens.len() {
            if let Some((attribute, inner, next)) = attribute(&tokens, at) {
                if is_comment(&attribute, lines) {
                    at = next;
                    continue;
                }
                if is_cfg_test(&attribute.stream()) {
                    test_until =
                        test_until.max(if inner { tokens.len() } else { item_end(&tokens, next) });
                    self.test_modules.extend(declared_module(&tokens[next..]));
                }
            }
            self.token(&tokens[at], at < test_until, lines);
            at += 1;
        }
    }

    fn token(&mut self, token: &TokenTree, test: bool, lines: &[&str]) {
        match token {
            TokenTree::Group(group) => {
                for span in [group.span_open(), group.span_close()] {
                    self.span(span.start(), span.end(), test);
                }
                self.walk(group.stream(), test, lines);
            }
            other => {
                let span = other.span();
                self.span(span.start(), span.end(), test);
                if let TokenTree::Literal(literal) = other {
                    let text = literal.to_string();
                    if text.ends_with(['"', '#']) {
                        self.strings.push((span.start().line, text));
                    }
                }
            }
        }
    }

    fn span(&mut self, start: LineColumn, end: LineColumn, test: bool) {
        for line in start.line..=end.line {
            let column = if line == end.line { end.column } else { usize::MAX };
            if let Some(last) = self.ends.get_mut(line) {
                *last = (*last).max(column);
            }
            if !test {
                self.product.insert(line);
            }
        }
    }
}

/// The attribute at `at`: its brackets, whether it is an inner one, the index after it.
pub(crate) fn attribute(
    tokens: &[TokenTree],
    at: usize,
) -> Option<(proc_macro2::Group, bool, usize)> {
    let TokenTree::Punct(hash) = tokens.get(at)? else { return None };
    if hash.as_char() != '#' {
        return None;
    }
    let inner = matches!(tokens.get(at + 1)?, TokenTree::Punct(p) if p.as_char() == '!');
    let bracket = at + 1 + usize::from(inner);
    match tokens.get(bracket)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some((group.clone(), inner, bracket + 1))
        }
        _ => None,
    }
}

/// The tokeniser passes a doc comment as the attribute `doc` with the comment's span.
fn is_comment(attribute: &proc_macro2::Group, lines: &[&str]) -> bool {
    let start = attribute.span_open().start();
    let line = lines.get(start.line - 1).copied().unwrap_or("");
    let text: String = line.chars().skip(start.column).collect();
    text.starts_with("//") || text.starts_with("/*")
}

pub(crate) fn is_cfg_test(attribute: &TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}

/// Index after the item that begins at `at`, attributes included.
pub(crate) fn item_end(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some((_, _, next)) = attribute(tokens, at) {
        at = next;
    }
    // An item that ends with a semicolon may have braces before it.
    let ends_with_semicolon = tokens[at..]
        .iter()
        .take_while(|t| matches!(t, TokenTree::Ident(_) | TokenTree::Group(_)))
        .take(3)
        .any(|t| {
            ["use", "static", "const", "type", "let"].iter().any(|word| t.to_string() == *word)
        });
    let is_fn = tokens[at..].iter().take(5).any(|t| t.to_string() == "fn");
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            TokenTree::Punct(p) if p.as_char() == ';' => return index + 1,
            TokenTree::Group(g)
                if g.delimiter() == Delimiter::Brace && (is_fn || !ends_with_semicolon) =>
            {
                return index + 1;
            }
            _ => {}
        }
    }
    tokens.len()
}

/// `name` of `mod name;` at the start of `tokens`.
fn declared_module(tokens: &[TokenTree]) -> Option<String> {
    let mut words = tokens.iter().skip_while(|t| t.to_string() != "mod");
    words.next()?;
    let name = words.next()?.to_string();
    let end = words.next()?.to_string();
    // Only if the item itself is the module, not a later one.
    let first = tokens.iter().position(|t| t.to_string() == "mod")?;
    (end == ";" && !tokens[..first].iter().any(|t| t.to_string() == ";")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "//! About.\n\
        /// Doc.\n\
        fn product() -> &'static str {\n\
        \x20   \"a // string\" // trailing\n\
        }\n\
        \n\
        #[cfg(test)]\n\
        use a::{b, c};\n\
        #[cfg(test)]\n\
        mod elsewhere;\n\
        const AFTER: u8 = 1;\n\
        #[cfg(test)]\n\
        mod tests {\n\
        \x20   fn test() {}\n\
        }\n";

    #[test]
    fn product_lines_leave_out_comments_and_tests() {
        let source = read(FILE).unwrap();
        assert_eq!(source.product.iter().copied().collect::<Vec<_>>(), [3, 4, 5, 11]);
        assert_eq!(source.test_modules, ["elsewhere"]);
    }

    #[test]
    fn comments_are_those_outside_of_strings() {
        let source = read(FILE).unwrap();
        let lines: Vec<_> = source.comments.iter().map(|(l, t)| (*l, t.trim())).collect();
        assert_eq!(lines, [(1, "About."), (2, "Doc."), (4, "trailing")]);
        assert_eq!(source.strings, [(4, "\"a // string\"".to_owned())]);
    }

    #[test]
    fn text_that_is_not_rust_is_an_error() {
        assert!(read("fn (").is_err());
    }
}
