//! The list of commands in `lowtide --help`, grouped by the user's question.
//!
//! Names of commands: a noun for an object that has parts (`live`, `testbed`, `kernel`, `papers`),
//! else a verb or the name of the output (`run`, `plot`, `table`, `pcap`).

use std::fmt::Write as _;

use clap::{Command as ClapCommand, CommandFactory};

use super::Cli;

/// Questions, with the commands that answer them.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "What happens in this network?",
        &["run", "merge", "check", "new", "show", "list", "explain", "schema"],
    ),
    (
        "What does the result say?",
        &["report", "table", "compare", "diff", "plot", "figure", "pcap"],
    ),
    ("How do I publish it?", &["bundle", "cite"]),
    ("How do I configure or deploy it?", &["advise", "plan", "matrix", "import", "export"]),
    ("Does it reproduce the papers?", &["papers"]),
    ("What happens on real packets?", &["live", "testbed", "kernel", "analyze"]),
    ("Is it correct and fast?", &["packetdrill", "bench"]),
    ("Shell", &["completions", "man", "help"]),
];

/// Returns the command line, with the grouped list as its help.
pub(crate) fn command() -> ClapCommand {
    let command = Cli::command();
    let mut list = String::new();
    for (question, names) in GROUPS {
        let _ = writeln!(list, "{question}");
        for name in *names {
            let found = command.get_subcommands().find(|c| c.get_name() == *name);
            let about = match found {
                Some(command) => command.get_about().map(ToString::to_string).unwrap_or_default(),
                None if *name == "help" => "Print the help of a command".to_owned(),
                // Commands of cargo features: `figure`; on Linux `live`, `testbed`, `kernel`.
                None => continue,
            };
            let _ = writeln!(list, "  {name:<12} {about}");
        }
        list.push('\n');
    }
    let template = "{about-with-newline}\n{usage-heading} {usage}\n\n";
    command.help_template(format!("{template}{list}Options:\n{{options}}{{after-help}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|c| !c.is_hide_set());
        for name in visible.map(ClapCommand::get_name) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
        }
    }

    #[test]
    fn lines_of_the_help_are_short() {
        let help = command().render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(help.contains("  papers       "), "{help}");
    }
}
