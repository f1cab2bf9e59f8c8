//! Kinds of a paper's figure, by the quantity on its horizontal axis.

use serde::Deserialize;

/// Quantity on the horizontal axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FigureKind {
    /// A measure over a swept key.
    Over,
    /// Cumulative distribution of values.
    Cdf,
    /// Values over time, of the first seed.
    Trace,
    /// Values over others at the same time, of the first seed; points outside of the axes are
    /// omitted.
    Plane,
    /// A measure for each class, as a bar chart of a paper.
    Classes,
    /// Congestion signal of the senders in a window over the true queue, of the first seed.
    Scatter,
}

impl FigureKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Cdf => "cdf",
            Self::Trace => "trace",
            Self::Plane => "plane",
            Self::Classes => "classes",
            Self::Scatter => "scatter",
        }
    }
}
