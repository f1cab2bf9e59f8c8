//! Who listens on which port, and how many connections of each listener are not established yet.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::ListenError;
use crate::config::Config;

/// Names a listener for as long as the endpoint lives, whatever listens on its port later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListenerId(u64);

#[derive(Debug)]
struct Listener {
    id: ListenerId,
    config: Arc<Config>,
    backlog: usize,
    embryonic: usize,
}

#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_port: BTreeMap<u16, Listener>,
    opened: u64,
}

/// What a listener makes of a SYN.
#[derive(Debug)]
pub(super) enum Admission {
    /// It counts as one more embryonic connection now.
    Admitted(ListenerId, Arc<Config>),
    Full,
    Nobody,
}

impl Listeners {
    pub(super) fn open(
        &mut self,
        port: u16,
        config: Arc<Config>,
        backlog: usize,
    ) -> Result<(), ListenError> {
        if self.by_port.contains_key(&port) {
            return Err(ListenError::InUse(port));
        }
        self.opened += 1;
        let id = ListenerId(self.opened);
        self.by_port.insert(port, Listener { id, config, backlog, embryonic: 0 });
        Ok(())
    }

    pub(super) fn close(&mut self, port: u16) {
        self.by_port.remove(&port);
    }

    /// What connections to `port` get from now on.
    pub(super) fn reconfigure(&mut self, port: u16, config: Arc<Config>) {
        if let Some(listener) = self.by_port.get_mut(&port) {
            listener.config = config;
        }
    }

    /// The settings of who listens on `port`.
    pub(super) fn config(&self, port: u16) -> Option<&Config> {
        self.by_port.get(&port).map(|l| &*l.config)
    }

    pub(super) fn admit(&mut self, port: u16) -> Admission {
        match self.by_port.get_mut(&port) {
            None => Admission::Nobody,
            Some(l) if l.embryonic >= l.backlog => Admission::Full,
            Some(l) => {
                l.embryonic += 1;
                Admission::Admitted(l.id, Arc::clone(&l.config))
            }
        }
    }

    /// One embryonic connection that `id` admitted on `port` is none any more. Nothing to a later
    /// listener on the same port.
    pub(super) fn settle(&mut self, port: u16, id: ListenerId) {
        if let Some(l) = self.by_port.get_mut(&port).filter(|l| l.id == id) {
            l.embryonic = l.embryonic.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(listeners: &mut Listeners) -> Option<ListenerId> {
        match listeners.admit(80) {
            Admission::Admitted(id, _) => Some(id),
            Admission::Full | Admission::Nobody => None,
        }
    }

    #[test]
    fn the_backlog_counts_down_for_its_own_listener_only() {
        let mut listeners = Listeners::default();
        assert!(matches!(listeners.admit(80), Admission::Nobody));
        listeners.open(80, Arc::new(Config::default()), 2).unwrap();
        assert!(listeners.config(80).is_some() && listeners.config(81).is_none());
        let first = admitted(&mut listeners).unwrap();
        assert_eq!(admitted(&mut listeners), Some(first));
        assert!(matches!(listeners.admit(80), Admission::Full));
        listeners.settle(80, first);
        assert_eq!(admitted(&mut listeners), Some(first));

        listeners.close(80);
        listeners.open(80, Arc::new(Config::default()), 1).unwrap();
        let second = admitted(&mut listeners).unwrap();
        assert_ne!(second, first);
        listeners.settle(80, first);
        assert!(matches!(listeners.admit(80), Admission::Full), "another's does not count");
        listeners.settle(80, second);
        assert!(admitted(&mut listeners).is_some());
    }
}
