//! Errors of commands: message and exit status.

use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use lowtide_analysis::AnalysisError;
use lowtide_lab::{LabError, TooLarge};
use lowtide_output::streams;
use lowtide_output::terminal::{printable, printable_in_place};
use lowtide_packetdrill::script::ScriptError;
use lowtide_papers::PaperError;
use lowtide_record::RecordError;
use lowtide_scenario::{Scenario, ScenarioError, ScenarioErrors};

/// A failed command.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Invalid scenario: status 2.
    Scenario(Box<ScenarioErrors>),
    /// Packetdrill scripts that cannot be run: status 2.
    Scripts(Vec<ScriptError>),
    /// Invalid usage, with help: status 2.
    Usage(String, Option<String>),
    /// Runs that do not fit into memory or onto the disk: status 2.
    TooLarge(TooLarge),
    /// A file or stdout cannot be written: status 2.
    Unwritable(String),
    /// The command failed: status 1.
    Run(String),
    /// Two runs differ, as printed on stdout: status 1.
    Differs,
    /// A requested bound does not hold: status 3.
    Unmet(String),
    /// Ctrl-C: status 130. Finished runs are kept.
    Interrupted(String),
    /// The reader of stdout closed the pipe: no message.
    ClosedPipe,
}

impl CommandError {
    /// Prints the error on stderr. Returns the exit status.
    pub(crate) fn report(self) -> u8 {
        match self {
            Self::Scenario(errors) => {
                for error in errors.iter() {
                    LocatedError::from(error).print();
                }
                2
            }
            Self::Scripts(errors) => {
                for error in &errors {
                    LocatedError::from(error).print();
                }
                2
            }
            Self::Usage(message, help) => {
                streams::note(format_args!("error: {message}"));
                if let Some(help) = help {
                    streams::note(format_args!("  help: {help}"));
                }
                2
            }
            Self::TooLarge(TooLarge { message, help, .. }) => {
                Self::Usage(message, Some(help)).report()
            }
            Self::Unwritable(message) => Self::Usage(message, None).report(),
            Self::Run(message) => {
                streams::note(format_args!("error: {message}"));
                1
            }
            Self::Differs => 1,
            Self::Unmet(message) => {
                streams::note(message);
                3
            }
            Self::Interrupted(message) => {
                streams::note(format_args!("interrupted: {message}"));
                130
            }
            Self::ClosedPipe => 0,
        }
    }
}

impl CommandError {
    /// The error of a file or directory that cannot be created or written; `action` is a verb.
    pub(crate) fn unwritable(action: &str, path: &Path, error: &std::io::Error) -> Self {
        let message = format!(
            "cannot {action} {}: {error}; make room there, or name another place",
            path.display()
        );
        Self::Unwritable(message)
    }

    /// Points a [`Self::TooLarge`] error to its key in `scenario`.
    pub(crate) fn located_in(self, scenario: &Scenario) -> Self {
        match self {
            Self::TooLarge(TooLarge { key, message, help }) => {
                scenario.error_at_key(&key, &message, Some(help)).into()
            }
            other => other,
        }
    }
}

impl From<ScenarioErrors> for CommandError {
    fn from(errors: ScenarioErrors) -> Self {
        Self::Scenario(Box::new(errors))
    }
}

impl From<AnalysisError> for CommandError {
    fn from(error: AnalysisError) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<LabError> for CommandError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Scenario(errors) => errors.into(),
            LabError::InvalidRequest { message, help } | LabError::NotFound { message, help } => {
                Self::Usage(message, help)
            }
            LabError::TooLarge(found) => Self::TooLarge(found),
            LabError::Interrupted { .. } => Self::Interrupted(error.to_string()),
            LabError::Record(error) => error.into(),
            LabError::NotMerged(_) | LabError::NoRuns(_) => Self::Usage(error.to_string(), None),
            LabError::Capture(_) => Self::Unwritable(error.to_string()),
            other => Self::Run(other.to_string()),
        }
    }
}

impl From<RecordError> for CommandError {
    /// Files that are missing, damaged or of another version are input, as a bad scenario is.
    fn from(error: RecordError) -> Self {
        Self::Usage(error.to_string(), None)
    }
}

impl From<PaperError> for CommandError {
    fn from(error: PaperError) -> Self {
        match error {
            PaperError::Lab(error) => error.into(),
            PaperError::Claim(error) => Self::Usage(error.to_string(), None),
        }
    }
}

/// An error in a scenario or a script: message, file with line and carets, help.
#[derive(Debug)]
struct LocatedError<'a> {
    message: &'a str,
    help: Option<&'a str>,
    file: &'a str,
    text: &'a str,
    span: Option<Range<usize>>,
}

impl<'a> From<&'a ScenarioError> for LocatedError<'a> {
    fn from(error: &'a ScenarioError) -> Self {
        Self {
            message: &error.message,
            help: error.help.as_deref(),
            file: &error.file,
            text: &error.text,
            span: error.span.clone(),
        }
    }
}

impl<'a> From<&'a ScriptError> for LocatedError<'a> {
    fn from(error: &'a ScriptError) -> Self {
        Self {
            message: &error.message,
            help: error.help.as_deref(),
            file: &error.name,
            text: &error.text,
            span: Some(error.span.clone()),
        }
    }
}

impl LocatedError<'_> {
    /// Prints it on stderr, in colour on a terminal that wants it.
    fn print(&self) {
        streams::styled(&self.render(&Renderer::styled()));
    }

    fn render(&self, renderer: &Renderer) -> String {
        let (message, file) = (printable(self.message), printable(self.file));
        let (text, help) = (printable_in_place(self.text), self.help.map(printable));
        let title = Level::ERROR.primary_title(&*message);
        let mut group = Group::with_title(title);
        if let Some(span) = &self.span {
            // A span may end behind the text, at a value that is missing.
            let span = span.start.min(text.len())..span.end.min(text.len());
            let snippet = Snippet::source(&*text).path(&*file);
            group = group.element(snippet.annotation(AnnotationKind::Primary.span(span)));
        }
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(&**help));
        }
        renderer.render(&[group])
    }
}

/// Returns the errors of a scenario as the command prints them, without colours.
pub fn located_text(errors: &ScenarioErrors) -> String {
    let render = |error| LocatedError::from(error).render(&Renderer::plain());
    errors.iter().map(render).collect::<Vec<_>>().join("\n")
}
