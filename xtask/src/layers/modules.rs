//! The modules of a crate: what each imports, and what it names by a path.
//!
//! Tokens are read, not syntax, so the arguments of macros are seen too. Code below `#[cfg(test)]`
//! is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source::{attribute, is_cfg_test, item_end};

/// Names of modules from the root of the crate, whose own is empty.
pub(super) type ModulePath = Vec<String>;

/// A file, or `mod name { }` in one.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) imports: Vec<Import>,
    /// Paths of two or more names outside of `use`, with their lines.
    pub(super) paths: Vec<(usize, Vec<String>)>,
    /// Calls of macros by a single name, with their lines.
    pub(super) macro_calls: Vec<(usize, String)>,
    /// Names by `macro_rules!`.
    pub(super) macros: Vec<String>,
}

/// One name that `use` makes.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) path: Vec<String>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) by_path: BTreeMap<ModulePath, Module>,
    /// Files, by the module that each is.
    pub(super) files: BTreeMap<ModulePath, PathBuf>,
    /// Declared files that are not read yet.
    declared: Vec<(PathBuf, ModulePath)>,
}

impl Modules {
    /// Reads the crate whose root is `file`.
    pub(super) fn read(file: &Path) -> Self {
        let mut all = Self::default();
        all.declared.push((file.to_path_buf(), Vec::new()));
        while let Some((file, module)) = all.declared.pop() {
            all.file(&file, &module);
        }
        all
    }

    fn file(&mut self, file: &Path, here: &ModulePath) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        // The position of a token is searched in all files that the thread has read
        // since this call.
        proc_macro2::extra::invalidate_current_thread_spans();
        let tokens = TokenStream::from_str(&text).expect("a file that compiles");
        self.files.insert(here.clone(), file.to_path_buf());
        self.by_path.entry(here.clone()).or_default();
        self.walk(&tokens.into_iter().collect::<Vec<_>>(), here, file);
    }

    fn walk(&mut self, tokens: &[TokenTree], here: &ModulePath, file: &Path) {
        let mut at = 0;
        while at < tokens.len() {
            if let Some((brackets, inner, next)) = attribute(tokens, at)
                && is_cfg_test(&brackets.stream())
            {
                if inner {
                    return;
                }
                at = item_end(tokens, next);
                continue;
            }
            at = match &tokens[at] {
                TokenTree::Group(group) => {
                    self.walk(&group.stream().into_iter().collect::<Vec<_>>(), here, file);
                    at + 1
                }
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens, at + 1, '<') => {
                    self.imports(tokens, at + 1, here)
                }
                TokenTree::Ident(word) if word == "mod" => self.module(tokens, at + 1, here, file),
                TokenTree::Ident(word) if is_punct(tokens, at + 1, '!') => {
                    let line = word.span().start().line;
                    let module = self.by_path.entry(here.clone()).or_default();
                    if let (true, Some(TokenTree::Ident(name))) =
                        (word == "macro_rules", tokens.get(at + 2))
                    {
                        module.macros.push(name.to_string());
                    } else {
                        module.macro_calls.push((line, word.to_string()));
                    }
                    at + 2
                }
                TokenTree::Ident(word) => {
                    let line = word.span().start().line;
                    let (path, next) = path(tokens, at);
                    if path.len() > 1 {
                        self.by_path.entry(here.clone()).or_default().paths.push((line, path));
                    }
                    next
                }
                _ => at + 1,
            };
        }
    }

    /// Reads `name;` or `name { }` after `mod`; returns the index after it.
    fn module(&mut self, tokens: &[TokenTree], at: usize, here: &ModulePath, file: &Path) -> usize {
        let Some(TokenTree::Ident(name)) = tokens.get(at) else { return at };
        let mut child = here.clone();
        child.push(name.to_string());
        match tokens.get(at + 1) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                self.by_path.entry(child.clone()).or_default();
                self.walk(&group.stream().into_iter().collect::<Vec<_>>(), &child, file);
            }
            Some(TokenTree::Punct(end)) if end.as_char() == ';' => {
                if let Some(stated) = stated_path(&tokens[..at - 1]) {
                    self.declared.push((file.with_file_name("").join(stated), child));
                    return at + 2;
                }
                let owner = self.owner(here);
                let mut folder = crate::lines::module_folder(file);
                folder.extend(&here[owner.len()..]);
                let flat = folder.join(format!("{name}.rs"));
                let nested = folder.join(name.to_string()).join("mod.rs");
                self.declared.push((if flat.exists() { flat } else { nested }, child));
            }
            _ => {}
        }
        at + 2
    }

    /// Reads the tree after `use`; returns the index after its semicolon.
    fn imports(&mut self, tokens: &[TokenTree], at: usize, here: &ModulePath) -> usize {
        let end = (at..tokens.len()).find(|i| is_punct(tokens, *i, ';')).unwrap_or(tokens.len());
        let module = self.by_path.entry(here.clone()).or_default();
        tree(&tokens[at..end], &[], &mut module.imports);
        end + 1
    }

    /// The module that is a file and has the code of `module`.
    pub(super) fn owner(&self, module: &[String]) -> ModulePath {
        let mut module = module.to_vec();
        while !self.files.contains_key(&module) && module.pop().is_some() {}
        module
    }
}

/// One branch of `use` or several between commas, below `prefix`.
fn tree(tokens: &[TokenTree], prefix: &[String], out: &mut Vec<Import>) {
    for branch in tokens.split(|t| matches!(t, TokenTree::Punct(p) if p.as_char() == ',')) {
        let mut names = prefix.to_vec();
        let mut alias = None;
        let mut line = 0;
        let mut nested = None;
        for token in branch {
            line = token.span().start().line;
            match token {
                TokenTree::Ident(word) if word == "as" => alias = Some(String::new()),
                TokenTree::Ident(word) => match &mut alias {
                    Some(alias) => *alias = word.to_string(),
                    None => names.push(word.to_string()),
                },
                TokenTree::Group(group) => nested = Some(group.stream()),
                _ => {}
            }
        }
        if let Some(nested) = nested {
            tree(&nested.into_iter().collect::<Vec<_>>(), &names, out);
        } else if names.len() > prefix.len() {
            if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
                names.pop();
            }
            let name = alias.unwrap_or_else(|| names.last().cloned().unwrap_or_default());
            out.push(Import { line, name, path: names });
        }
    }
}

/// The path that begins at `at`, and the index after it.
fn path(tokens: &[TokenTree], at: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut at = at;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        at += 1;
        if !(is_punct(tokens, at, ':') && is_punct(tokens, at + 1, ':')) {
            break;
        }
        at += 2;
    }
    (names, at)
}

fn is_punct(tokens: &[TokenTree], at: usize, expected: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

/// Returns the file of a module from the attribute `#[path = "..."]` at the end of `before`.
fn stated_path(before: &[TokenTree]) -> Option<String> {
    let [.., TokenTree::Group(brackets)] = before else { return None };
    let tokens: Vec<TokenTree> = brackets.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Literal(file)]
            if word == "path" =>
        {
            Some(file.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}
