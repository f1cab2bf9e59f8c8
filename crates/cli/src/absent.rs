//! Commands that this build lacks: the error names the build that has them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use lowtide_tcp::NotSimulated;

use crate::error::CommandError;

/// Commands of cargo features, each with its feature.
const FEATURES: [(&str, &str); 4] =
    [("figure", "figures"), ("live", "live"), ("testbed", "live"), ("kernel", "live")];

/// Returns the refusal of a command that this build lacks, or of a mechanism that is not simulated;
/// `None` if the error has another cause.
pub(crate) fn refusal(error: &clap::Error, words: &[String]) -> Option<CommandError> {
    if let Some(absent) = mechanism(error, words) {
        return Some(CommandError::Usage(absent.sentence.to_owned(), None));
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // This word after another command is a mistake of another kind.
    let first = words.iter().find(|w| !w.starts_with('-') && *w != "help");
    let (command, feature) = FEATURES.iter().find(|(command, _)| command == name)?;
    (first == Some(name)).then(|| lacking(command, feature))
}

/// Returns the mechanism that an invalid argument or its value names.
fn mechanism(error: &clap::Error, words: &[String]) -> Option<&'static NotSimulated> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if let Some(found) = text(ContextKind::InvalidValue).and_then(NotSimulated::find) {
        return Some(found);
    }
    let argument = text(ContextKind::InvalidArg)?;
    let at = words.iter().position(|word| word.starts_with(argument))?;
    let mut names = words[at..].iter().take(2).flat_map(|word| word.split(['=', ',']));
    names.find_map(|name| NotSimulated::find(name.trim_start_matches('-')))
}

fn lacking(command: &str, feature: &str) -> CommandError {
    let message = format!("this build has no command `{command}`");
    if feature == "live" && !cfg!(target_os = "linux") {
        return CommandError::Usage(message, Some("it is for real packets on Linux".to_owned()));
    }
    let help = format!(
        "`cargo install --path crates/cli --locked --features {feature}` builds one that has it; \
         the Debian package, the wheel and the image have it"
    );
    CommandError::Usage(message, Some(help))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    fn refused(line: &str) -> Option<(String, Option<String>)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = Command::new("lowtide").subcommand(
            Command::new("papers").subcommand_required(true).subcommand(Command::new("list")),
        );
        let error = command.try_get_matches_from([&["lowtide".to_owned()], &words[..]].concat());
        match refusal(&error.unwrap_err(), &words)? {
            CommandError::Usage(message, help) => Some((message, help)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_of_another_build_names_that_build() {
        for line in ["figure out queue", "help figure", "figure --help"] {
            let (message, help) = refused(line).expect(line);
            assert_eq!(message, "this build has no command `figure`");
            let help = help.unwrap();
            assert!(help.contains("`cargo install") && help.contains("--features figures`"));
            assert!(help.contains("the Debian package, the wheel and the image"));
        }
        for other in ["figures out", "papers figure", "frob", "papers"] {
            assert_eq!(refused(other), None, "{other}");
        }
    }

    #[test]
    fn the_features_exist() {
        let manifest = include_str!("../Cargo.toml");
        for (command, feature) in FEATURES {
            assert!(manifest.contains(&format!("\n{feature} = [")), "{command}: {feature}");
        }
    }
}
