//! The listeners of an endpoint, and the embryonic connections of each.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use lowtide_units::Instant;

use super::ListenError;
use crate::settings::config::{Config, SynCookies};

/// Identifies a listener for the endpoint's lifetime, even if its port is listened on again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListenerId(u64);

#[derive(Debug)]
struct Listener {
    id: ListenerId,
    config: Arc<Config>,
    backlog: usize,
    embryonic: usize,
    /// Time until which an ACK may return a SYN cookie of this listener.
    cookies_until: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_port: BTreeMap<u16, Listener>,
    opened: u64,
}

/// A listener's decision on a SYN.
#[derive(Debug)]
pub(super) enum Admission {
    /// Admitted: it now counts as an embryonic connection.
    Admitted(ListenerId, Arc<Config>),
    /// The backlog is full.
    Full,
    /// The backlog is full, and the SYN must be answered with a cookie.
    Cookie(Arc<Config>),
    NoListener,
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
        self.by_port.insert(
            port,
            Listener { id, config, backlog, embryonic: 0, cookies_until: Instant::ZERO },
        );
        Ok(())
    }

    pub(super) fn close(&mut self, port: u16) {
        self.by_port.remove(&port);
    }

    /// Sets the configuration of future connections to `port`.
    pub(super) fn reconfigure(&mut self, port: u16, config: Arc<Config>) {
        if let Some(listener) = self.by_port.get_mut(&port) {
            listener.config = config;
        }
    }

    /// The configuration of the listener on `port`.
    pub(super) fn config(&self, port: u16) -> Option<&Config> {
        self.by_port.get(&port).map(|l| &*l.config)
    }

    pub(super) fn admit(&mut self, port: u16) -> Admission {
        match self.by_port.get_mut(&port) {
            None => Admission::NoListener,
            Some(l) if l.embryonic >= l.backlog => match l.config.syn_cookies {
                SynCookies::Off => Admission::Full,
                SynCookies::WhenFull => Admission::Cookie(Arc::clone(&l.config)),
            },
            Some(l) => {
                l.embryonic += 1;
                Admission::Admitted(l.id, Arc::clone(&l.config))
            }
        }
    }

    /// Records that the listener on `port` sent a cookie, which is valid before `until`.
    pub(super) fn sent_cookie(&mut self, port: u16, until: Instant) {
        if let Some(l) = self.by_port.get_mut(&port) {
            l.cookies_until = until;
        }
    }

    /// The configuration of a connection to `port` that an ACK with a cookie opens, if cookies may
    /// be outstanding.
    pub(super) fn cookie_config(&self, port: u16, now: Instant) -> Option<Arc<Config>> {
        let listener = self.by_port.get(&port).filter(|l| now < l.cookies_until)?;
        Some(Arc::clone(&listener.config))
    }

    /// Removes an embryonic connection that `id` admitted on `port`. Does not affect a later
    /// listener on that port.
    pub(super) fn leave_backlog(&mut self, port: u16, id: ListenerId) {
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
            Admission::Full | Admission::Cookie(_) | Admission::NoListener => None,
        }
    }

    #[test]
    fn the_backlog_counts_down_for_its_own_listener_only() {
        let mut listeners = Listeners::default();
        assert!(matches!(listeners.admit(80), Admission::NoListener));
        listeners.open(80, Arc::new(Config::default()), 2).unwrap();
        assert!(listeners.config(80).is_some() && listeners.config(81).is_none());
        let first = admitted(&mut listeners).unwrap();
        assert_eq!(admitted(&mut listeners), Some(first));
        assert!(matches!(listeners.admit(80), Admission::Full));
        listeners.leave_backlog(80, first);
        assert_eq!(admitted(&mut listeners), Some(first));

        listeners.close(80);
        listeners.open(80, Arc::new(Config::default()), 1).unwrap();
        let second = admitted(&mut listeners).unwrap();
        assert_ne!(second, first);
        listeners.leave_backlog(80, first);
        assert!(
            matches!(listeners.admit(80), Admission::Full),
            "another listener's connection does not count"
        );
        listeners.leave_backlog(80, second);
        assert!(admitted(&mut listeners).is_some());
    }
}
