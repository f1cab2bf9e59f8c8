//! A host on real packets.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lowtide_tcp::{AckThrottle, Config, Endpoint, SynCookies, profile, scheme, switches};

use super::{Listener, Stream};
use crate::clock::Clock;
use crate::device::{Device, DevicePlan};
use crate::driver::{self, Shared};
use crate::error::LiveError;
use crate::stack::{Stack, StackCounters, StackLimits};

/// Settings of a host.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// Most half-open connections of a listener. Further SYNs are answered with SYN cookies, or
    /// dropped if `syn-cookies` is off.
    pub half_open: usize,
    /// Accept backlog: most established connections that wait; further ones are reset.
    pub accept_backlog: usize,
    /// Memory limit of all connections, bytes: their state, unacknowledged and unread payload,
    /// out-of-order data. Above half of it each connection is limited to its share.
    pub memory: usize,
    /// Most orphans: connections that no application holds and that have not ended. Beyond, the
    /// oldest is reset.
    pub orphans: usize,
    /// Seed of initial sequence numbers, ports and timestamps; random if `None`.
    pub seed: Option<u64>,
    /// Networks of this host, each an address and a prefix length: packets to their broadcast
    /// addresses are not answered. [`Live::start`] adds those of its plan.
    pub networks: Vec<(IpAddr, u8)>,
    /// Whether the driver's thread drops all its capabilities ([`crate::privileges`]). The process
    /// must not change its user later: the C library aborts if the threads' capabilities differ.
    pub unprivileged: bool,
}

impl Default for LiveSettings {
    /// Defaults as in Linux: 4096 (`net.ipv4.tcp_max_syn_backlog`, `net.core.somaxconn`). 64 MiB of
    /// memory, 1024 orphans.
    fn default() -> Self {
        let StackLimits { memory, orphans } = StackLimits::default();
        Self {
            half_open: 4096,
            accept_backlog: 4096,
            memory,
            orphans,
            seed: None,
            networks: Vec::new(),
            unprivileged: false,
        }
    }
}

/// Builds a configuration from a profile, a scheme and single switches (`cc=dctcp`), in this order.
/// `ack-throttle` is always `empty` on real packets. SYN cookies are on unless `syn-cookies=off` is
/// set.
///
/// # Errors
/// An unknown name, or an invalid value.
pub fn config(
    profile_name: &str,
    scheme_name: Option<&str>,
    settings: &[(&str, &str)],
) -> Result<Config, String> {
    let profile = profile::REGISTRY.get(profile_name).map_err(|e| e.to_string())?;
    let mut config = profile.config().map_err(|e| e.to_string())?;
    if let Some(name) = scheme_name {
        let scheme = scheme::REGISTRY.get(name).map_err(|e| e.to_string())?;
        scheme.apply(&mut config).map_err(|e| e.to_string())?;
    }
    config.syn_cookies = SynCookies::WhenFull;
    for (name, value) in settings {
        switches::set_text(&mut config, name, value).map_err(|e| e.to_string())?;
        if *name == "ack-throttle" && config.ack_throttle != AckThrottle::Empty {
            return Err(format!(
                "`{name}`: on real packets it is always `empty`, because two forged segments would \
                 start an endless exchange of ACKs; leave it out"
            ));
        }
    }
    switches::check(&config).map_err(|e| e.to_string())?;
    config.ack_throttle = AckThrottle::Empty;
    Ok(config)
}

/// Counters of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveStats {
    /// Counters of the stack.
    pub packets: StackCounters,
    /// CPU time of the driver's thread.
    pub cpu: Duration,
}

/// A host with lowtide's TCP; its driver runs until this is dropped. Connections open then are
/// reset; [`Self::shutdown`] lets them end.
pub struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    settings: LiveSettings,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Live({:?})", self.settings)
    }
}

/// A host whose device and files are open and whose thread is not started, so that the program can
/// drop privileges first.
#[derive(Debug)]
pub struct PreparedHost {
    stack: Stack,
    device: Device,
    settings: LiveSettings,
}

impl PreparedHost {
    /// Starts the driver.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(self) -> Result<Live, LiveError> {
        let Self { stack, device, settings } = self;
        let shared = Shared::new(stack, Clock::start())?;
        let thread = Some(driver::start(&shared, device, settings.unprivileged)?);
        Ok(Live { shared, thread, settings })
    }
}

impl Live {
    /// Opens the device of `plan` and starts its driver.
    ///
    /// # Errors
    /// Those of [`Device::open`], or the thread cannot be started.
    pub fn start(plan: &DevicePlan, mut settings: LiveSettings) -> Result<Self, LiveError> {
        let device = Device::open(plan)?;
        settings.networks.extend(plan.networks.iter().map(|s| (s.local, s.prefix)));
        Self::with_device(device, plan.networks.iter().map(|s| s.local).collect(), settings)
    }

    /// Starts the driver of an open device; `locals` are the addresses of this host.
    ///
    /// # Errors
    /// The thread cannot be started, or there is no random number.
    pub fn with_device(
        device: Device,
        locals: Vec<IpAddr>,
        settings: LiveSettings,
    ) -> Result<Self, LiveError> {
        Self::prepare(device, locals, settings)?.start()
    }

    /// Prepares a host without starting its driver.
    ///
    /// # Errors
    /// There is no random number.
    pub fn prepare(
        device: Device,
        locals: Vec<IpAddr>,
        settings: LiveSettings,
    ) -> Result<PreparedHost, LiveError> {
        let seed = match settings.seed {
            Some(seed) => seed,
            None => getrandom::u64().map_err(|e| {
                LiveError::system("draw a random number", io::Error::other(e.to_string()))
            })?,
        };
        let mut stack = Stack::new(Endpoint::new(seed), locals);
        stack.set_limits(StackLimits { memory: settings.memory, orphans: settings.orphans });
        stack.set_gso(device.supports_gso());
        stack.set_report_progress(device.has_neighbours());
        for (address, prefix) in &settings.networks {
            stack.add_network(*address, *prefix);
        }
        Ok(PreparedHost { stack, device, settings })
    }

    /// Listens on `port` of every address of this host; connections get `config`.
    ///
    /// # Errors
    /// The port is in use.
    pub fn listen(&self, port: u16, config: &Config) -> io::Result<Listener> {
        let mut state = self.shared.lock();
        let limits = (self.settings.half_open, self.settings.accept_backlog);
        state.stack.listen(port, config, limits)?;
        drop(state);
        Ok(Listener::new(Arc::clone(&self.shared), port))
    }

    /// Opens a connection and waits until it is established.
    ///
    /// # Errors
    /// Refused, no answer, no local address of that family, or no free port.
    pub fn connect(&self, remote: SocketAddr, config: &Config) -> io::Result<Stream> {
        let stream = self.begin_connect(remote, config)?;
        stream.finish_connect()?;
        Ok(stream)
    }

    /// Starts to open a connection. The stream is writable once it is established.
    ///
    /// # Errors
    /// No local address of that family, or no free port.
    pub fn begin_connect(&self, remote: SocketAddr, config: &Config) -> io::Result<Stream> {
        let mut state = self.shared.lock();
        let key = state.stack.connect(self.shared.clock.now(), remote, config)?;
        let acked = state.stack.acked_counter(key);
        self.shared.unlock(state);
        Ok(Stream::new(Arc::clone(&self.shared), key, acked))
    }

    /// Checks that the device still works.
    ///
    /// # Errors
    /// The error of the device.
    pub fn check(&self) -> io::Result<()> {
        self.shared.lock().stack.check()
    }

    /// Counters so far.
    pub fn stats(&self) -> LiveStats {
        let state = self.shared.lock();
        LiveStats { packets: state.stack.counters(), cpu: Duration::from_nanos(state.cpu_ns) }
    }

    /// Waits at most `linger` for closed connections to end, resets the others, and stops the
    /// driver.
    pub fn shutdown(mut self, linger: Duration) -> LiveStats {
        let step = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        while waited < linger && !self.shared.lock().stack.all_closed() {
            std::thread::sleep(step);
            waited += step;
        }
        self.end();
        self.stats()
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.lock().stack.abort_all();
        self.shared.stop();
        // The panic message of the driver has been printed already.
        let _ = thread.join();
        self.shared.lock().stack.fail("the host was shut down");
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}
