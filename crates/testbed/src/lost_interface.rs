//! The interface of a host that is gone: somebody deleted it during a run.

use lowtide_bottleneck::{BottleneckReport, HostReport};

/// First host whose interface is gone, and why.
pub(crate) fn lost_interface(report: &BottleneckReport) -> Option<(&str, &str)> {
    let gone = |h: &'_ HostReport| h.device_error.is_some();
    let host = report.hosts.iter().find(|h| gone(h))?;
    Some((&host.name, host.device_error.as_deref()?))
}
