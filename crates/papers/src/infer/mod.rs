//! Inference of the settings that a paper leaves open, from a part of its claims, and a test on the
//! rest.
//!
//! Contract: what is open (`open.rs`), and which claims are fitted (`split.rs`), are files that are
//! committed before an inference. Held-back claims never influence the search.

mod best_case;
mod contradictions;
mod cross_validation;
mod default_value;
mod design;
mod evaluate;
mod full_form;
mod further;
mod loss;
mod open;
mod page;
mod prediction;
mod record;
mod result;
mod search;
mod sensitivity;
mod setting;
mod split;
mod subject;

use std::path::PathBuf;

use lowtide_record::write_atomic;

pub use best_case::{BestCase, best_case_text};
pub use contradictions::Contradiction;
pub use cross_validation::{CrossValidation, TestScore, cross_validation_text};
pub use evaluate::InferenceOptions;
pub(crate) use full_form::{FULL_FORM_RECORD, FullFormRecord, FullFormVerdict};
pub use open::{OpenParameter, OpenSettings};
pub use page::share_text;
pub use record::{INFERENCE_RECORD, InferenceRecord, RecordedOutcome, RecordedParameter};
pub(crate) use record::{at_inferred, at_inferred_setting};
pub use result::{
    ClaimOutcome, InferenceResult, InferenceScore, InferredParameter, ScoredSettings,
    ScreenedSetting, SettingCounts, SettingVerdict, SideCount,
};
pub use search::InferenceSize;
pub use sensitivity::Sensitivity;
pub use setting::Setting;
pub use split::{ClaimSide, ClaimSplit};
pub use subject::{InferenceSubject, split_of};

use crate::ClaimError;
use crate::error::PaperError;

/// The page of an inference, below its directory.
pub const INFERENCE_PAGE: &str = "inference.html";
/// Its result.
pub const INFERENCE_RESULT: &str = "inference.json";

/// Infers the open settings of a paper; writes its result and its page, and returns both.
///
/// # Errors
/// A run fails or is stopped, or a file cannot be written.
pub fn infer(
    subject: &InferenceSubject,
    size: InferenceSize,
    command: &str,
    options: &InferenceOptions<'_>,
) -> Result<(InferenceResult, PathBuf), PaperError> {
    let outcome = search::search(subject, size, options)?;
    let result = result::result(subject, size, &outcome)?;
    let mut text = serde_json::to_string_pretty(&result)
        .map_err(|e| ClaimError { file: INFERENCE_RESULT.to_owned(), message: e.to_string() })?;
    text.push('\n');
    write_atomic(&options.dir.join(INFERENCE_RESULT), text.as_bytes())?;
    let record = InferenceRecord::from(&result).to_toml()?;
    write_atomic(&options.dir.join(INFERENCE_RECORD), record.as_bytes())?;
    let path = options.dir.join(INFERENCE_PAGE);
    write_atomic(&path, page::page(&result, command)?.as_bytes())?;
    Ok((result, path))
}
