//! Questions that figures and tables answer; the report is in their order.

/// A question of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ReportSection {
    /// Completion times and slowdown.
    ShortFlows,
    /// Goodput and utilisation.
    Line,
    /// Queue lengths.
    Queue,
    /// Shares of flows.
    Fairness,
    /// State of the senders.
    Senders,
    /// Recorded flows.
    SingleFlows,
}

impl ReportSection {
    /// All, in the order of the report.
    pub(crate) const ALL: [Self; 6] = [
        Self::ShortFlows,
        Self::Line,
        Self::Queue,
        Self::Fairness,
        Self::Senders,
        Self::SingleFlows,
    ];

    /// Returns the heading.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::ShortFlows => "Are short flows fast?",
            Self::Line => "Is the line full?",
            Self::Queue => "Does the queue stay short?",
            Self::Fairness => "Is it fair?",
            Self::Senders => "What do the senders do?",
            Self::SingleFlows => "What happens to single flows?",
        }
    }

    /// Returns the anchor.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::ShortFlows => "short-flows",
            Self::Line => "line",
            Self::Queue => "queue",
            Self::Fairness => "fairness",
            Self::Senders => "senders",
            Self::SingleFlows => "single-flows",
        }
    }
}
