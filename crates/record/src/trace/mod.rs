//! Traced flows as tables: conversion of traces, reading and writing.
//!
//! Contract: the header of a segment in [`TraceSegmentRow::header`] is that of a capture; the other
//! columns have the same values as numbers.

mod convert;

use lowtide_rows::{Row as _, TraceHopRow, TraceSegmentRow, TraceSenderRow};

use crate::error::RecordError;
use crate::files::FileEntry;
use crate::parquet::RunWriter;

/// The names of the tables of traced flows.
pub const TRACE_TABLES: [&str; 3] =
    [TraceSegmentRow::TABLE, TraceHopRow::TABLE, TraceSenderRow::TABLE];

/// Everything about the traced flows of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TraceTables {
    /// Their segments at both endpoints, in time order.
    pub segments: Vec<TraceSegmentRow>,
    /// Every packet at the ports on their paths, in time order.
    pub hops: Vec<TraceHopRow>,
    /// Their senders, in time order.
    pub senders: Vec<TraceSenderRow>,
}

impl TraceTables {
    /// Whether nothing was traced.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.hops.is_empty() && self.senders.is_empty()
    }

    /// Writes the tables of one run, unless they are empty.
    pub(crate) fn write(&self, writer: RunWriter<'_>) -> Result<Vec<FileEntry>, RecordError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![
            writer.write(&self.segments)?,
            writer.write(&self.hops)?,
            writer.write(&self.senders)?,
        ])
    }

    /// The trace of one flow, as if only that flow had been traced: its segments and its sender,
    /// and at each port on its path all packets from its first one on.
    #[must_use]
    pub fn of_flow(mut self, flow: u32) -> Self {
        self.segments.retain(|r| r.flow == flow);
        self.senders.retain(|r| r.flow == flow);
        let mut ports = std::collections::BTreeSet::new();
        self.hops.retain(|h| {
            if h.flow == flow && h.packet.is_some() {
                ports.insert(h.queue);
            }
            ports.contains(&h.queue)
        });
        self
    }
}
