//! The papers' experiments by name, what the papers report of them, and a verdict per claim.
//!
//! Contract: an experiment is a scenario file and a file of claims beside it, `papers/<paper>/`.
//! The measure of a claim is data too: rows and columns of the result tables. A verdict follows
//! from the reported value, the band of the claim's kind and the measured interval; it is never
//! entered by hand.

mod audit;
mod catalogue;
mod check;
mod citation;
mod columns;
mod effect;
mod error;
mod expected;
mod figure;
mod figure_kind;
mod further_looks;
mod judge;
mod markdown;
mod measure;
mod old_claims;
mod open_settings;
mod page;
mod paper_page;
mod quick;
mod rates;
mod reproduce;
mod scorecard;
mod source;
mod theory_curve;
mod throughput;
mod unstated;
mod variation;
mod vary;
mod verdict;
mod windows;

pub use catalogue::{Experiment, experiments, find_experiments, load_experiment};
pub use citation::{
    Reference, ReferenceKind, Tool, bibtex, cff, reference_of_paper, references,
    references_named_in,
};
pub use error::{ClaimError, PaperError};
pub use expected::{Claim, ClaimKind, ClaimRange, ExperimentClaims, RecordedLook, RecordedResult};
pub use figure::PaperFigure;
pub use further_looks::{further_looks, merge_further_look, needs_further_look};
pub use judge::ClaimResult;
pub use page::{REPRODUCTION_PAGE, charts, write_page};
pub use paper_page::paper_pages;
pub use quick::QuickConfig;
pub use reproduce::{ReproduceMode, ReproductionResult, judge, plan};
pub use scorecard::scorecard;
pub use variation::{Variation, VariedClaim, judge_variation, variation_plans};
pub use vary::{RecordedVariation, VarySpec};
pub use verdict::ClaimVerdict;
