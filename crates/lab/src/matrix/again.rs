//! The answer of a complete directory, made again.

use lowtide_record::{Manifest, RunDir};

use super::page;
use super::question::{Question, asked};
use super::share;
use crate::error::LabError;
use crate::stored::{self, Finished};

/// Makes what follows from the tables again, if they answer a question of this kind.
pub(crate) fn again(dir: &RunDir, manifest: &Manifest) -> Result<Option<Finished>, LabError> {
    let Some(question) = asked(dir, manifest)? else { return Ok(None) };
    let write = |dir: &RunDir, manifest: &_, results: &_| {
        let files = match &question {
            Question::Pairs(pairs) => page::present(pairs, dir, manifest, results)?.0,
            Question::Share(share) => share::present(share, dir, manifest, results)?.0,
        };
        question.keep(dir, files)
    };
    stored::again(dir.root(), &write).map(Some)
}
