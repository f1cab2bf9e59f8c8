//! Bindings of profiles to queues of ports, in `QUEUE` and `BUFFER_QUEUE`.

use super::tables::{Tables, referenced};
use crate::error::ConfigError;

/// An entry `PORT|QUEUE`, `PORT|FIRST-LAST`, or with several ports as releases before 202111 write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Binding {
    /// Its key.
    pub(super) key: String,
    pub(super) ports: Vec<String>,
    pub(super) first: u8,
    pub(super) last: u8,
    /// Name of the profile; `None` if it binds none.
    pub(super) profile: Option<String>,
}

impl Binding {
    pub(super) fn covers(&self, port: &str, queue: u8) -> bool {
        (self.first..=self.last).contains(&queue) && self.ports.iter().any(|p| p == port)
    }
}

/// Returns the entries of `table`, whose profile is in `field`.
pub(super) fn bindings(
    tables: &Tables,
    table: &str,
    field: &str,
) -> Result<Vec<Binding>, ConfigError> {
    let read = |(key, fields): (&String, &super::tables::Fields)| {
        let parsed = key.rsplit_once('|').and_then(|(ports, queues)| {
            let (first, last) = queues.split_once('-').unwrap_or((queues, queues));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            // The key of a chassis also names host and ASIC.
            let ports = ports.rsplit('|').next()?.split(',').map(str::to_owned).collect();
            (first <= last).then_some((ports, first, last))
        });
        let Some((ports, first, last)) = parsed else {
            let problem = "expected PORT|QUEUE or PORT|FIRST-LAST";
            return Err(ConfigError::field(format!("{table}|{key}"), problem));
        };
        let profile = fields.get(field).map(|name| referenced(name).to_owned());
        Ok(Binding { key: key.clone(), ports, first, last, profile })
    };
    tables.entries(table).map(read).collect()
}

/// Returns the entry that covers a queue.
///
/// # Errors
/// Two entries do, which YANG does not find.
pub(super) fn covering<'a>(
    bindings: &'a [Binding],
    table: &str,
    port: &str,
    queue: u8,
) -> Result<Option<&'a Binding>, ConfigError> {
    let mut all = bindings.iter().filter(|binding| binding.covers(port, queue));
    let first = all.next();
    if let (Some(one), Some(other)) = (first, all.next()) {
        let problem =
            format!("{table}|{} covers queue {queue} of {port} too: remove one", other.key);
        return Err(ConfigError::field(format!("{table}|{}", one.key), problem));
    }
    Ok(first)
}
