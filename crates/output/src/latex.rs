//! Text of LaTeX and BibTeX, ASCII.

/// Accented letters and signs as LaTeX commands; `inputenc` is not needed.
const COMMANDS: [(char, &str); 24] = [
    ('ä', "{\\\"a}"),
    ('ö', "{\\\"o}"),
    ('ü', "{\\\"u}"),
    ('Ä', "{\\\"A}"),
    ('Ö', "{\\\"O}"),
    ('Ü', "{\\\"U}"),
    ('ß', "{\\ss}"),
    ('é', "{\\'e}"),
    ('è', "{\\`e}"),
    ('á', "{\\'a}"),
    ('à', "{\\`a}"),
    ('ç', "{\\c c}"),
    ('ñ', "{\\~n}"),
    ('ø', "{\\o}"),
    ('å', "{\\aa}"),
    ('&', "\\&"),
    ('%', "\\%"),
    ('$', "\\$"),
    ('#', "\\#"),
    ('_', "\\_"),
    ('{', "\\{"),
    ('}', "\\}"),
    ('~', "{\\textasciitilde}"),
    ('^', "{\\textasciicircum}"),
];

/// Returns `text` so that LaTeX prints it: its special characters have no effect, and letters
/// beyond ASCII that have no command here become `?`. Control characters become spaces.
pub fn text(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match COMMANDS.iter().find(|(letter, _)| *letter == c) {
            Some((_, command)) => out.push_str(command),
            None if c == '\\' => out.push_str("{\\textbackslash}"),
            None if c.is_control() => out.push(' '),
            None if c.is_ascii() => out.push(c),
            None => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn special_characters_are_printed() {
        assert_eq!(super::text("Ha, S. and Rhee & Xu"), "Ha, S. and Rhee \\& Xu");
        assert_eq!(super::text("50% of $x_1\\y}"), "50\\% of \\$x\\_1{\\textbackslash}y\\}");
        assert_eq!(super::text("Köln, Åé"), "K{\\\"o}ln, ?{\\'e}");
    }
}
