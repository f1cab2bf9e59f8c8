//! Drives the interface as packetdrill does: a server and a client, data in both directions,
//! closing, errors, the clock, and the output of `free`.

use std::ffi::{CString, c_int, c_void};
use std::net::Ipv4Addr;
use std::process::Command;

use libc::{sockaddr_in, socklen_t, timeval};
use lowtide_packetdrill_shim::interface::Interface;
use lowtide_packetdrill_shim::packetdrill_interface_init;
use lowtide_wire::{Addresses, Flags, Options, Segment, SeqNum, packet};

const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const PORT: u16 = 8080;
const PEER_PORT: u16 = 40_001;

struct Driver {
    table: Interface,
}

fn address(ip: Ipv4Addr, port: u16) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
        sin_zero: [0; 8],
    }
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().expect("errno is set")
}

const ADDRESS_LEN: socklen_t = size_of::<sockaddr_in>() as socklen_t;

impl Driver {
    fn new(flags: &str) -> Self {
        let flags = CString::new(flags).expect("no zero byte");
        let mut table = std::mem::MaybeUninit::<Interface>::uninit();
        // SAFETY: a C string, and room for one table, which is filled on return.
        let table = unsafe {
            packetdrill_interface_init(flags.as_ptr(), table.as_mut_ptr());
            table.assume_init()
        };
        Self { table }
    }

    fn ud(&self) -> *mut c_void {
        self.table.userdata
    }

    fn socket(&self) -> c_int {
        // SAFETY: the table's own userdata.
        unsafe { (self.table.socket)(self.ud(), libc::AF_INET, libc::SOCK_STREAM, 0) }
    }

    fn nonblocking(&self, fd: c_int) {
        let flags = i64::from(libc::O_RDWR | libc::O_NONBLOCK);
        // SAFETY: the table's own userdata.
        assert_eq!(unsafe { (self.table.fcntl)(self.ud(), fd, libc::F_SETFL, flags) }, 0);
    }

    fn server(&self) -> c_int {
        let fd = self.socket();
        let at = address(LOCAL, PORT);
        // SAFETY: the table's own userdata; the address lives through the call.
        unsafe {
            assert_eq!((self.table.bind)(self.ud(), fd, (&raw const at).cast(), ADDRESS_LEN), 0);
            assert_eq!((self.table.listen)(self.ud(), fd, 1), 0);
        }
        fd
    }

    fn accept(&self, fd: c_int) -> (c_int, u32, u16) {
        let mut peer = address(Ipv4Addr::UNSPECIFIED, 0);
        let mut len = ADDRESS_LEN;
        // SAFETY: the table's own userdata; address and length live through the call.
        let accepted =
            unsafe { (self.table.accept)(self.ud(), fd, (&raw mut peer).cast(), &raw mut len) };
        assert!(accepted < 0 || len == ADDRESS_LEN);
        (accepted, u32::from_be(peer.sin_addr.s_addr), u16::from_be(peer.sin_port))
    }

    fn write(&self, fd: c_int, bytes: &[u8]) -> isize {
        // SAFETY: the table's own userdata; the bytes live through the call.
        unsafe { (self.table.write)(self.ud(), fd, bytes.as_ptr().cast(), bytes.len()) }
    }

    fn read(&self, fd: c_int, most: usize) -> Result<Vec<u8>, c_int> {
        let mut bytes = vec![0; most];
        // SAFETY: the table's own userdata; the buffer has as much room as is stated.
        let n = unsafe { (self.table.read)(self.ud(), fd, bytes.as_mut_ptr().cast(), most) };
        if n < 0 {
            return Err(errno());
        }
        bytes.truncate(n as usize);
        Ok(bytes)
    }

    fn close(&self, fd: c_int) -> c_int {
        // SAFETY: the table's own userdata.
        unsafe { (self.table.close)(self.ud(), fd) }
    }

    fn option(&self, fd: c_int, level: c_int, name: c_int) -> Result<c_int, c_int> {
        let (mut value, mut len) = (-1_i32, 4);
        // SAFETY: the table's own userdata; value and length live through the call.
        let result = unsafe {
            let value = (&raw mut value).cast();
            (self.table.getsockopt)(self.ud(), fd, level, name, value, &raw mut len)
        };
        if result == 0 { Ok(value) } else { Err(errno()) }
    }

    fn inject(&self, segment: &Segment, payload: &[u8]) {
        let segment = Segment {
            src_port: PEER_PORT,
            dst_port: if segment.dst_port == 0 { PORT } else { segment.dst_port },
            payload_len: payload.len() as u32,
            window: 60_000,
            ..*segment
        };
        let addresses = Addresses::V4 { src: REMOTE, dst: LOCAL };
        let mut bytes = vec![0; packet::MAX_HEADERS_LEN + payload.len()];
        let len = packet::emit(&addresses, &segment, payload, &mut bytes).expect("a packet");
        // SAFETY: the table's own userdata; the bytes live through the call.
        let sent = unsafe { (self.table.netdev_send)(self.ud(), bytes.as_ptr().cast(), len) };
        assert_eq!(sent, 0);
    }

    /// Time in microseconds, the segment and its payload; `None` if none was sent.
    fn receive(&self) -> Option<(i64, Segment, Vec<u8>)> {
        let mut bytes = vec![0_u8; 2000];
        let (mut len, mut at) = (bytes.len(), 0);
        // SAFETY: the table's own userdata; the buffer has as much room as is stated.
        let result = unsafe {
            let to = bytes.as_mut_ptr().cast();
            (self.table.netdev_receive)(self.ud(), to, &raw mut len, &raw mut at)
        };
        assert_eq!(result, 0);
        let (_, segment, payload) = packet::parse(&bytes[..len]).ok()?;
        Some((at, segment, bytes[payload].to_vec()))
    }

    fn clock(&self) -> i64 {
        let mut now = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the table's own userdata; the time lives through the call.
        let result =
            unsafe { (self.table.gettimeofday)(self.ud(), &raw mut now, std::ptr::null_mut()) };
        assert_eq!(result, 0);
        now.tv_sec * 1_000_000 + now.tv_usec
    }

    fn sleep(&self, us: u32) {
        // SAFETY: the table's own userdata.
        assert_eq!(unsafe { (self.table.usleep)(self.ud(), us) }, 0);
    }

    fn free(self) {
        // SAFETY: the table's own userdata, once.
        unsafe { (self.table.free)(self.ud()) }
    }

    /// Accepts a connection from a peer whose ISN is 1000; returns the descriptor and the host's
    /// ISN.
    fn established(&self) -> (c_int, SeqNum) {
        let listener = self.server();
        self.nonblocking(listener);
        let syn = Segment {
            seq: SeqNum::new(1000),
            flags: Flags::SYN,
            options: Options { mss: Some(1000), ..Options::default() },
            ..Segment::default()
        };
        self.inject(&syn, &[]);
        let (_, answer, _) = self.receive().expect("a SYN-ACK");
        assert_eq!((answer.flags, answer.ack), (Flags::SYN | Flags::ACK, SeqNum::new(1001)));
        assert_eq!(self.accept(listener).0, -1);
        assert_eq!(errno(), libc::EAGAIN);
        self.inject(&ack(1001, answer.seq.add(1)), &[]);
        let (fd, ip, port) = self.accept(listener);
        assert_eq!((fd, ip, port), (4, u32::from(REMOTE), PEER_PORT), "the peer's real address");
        (fd, answer.seq)
    }
}

fn ack(seq: u32, ack: SeqNum) -> Segment {
    Segment { seq: SeqNum::new(seq), ack, flags: Flags::ACK, ..Segment::default() }
}

#[test]
fn a_server_moves_bytes_both_ways_and_closes() {
    let driver = Driver::new("profile=linux ts=0 delack=40ms");
    let (fd, isn) = driver.established();
    driver.nonblocking(fd);

    assert_eq!(driver.write(fd, b"hello"), 5);
    let (_, data, payload) = driver.receive().expect("data");
    assert_eq!((data.seq, payload.as_slice()), (isn.add(1), b"hello".as_slice()));
    assert_eq!(driver.read(fd, 10), Err(libc::EAGAIN));

    driver.inject(&ack(1001, isn.add(6)), b"good day");
    let before = driver.clock();
    let (at, delayed, _) = driver.receive().expect("a delayed ACK");
    assert_eq!(delayed.ack, SeqNum::new(1009));
    assert_eq!(at - before, 40_000 - 1, "virtual time advanced from the clock read to the timer");
    assert_eq!(driver.clock(), at + 1, "the clock is at the packet's send time");
    assert_eq!(driver.read(fd, 4), Ok(b"good".to_vec()));
    assert_eq!(driver.read(fd, 10), Ok(b" day".to_vec()));

    assert_eq!(driver.close(fd), 0);
    let (_, fin, _) = driver.receive().expect("a FIN");
    assert_eq!((fin.flags, fin.seq), (Flags::FIN | Flags::ACK, isn.add(6)));
    let both = Segment { flags: Flags::FIN | Flags::ACK, ..ack(1009, isn.add(7)) };
    driver.inject(&both, &[]);
    let (_, last, _) = driver.receive().expect("the last ACK");
    assert_eq!(last.ack, SeqNum::new(1010));
    assert_eq!(driver.read(fd, 1), Err(libc::EBADF));
    driver.free();
}

#[test]
fn a_client_connects_and_is_refused_by_rst() {
    let driver = Driver::new("profile=linux ts=0");
    let fd = driver.socket();
    driver.nonblocking(fd);
    let to = address(REMOTE, PEER_PORT);
    // SAFETY: the table's own userdata; the address lives through the call.
    let connected =
        unsafe { (driver.table.connect)(driver.ud(), fd, (&raw const to).cast(), ADDRESS_LEN) };
    assert_eq!((connected, errno()), (-1, libc::EINPROGRESS));
    let (_, syn, _) = driver.receive().expect("a SYN");
    assert_eq!(driver.option(fd, libc::SOL_SOCKET, libc::SO_ERROR), Ok(0));
    let refusal = Segment {
        dst_port: syn.src_port,
        flags: Flags::RST | Flags::ACK,
        ack: syn.seq.add(1),
        ..Segment::default()
    };
    driver.inject(&refusal, &[]);
    assert_eq!(driver.option(fd, libc::SOL_SOCKET, libc::SO_ERROR), Ok(libc::ECONNREFUSED));
    assert_eq!(driver.option(fd, libc::SOL_SOCKET, libc::SO_ERROR), Ok(0), "told once");
    assert_eq!(driver.write(fd, b"x"), -1);
    assert_eq!(errno(), libc::EPIPE);
    driver.free();
}

#[test]
fn every_clock_read_advances_time_and_fires_timers() {
    let driver = Driver::new("profile=linux ts=0 rto=1s strict=0");
    let a = driver.clock();
    assert_eq!(driver.clock(), a + 1);
    driver.sleep(500);
    assert_eq!(driver.clock(), a + 502);

    let (fd, _) = driver.established();
    let written = driver.clock();
    assert_eq!(driver.write(fd, b"x"), 1);
    let (first, ..) = driver.receive().expect("data");
    assert_eq!(first, written);
    driver.sleep(60_000_000);
    // Retransmissions were queued, each with its send time.
    let (second, ..) = driver.receive().expect("the first retransmission");
    let (third, ..) = driver.receive().expect("the second one");
    assert!(second - first >= 200_000 && second < driver.clock() - 50_000_000);
    assert_eq!(third - second, 2 * (second - first), "RFC 6298 §5.5");
    driver.free();
}

#[test]
fn nothing_to_send_ends_the_wait() {
    let driver = Driver::new("profile=rfc");
    let before = driver.clock();
    assert!(driver.receive().is_none());
    assert!(driver.clock() <= before + 75_000_000 + 2);
    driver.free();
}

#[test]
fn blocking_and_unimplemented_calls_fail() {
    let driver = Driver::new("profile=linux");
    let listener = driver.server();
    assert_eq!(driver.accept(listener).0, -1);
    assert_eq!(errno(), libc::EOPNOTSUPP);
    assert_eq!(driver.option(listener, libc::IPPROTO_TCP, libc::TCP_INFO), Err(libc::ENOPROTOOPT));
    // SAFETY: the table's own userdata.
    unsafe {
        assert_eq!((driver.table.epoll_create)(driver.ud(), 1), -1);
        assert_eq!(errno(), libc::ENOSYS);
        let udp = (driver.table.socket)(driver.ud(), libc::AF_INET, libc::SOCK_DGRAM, 0);
        assert_eq!((udp, errno()), (-1, libc::EPROTONOSUPPORT));
        assert_eq!((driver.table.shutdown)(driver.ud(), listener, 7), -1);
        assert_eq!(errno(), libc::EINVAL);
        let rubbish = [0x45_u8, 0, 0];
        assert_eq!((driver.table.netdev_send)(driver.ud(), rubbish.as_ptr().cast(), 3), 0);
    }
    assert_eq!(driver.close(99), -1);
    assert_eq!(errno(), libc::EBADF);
    driver.free();
}

/// Helper process of the tests below: it leaves a packet unfetched or reads wrong settings, and
/// aborts.
#[test]
#[ignore = "run by the tests below, in a separate process"]
fn child() {
    let driver = Driver::new(&std::env::var("LOWTIDE_CHILD").expect("the settings"));
    let syn = Segment { seq: SeqNum::new(1000), flags: Flags::SYN, ..Segment::default() };
    driver.inject(&syn, &[]);
    driver.free();
}

/// Helper process of the tests below: an RST arrives on a connection with a gap, in the window but
/// not at RCV.NXT, so that the host sends a challenge ACK (RFC 5961 §3.2).
#[test]
#[ignore = "run by the tests below, in a separate process"]
fn resets() {
    let driver = Driver::new("profile=linux ts=0");
    let (_, isn) = driver.established();
    let reset = Segment { flags: Flags::RST | Flags::ACK, ..ack(1506, isn.add(1)) };
    driver.inject(&ack(1501, isn.add(1)), b"later");
    driver.receive().expect("a duplicate ACK");
    for step in std::env::var("LOWTIDE_CHILD").expect("the steps").split(' ') {
        match step {
            "reset" => driver.inject(&reset, &[]),
            "clock" => drop(driver.clock()),
            "data" => driver.inject(&ack(1506, isn.add(1)), b"more"),
            other => panic!("{other}"),
        }
    }
    driver.free();
}

/// Exit status of the child, and its stderr.
fn run_child(flags: &str) -> (Option<i32>, String) {
    run("child", flags)
}

fn run(child: &str, flags: &str) -> (Option<i32>, String) {
    let this = std::env::current_exe().expect("this program");
    let output = Command::new(this)
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env("LOWTIDE_CHILD", flags)
        .output()
        .expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn digest(stderr: &str) -> &str {
    stderr.lines().find(|l| l.starts_with("lowtide: packets ")).expect("a digest")
}

#[test]
fn an_unexpected_packet_aborts_the_process() {
    let (status, stderr) = run_child("profile=linux");
    assert_eq!(status, None, "ended by a signal: {stderr}");
    assert!(stderr.contains("a packet that no line expects"), "{stderr}");
    assert!(stderr.contains("> [noecn] R. 0:0(0) ack 1001"), "{stderr}");
    let (lax, lax_stderr) = run_child("profile=linux strict=0");
    assert_eq!(lax, Some(0), "{lax_stderr}");
    assert_eq!(digest(&stderr), digest(&lax_stderr), "the same packets at the same times");
}

/// packetdrill ends each connection by an RST, then neither reads the clock nor fetches packets.
#[test]
fn only_challenge_acks_to_the_closing_rst_are_ignored() {
    for (steps, surplus) in [
        ("reset", 0),
        // An RST of the script: packetdrill reads its clock before the next event.
        ("reset clock", 1),
        // The script's last line is an RST: packetdrill's own follows.
        ("reset reset", 1),
        ("data reset", 1),
        ("reset data", 2),
        ("data clock reset", 1),
    ] {
        let (status, stderr) = run("resets", steps);
        let found = stderr.matches("a packet that no line expects").count();
        assert_eq!((found, status.is_none()), (surplus, surplus > 0), "{steps}: {stderr}");
    }
}

#[test]
fn wrong_settings_end_the_process_with_their_name() {
    let (status, stderr) = run_child("profile=solaris");
    assert_eq!(status, Some(2));
    assert!(stderr.contains("there is no profile `solaris`"), "{stderr}");
}
