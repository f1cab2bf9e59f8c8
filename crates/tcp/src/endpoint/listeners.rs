//! Who listens on which port, and how many connections of each listener are not established yet.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use lowtide_units::Instant;

use super::ListenError;
use crate::config::{Config, SynCookies};

/// Names a listener for as long as the endpoint lives, whatever listens on its port later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListenerId(u64);

#[derive(Debug)]
struct Listener {
    id: ListenerId,
    config: Arc<Config>,
    backlog: usize,
    embryonic: usize,
    /// Until when an ACK may bring back a SYN cookie of this listener.
    cookies_until: Instant,
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
    /// No room for one more.
    Full,
    /// No room for one more, and the SYN is to be answered with a cookie.
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

    /// The listener on `port` sent a cookie, which comes back before `until` or is too old.
    pub(super) fn sent_cookie(&mut self, port: u16, until: Instant) {
        if let Some(l) = self.by_port.get_mut(&port) {
            l.cookies_until = until;
        }
    }

    /// What a connection to `port` gets that an ACK opens, if there may be one.
    pub(super) fn cookie_config(&self, port: u16, now: Instant) -> Option<Arc<Config>> {
        let listener = self.by_port.get(&port).filter(|l| now < l.cookies_until)?;
        Some(Arc::clone(&listener.config))
    }

    /// One embryonic connection that `id` admitted on `port` is none any more. Nothing to a later
    /// listener on the same port.
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
        assert!(matches!(listeners.admit(80), Admission::Full), "another's does not count");
        listeners.leave_backlog(80, second);
        assert!(admitted(&mut listeners).is_some());
    }
}
