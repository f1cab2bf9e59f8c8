//! A namespace with a TUN interface: lowtide at one end, the kernel at the other.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;

use lowtide_live::load::{Load, LoadReport, Pipe, StreamReport, Way, transfer};
use lowtide_live::{DevicePlan, Live, Settings, Side, config, netns};
use lowtide_tcp::Config;

pub(crate) const V4: &str = "10.77.0.2/24";
pub(crate) const V6: &str = "fd77::2/64";
pub(crate) const PORT: u16 = 5201;

/// One end is lowtide's, the other the kernel's.
pub(crate) struct World {
    pub(crate) live: Live,
}

/// Runs `test` in a namespace of its own, or says why not.
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if let Err(why) = netns::enter_new() {
            eprintln!("skipped: {why}");
            return;
        }
        if !std::path::Path::new("/dev/net/tun").exists() {
            eprintln!("skipped: there is no /dev/net/tun");
            return;
        }
        assert!(!netns::is_the_machines());
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) fn plan(name: &str, sides: &[&str]) -> DevicePlan {
    let sides = sides.iter().map(|s| Side::parse(s).unwrap()).collect();
    DevicePlan::parse(name, 1500, sides).unwrap()
}

pub(crate) fn settings(set: &[(&str, &str)]) -> Config {
    config("linux", None, set).unwrap()
}

/// The kernel's address.
pub(crate) fn kernel_at(v6: bool) -> IpAddr {
    Side::parse(if v6 { V6 } else { V4 }).unwrap().kernels
}

/// Ours.
pub(crate) fn ours_at(v6: bool) -> IpAddr {
    Side::parse(if v6 { V6 } else { V4 }).unwrap().ours
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let live = Live::start(&plan("tun:lt0", &[V4, V6]), settings).unwrap();
        Self { live }
    }

    /// No connection is left; the last ones may still be on their way out.
    pub(crate) fn assert_empty(&self) {
        let left = || self.live.stats().packets.connections;
        for _ in 0..100 {
            if left() == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} connections are left", left());
    }

    /// We connect to the kernel.
    pub(crate) fn to_kernel(
        &self,
        v6: bool,
        config: &Config,
        load: &Load,
    ) -> (LoadReport, Vec<StreamReport>) {
        let listener = TcpListener::bind((kernel_at(v6), PORT)).unwrap();
        let to = SocketAddr::new(kernel_at(v6), PORT);
        let open = || -> io::Result<Arc<dyn Pipe>> { Ok(Arc::new(self.live.connect(to, config)?)) };
        transfer(&listener, &open, load).unwrap()
    }

    /// The kernel connects to us.
    pub(crate) fn serve_kernel(
        &self,
        v6: bool,
        config: &Config,
        load: &Load,
    ) -> (LoadReport, Vec<StreamReport>) {
        let listener = self.live.listen(PORT, config).unwrap();
        let to = SocketAddr::new(ours_at(v6), PORT);
        let open = || -> io::Result<Arc<dyn Pipe>> { Ok(Arc::new(TcpStream::connect(to)?)) };
        transfer(&listener, &open, load).unwrap()
    }
}

/// So many bytes over one connection.
pub(crate) fn bytes(way: Way, n: u64) -> Load {
    Load {
        parallel: 1,
        way,
        amount: lowtide_live::load::Amount::Bytes(n),
        piece: 64 << 10,
        interval: lowtide_units::Duration::ZERO,
        seed: 42,
    }
}

/// Both ends saw the same bytes, and as many as were to be sent.
pub(crate) fn assert_good(what: &str, (report, served): &(LoadReport, Vec<StreamReport>), n: u64) {
    assert!(report.is_good(), "{what}: {:#?}\n{served:#?}", report.streams);
    assert_eq!(report.bytes(), n, "{what}");
    assert!(served.iter().all(|s| s.error.is_none()), "{what}: {served:#?}");
}

/// Runs `ip`; false, and says so, where there is none.
pub(crate) fn ip(args: &[&str]) -> bool {
    match Command::new("ip").args(args).status() {
        Ok(status) => {
            assert!(status.success(), "ip {args:?}");
            true
        }
        Err(why) => {
            eprintln!("skipped: no `ip`: {why}");
            false
        }
    }
}
