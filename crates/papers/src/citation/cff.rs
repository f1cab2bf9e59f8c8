//! Citation File Format 1.2.0, which GitHub, Zenodo and Zotero read.

use std::fmt::Write as _;

use lowtide_output::json;

use super::Tool;

/// The file of the tool.
pub fn cff(tool: Tool<'_>) -> String {
    let mut text = format!(
        "cff-version: 1.2.0\n\
         message: \"Cite the version that made your results. `lowtide cite NAME` prints the sources \
         of a scheme or experiment.\"\n\
         type: software\n\
         title: {name}\n\
         abstract: {about}\n\
         version: {version}\n\
         repository-code: {repository}\n\
         license:\n",
        name = json::string(Tool::NAME),
        about = json::string(Tool::ABOUT),
        version = json::string(tool.version),
        repository = json::string(Tool::REPOSITORY),
    );
    for licence in Tool::LICENCES {
        let _ = writeln!(text, "  - {licence}");
    }
    let _ = writeln!(text, "authors:\n  - name: {}", json::string(Tool::AUTHORS));
    text
}
