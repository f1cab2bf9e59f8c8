//! The kernel to boot.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::UmlError;

/// Debian's folder for the modules of each version.
const MODULES: &str = "/usr/lib/uml/modules";

/// A kernel that runs as a process, and its modules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The program.
    pub program: PathBuf,
    /// Its version (`6.1.176`).
    pub version: String,
    /// The folder of its modules.
    pub modules: PathBuf,
}

impl Kernel {
    /// The installed package's kernel, as `SETUP` describes it.
    ///
    /// # Errors
    /// It is not installed, or incomplete.
    pub fn find() -> Result<Self, UmlError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program =
            std::env::split_paths(&path).map(|p| p.join("linux.uml")).find(|p| p.is_file());
        Self::at(&program.ok_or(UmlError::NoKernel)?)
    }

    /// The kernel `program`.
    ///
    /// # Errors
    /// It cannot be started, or has no modules.
    pub fn at(program: &Path) -> Result<Self, UmlError> {
        let output = Command::new(program).arg("--version").output();
        let output =
            output.map_err(|e| UmlError::system(format!("start {}", program.display()), e))?;
        // Another program prints something else.
        let version =
            String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").to_owned();
        let folder = Path::new(MODULES).join(&version);
        if version.is_empty() || !folder.join("modules.dep").is_file() {
            let (kernel, folder) = (program.display().to_string(), folder.display().to_string());
            return Err(UmlError::NoModules { kernel, folder });
        }
        Ok(Self { program: program.to_owned(), version, modules: folder })
    }
}
