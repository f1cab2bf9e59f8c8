//! Errors of commands: message and exit status.

use std::process::ExitCode;
use std::sync::Arc;

use lowtide_analysis::AnalysisError;
use lowtide_lab::{LabError, TooLarge};
use lowtide_packetdrill::script::ScriptError;
use lowtide_papers::PaperError;
use lowtide_scenario::{Scenario, ScenarioError, ScenarioErrors};
use miette::{Diagnostic, LabeledSpan, NamedSource, Report, Severity, SourceCode};

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
    /// The command failed: status 1.
    Run(String),
    /// Two runs differ, as printed on stdout: status 1.
    Differs,
    /// A requested bound does not hold: status 3.
    Unmet(String),
    /// Ctrl-C: status 130. Finished runs are kept.
    Interrupted(String),
    /// A child command failed and printed its error: its status.
    #[cfg(target_os = "linux")]
    ChildStatus(u8),
    /// The reader of stdout closed the pipe: no message.
    ClosedPipe,
}

impl CommandError {
    /// Prints the error on stderr. Returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Scenario(errors) => {
                for error in errors.iter() {
                    eprintln!("{:?}", Report::new(RenderedError::from(error)));
                }
                ExitCode::from(2)
            }
            Self::Scripts(errors) => {
                for error in &errors {
                    eprintln!("{:?}", Report::new(RenderedError::from(error)));
                }
                ExitCode::from(2)
            }
            Self::Usage(message, help) => {
                eprintln!("error: {message}");
                if let Some(help) = help {
                    eprintln!("  help: {help}");
                }
                ExitCode::from(2)
            }
            Self::TooLarge(TooLarge { message, help, .. }) => {
                Self::Usage(message, Some(help)).report()
            }
            Self::Run(message) => {
                eprintln!("error: {message}");
                ExitCode::from(1)
            }
            Self::Differs => ExitCode::from(1),
            Self::Unmet(message) => {
                eprintln!("{message}");
                ExitCode::from(3)
            }
            Self::Interrupted(message) => {
                eprintln!("interrupted: {message}");
                ExitCode::from(130)
            }
            #[cfg(target_os = "linux")]
            Self::ChildStatus(status) => ExitCode::from(status),
            Self::ClosedPipe => ExitCode::SUCCESS,
        }
    }
}

impl CommandError {
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
            LabError::InvalidRequest { message, help } => Self::Usage(message, help),
            LabError::TooLarge(found) => Self::TooLarge(found),
            LabError::Interrupted { .. } => Self::Interrupted(error.to_string()),
            other => Self::Run(other.to_string()),
        }
    }
}

impl From<PaperError> for CommandError {
    fn from(error: PaperError) -> Self {
        match error {
            PaperError::Lab(error) => error.into(),
            PaperError::Claim(error) => Self::Run(error.to_string()),
        }
    }
}

/// An error in a scenario or a script, rendered by miette with line, carets and help.
#[derive(Debug)]
struct RenderedError {
    message: String,
    help: Option<String>,
    label: Option<LabeledSpan>,
    source: NamedSource<Arc<str>>,
}

impl From<&ScenarioError> for RenderedError {
    fn from(error: &ScenarioError) -> Self {
        Self {
            message: error.message.clone(),
            help: error.help.clone(),
            label: error.span.clone().map(|span| LabeledSpan::new_with_span(None, span)),
            source: NamedSource::new(&error.file, Arc::clone(&error.text)),
        }
    }
}

impl From<&ScriptError> for RenderedError {
    fn from(error: &ScriptError) -> Self {
        Self {
            message: error.message.clone(),
            help: error.help.clone(),
            label: Some(LabeledSpan::new_with_span(None, error.span.clone())),
            source: NamedSource::new(&error.name, Arc::clone(&error.text)),
        }
    }
}

impl std::fmt::Display for RenderedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RenderedError {}

impl Diagnostic for RenderedError {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn std::fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.label.as_ref().map(|_| &self.source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label
            .clone()
            .map(|l| Box::new(std::iter::once(l)) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}
