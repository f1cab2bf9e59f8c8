//! A host on real packets.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lowtide_tcp::{AckThrottle, Config, SynCookies, profile, scheme, switches};

use super::{Listener, Stream};
use crate::clock::Clock;
use crate::device::{Device, DevicePlan};
use crate::driver::{self, Shared};
use crate::error::LiveError;
use crate::record_replay::RecordedEndpoint;
use crate::stack::{Stack, StackCounters, StackLimits};

/// What a host is made with beside its device.
#[derive(Clone, Debug)]
pub struct LiveSettings {
    /// The most connections of one listener that are not established yet; further SYNs are answered with cookies, or
    /// dropped where their configuration has `syn-cookies` off.
    pub half_open: usize,
    /// The most established ones that wait to be accepted; further ones are reset.
    pub accept_backlog: usize,
    /// The most memory that all connections may use together, bytes: their state, payload that waits to be
    /// acknowledged or read, data beyond gaps. Above half of it each connection is held to its share.
    pub memory: usize,
    /// The most connections that no application holds and that have not ended; beyond them the oldest is
    /// reset.
    pub orphans: usize,
    /// Initial sequence numbers, ports and timestamps follow from it; drawn from the system without it.
    pub seed: Option<u64>,
    /// The networks that this host is in, each as an address and how many of its bits count: their broadcast addresses
    /// are answered to nobody. [`Live::start`] adds those of its plan.
    pub networks: Vec<(IpAddr, u8)>,
    /// The driver's thread gives up all capabilities that it has ([`crate::privileges`]). A process that does so must
    /// not change its user later: the C library ends it when threads disagree.
    pub unprivileged: bool,
    /// Where every call into the transport is recorded.
    pub record_path: Option<PathBuf>,
}

impl Default for LiveSettings {
    /// As Linux: 4096 (`net.ipv4.tcp_max_syn_backlog`, `net.core.somaxconn`); 64 MiB of memory and 1024
    /// orphans.
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
            record_path: None,
        }
    }
}

/// A configuration by names: a profile, over it a scheme, over it single switches (`cc=dctcp`). Whatever the
/// profile says, `ack-throttle` is `empty`, as it is for every connection on real packets.
/// SYN cookies are on unless a switch says `syn-cookies=off`.
///
/// # Errors
/// A name that there is not, or a value that a switch does not take: what is accepted.
pub fn config(
    profile_name: &str,
    scheme_name: Option<&str>,
    settings: &[(&str, &str)],
) -> Result<Config, String> {
    let names = |all: Vec<&str>| all.join(", ");
    let profile = profile::find_profile(profile_name).ok_or_else(|| {
        let all = profile::PROFILES.iter().map(|p| p.name).collect();
        format!("no profile is called `{profile_name}`; there are {}", names(all))
    })?;
    let mut config = profile.config().map_err(|e| e.to_string())?;
    if let Some(name) = scheme_name {
        let scheme = scheme::find_scheme(name).ok_or_else(|| {
            let all = scheme::SCHEMES.iter().map(|s| s.name).collect();
            format!("no scheme is called `{name}`; there are {}", names(all))
        })?;
        scheme::apply(scheme, &mut config).map_err(|e| e.to_string())?;
    }
    config.syn_cookies = SynCookies::WhenFull;
    for (name, value) in settings {
        switches::set_text(&mut config, name, value).map_err(|e| e.to_string())?;
        if *name == "ack-throttle" && config.ack_throttle != AckThrottle::Empty {
            return Err(format!(
                "`{name}`: on real packets it is always `empty`, because two forged segments would \
                 make both ends answer each other for ever; leave it out"
            ));
        }
    }
    config.ack_throttle = AckThrottle::Empty;
    Ok(config)
}

/// What the driver did so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveStats {
    /// What happened to packets.
    pub packets: StackCounters,
    /// Processor time of the driver's thread.
    pub cpu: Duration,
}

/// A host of its own with lowtide's TCP: its driver runs until this is dropped. Connections that are open then
/// are reset; [`Self::shutdown`] lets them end.
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

/// A host with its device and files open, whose thread is not started yet: in between a program may give up privileges.
#[derive(Debug)]
pub struct PreparedHost {
    stack: Stack,
    device: Device,
    settings: LiveSettings,
}

impl PreparedHost {
    /// Drives it.
    ///
    /// # Errors
    /// No thread.
    pub fn start(self) -> Result<Live, LiveError> {
        let Self { stack, device, settings } = self;
        let shared = Shared::new(stack, Clock::start())?;
        let thread = Some(driver::start(&shared, device, settings.unprivileged)?);
        Ok(Live { shared, thread, settings })
    }
}

impl Live {
    /// Makes the device of `plan` and drives it.
    ///
    /// # Errors
    /// As [`Device::open`], and a tape that cannot be written.
    pub fn start(plan: &DevicePlan, mut settings: LiveSettings) -> Result<Self, LiveError> {
        let device = Device::open(plan)?;
        settings.networks.extend(plan.networks.iter().map(|s| (s.local, s.prefix)));
        Self::with_device(device, plan.networks.iter().map(|s| s.local).collect(), settings)
    }

    /// Drives a device that is there already; `locals` are the addresses of this host.
    ///
    /// # Errors
    /// A tape that cannot be written, no thread.
    pub fn with_device(
        device: Device,
        locals: Vec<IpAddr>,
        settings: LiveSettings,
    ) -> Result<Self, LiveError> {
        Self::prepare(device, locals, settings)?.start()
    }

    /// The same in two steps.
    ///
    /// # Errors
    /// A tape that cannot be written.
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
        let tape = match &settings.record_path {
            None => None,
            Some(path) => {
                let file = File::create(path)
                    .map_err(|e| LiveError::system(format!("write {}", path.display()), e))?;
                Some(Box::new(BufWriter::with_capacity(1 << 20, file)) as Box<_>)
            }
        };
        let mut stack = Stack::new(RecordedEndpoint::new(seed, tape), locals);
        stack.set_limits(StackLimits { memory: settings.memory, orphans: settings.orphans });
        stack.set_gso(device.supports_gso());
        for (address, prefix) in &settings.networks {
            stack.add_network(*address, *prefix);
        }
        Ok(PreparedHost { stack, device, settings })
    }

    /// Accepts connections to `port` on every address of this host; they get `config`.
    ///
    /// # Errors
    /// Somebody listens there already.
    pub fn listen(&self, port: u16, config: &Config) -> io::Result<Listener> {
        let mut state = self.shared.lock();
        let limits = (self.settings.half_open, self.settings.accept_backlog);
        state.stack.listen(self.shared.clock.now(), port, config, limits)?;
        drop(state);
        Ok(Listener::new(Arc::clone(&self.shared), port))
    }

    /// Opens a connection and waits until it is there.
    ///
    /// # Errors
    /// Refused, no answer, no address of that family, no free port.
    pub fn connect(&self, remote: SocketAddr, config: &Config) -> io::Result<Stream> {
        let stream = self.begin_connect(remote, config)?;
        stream.finish_connect()?;
        Ok(stream)
    }

    /// Begins to open a connection: it is there when the stream is writable.
    ///
    /// # Errors
    /// No address of that family, no free port.
    pub fn begin_connect(&self, remote: SocketAddr, config: &Config) -> io::Result<Stream> {
        let mut state = self.shared.lock();
        let key = state.stack.connect(self.shared.clock.now(), remote, config)?;
        self.shared.unlock(state);
        Ok(Stream::new(Arc::clone(&self.shared), key))
    }

    /// Whether the device is there still.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self) -> io::Result<()> {
        self.shared.lock().stack.check()
    }

    /// What the driver did so far.
    pub fn stats(&self) -> LiveStats {
        let state = self.shared.lock();
        LiveStats { packets: state.stack.counters(), cpu: Duration::from_nanos(state.cpu_ns) }
    }

    /// Lets connections that applications have closed end, for at most `linger`, resets the others, and ends.
    ///
    /// # Errors
    /// The tape could not be written to its end.
    pub fn shutdown(mut self, linger: Duration) -> io::Result<LiveStats> {
        let step = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        while waited < linger && !self.shared.lock().stack.all_closed() {
            std::thread::sleep(step);
            waited += step;
        }
        self.end();
        let error = self.shared.lock().stack.recording_error();
        error.map_or_else(|| Ok(self.stats()), Err)
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.lock().stack.abort_all(self.shared.clock.now());
        self.shared.stop();
        // A panic of the driver has been printed; there is nothing more to say here.
        let _ = thread.join();
        self.shared.lock().stack.fail("the host was shut down");
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}
