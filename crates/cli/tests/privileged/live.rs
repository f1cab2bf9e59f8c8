//! `lowtide live` as a process.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use lowtide_live::load::{Amount, TransferDirection};
use lowtide_live::load::{DataDigest, Digest, Pattern, TransferRequest};
use lowtide_live::netns;
use serde_json::Value;

pub(crate) fn lowtide(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(args).output().expect("the command starts")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn invalid_arguments_are_rejected_with_help() {
    for (args, why) in [
        (&["client"] as &[&str], "needs the address of its server"),
        (&["client", "10.0.0.1", "--netns", "new"], "no peer can reach"),
        (&["client", "--peer", "kernel", "--device", "xdp:eth0"], "AF_XDP"),
        (&["client", "--peer", "kernel", "--device", "eth0"], "write `tun:NAME`"),
        (
            &["client", "--peer", "kernel", "--device", "packet:eth0"],
            "`packet:NAME` finds no interface",
        ),
        (&["client", "10.77.0.1", "--device", "xdp:eth0"], "use `packet:NAME`"),
        (&["client", "--peer", "kernel", "--addr", "10.0.0.1"], "with a prefix"),
        (&["client", "--peer", "kernel", "--kernel-addr", "9.9.9.9"], "none of the networks"),
        (&["client", "--peer", "kernel", "--scheme", "dctpc"], "did you mean `dctcp`"),
        (&["client", "--peer", "kernel", "-s", "cc"], "SWITCH=VALUE"),
        (&["client", "--peer", "kernel", "-C", "cubix"], "expected one of bbr1, bbr3, cubic"),
        (&["client", "--peer", "kernel", "-n", "0"], "expected bytes"),
        (&["server", "--max-connections", "0"], "1..=100000"),
        (&["server", "--memory", "3"], "expected 1M to 1024G"),
        (&["proxy"], "ROUTE"),
        (&["proxy", "80=10.0.0.1:80"], "kernel:ADDRESS:PORT=ADDRESS:PORT"),
        (&["proxy", "lowtide:80=10.0.0.1:80", "--netns", "new"], "ip netns add"),
    ] {
        let output = lowtide(&[&["live"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{args:?}: {}", stderr(&output));
    }
}

pub(crate) fn the_machines_own_namespace_is_refused() {
    if netns::in_host_namespace() {
        let output = lowtide(&["live", "server"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("the machine's own network namespace"));
    }
    let interfaces = fs::read_to_string("/proc/self/net/dev").unwrap();
    assert!(!interfaces.contains("lt0:"), "{interfaces}");
}

pub(crate) fn transfers_are_reported() {
    for (role, way) in [("client", "up"), ("server", "up"), ("client", "down"), ("server", "down")]
    {
        let mut args = vec!["live", role, "--peer", "kernel", "-n", "2M", "-P", "2", "-J"];
        args.extend(["--scheme", "dctcp", "-i", "0.05", "--kernel-ecn", "on"]);
        if way == "down" {
            args.push("-R");
        }
        let output = lowtide(&args);
        assert!(output.status.success(), "{role} {way}: {}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["schema"], "lowtide.live/2");
        assert_eq!(result["kernel"], serde_json::json!(["reno", "1"]));
        assert_eq!((&result["direction"], &result["checksums_agree"]), (&way.into(), &true.into()));
        assert_eq!(result["bytes"], 2 * (2 << 20));
        let ours = if role == "client" { &result["streams"] } else { &result["served"] };
        assert_eq!(ours.as_array().unwrap().len(), 2);
        // A SYN-ACK with ECT is accepted. A kernel without DCTCP refuses ECN to a SYN with ECT; the
        // congestion control is then NewReno.
        let (ecn, cc) = if role == "client" { ("Off", "newreno") } else { ("Classic", "dctcp") };
        for stream in ours.as_array().unwrap() {
            let transport = &stream["transport"];
            assert_eq!(transport["cc"], cc, "{role} {way}");
            assert_eq!(transport["ecn"], ecn, "{role} {way}");
            let sends = (role == "client") == (way == "up");
            assert_eq!(transport["data_segs_out"].as_u64().unwrap() > 1400, sends, "{transport}");
        }
        // Each connection has our transport, at whichever end it is.
        for stream in result["streams"].as_array().unwrap() {
            assert_eq!(stream["transport"]["cc"], cc, "{role} {way}");
        }
        let samples = || {
            let intervals = result["intervals"].as_array().unwrap().iter();
            intervals.flat_map(|i| i["streams"].as_array().unwrap())
        };
        // Intervals show our end, whichever end opened the connections.
        assert!(samples().any(|s| s["transport"]["cc"] == cc), "{result}");
        let moved: u64 = result["intervals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["bytes"].as_u64().unwrap())
            .sum();
        assert_eq!(moved, 2 * (2 << 20), "the intervals add up");
    }
}

pub(crate) fn what_was_requested_and_did_not_run_is_named() {
    let text = |args: &[&str]| {
        let all = [&["live", "client", "--peer", "kernel", "-n", "100K"], args].concat();
        let output = lowtide(&all);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = "! 2 connections: ECN was not negotiated, and `newreno` ran in place of `dctcp`";
    assert!(text(&["--scheme", "dctcp", "-P", "2"]).contains(refused));
    assert!(text(&["--scheme", "dx"]).contains("! 1 connection: `newreno` ran in place of `dx`"));
    assert!(!text(&["--scheme", "dctcp", "-s", "ect=data", "--kernel-ecn", "on"]).contains('!'));
    assert!(!text(&[]).contains('!'));
}

/// The kernel decides which values of `tcp_ecn` it has.
pub(crate) fn a_value_of_ecn_that_the_kernel_lacks_is_refused() {
    let output =
        lowtide(&["live", "client", "--peer", "kernel", "--kernel-ecn", "accecn", "-n", "100K"]);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if output.status.success() {
        return;
    }
    assert_eq!(output.status.code(), Some(2));
    let said = format!("Linux {} refuses net.ipv4.tcp_ecn = 3", release.trim());
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
}

/// A command that is killed during a transfer leaves nothing: its namespace ends with it.
pub(crate) fn a_process_that_is_killed_leaves_nothing_behind() {
    let namespaces = |pid: u32| fs::metadata(format!("/proc/{pid}/ns/net"));
    let before = fs::read_to_string("/proc/self/net/dev").unwrap().lines().count();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["live", "client", "--peer", "kernel", "-t", "60", "-i", "0.1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("Mbit/s"), "the transfer runs: {line}");
    assert!(namespaces(child.id()).is_ok());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Path::new(&format!("/proc/{}", child.id())).exists());
    let after = fs::read_to_string("/proc/self/net/dev").unwrap().lines().count();
    assert_eq!(before, after, "no interface is left");
    // Its names and addresses are free.
    let output = lowtide(&["live", "client", "--peer", "kernel", "-n", "100K"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Starts our server in the namespace of this thread.
fn server() -> Child {
    server_with(&[])
}

fn server_with(args: &[&str]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["live", "server", "--netns", "here"])
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    said.read_line(&mut line).expect("text");
    assert!(line.contains("listening on 10.77.0.2"), "{line}");
    child
}

/// Sends `n` bytes from the kernel to our server, which confirms them.
fn transfer(mut stream: &TcpStream, n: u64) {
    let request = TransferRequest {
        direction: TransferDirection::Up,
        amount: Amount::Bytes(n),
        seed: 3,
        write_size: 1,
    };
    stream.write_all(&request.to_bytes()).expect("it is open");
    let (pattern, mut digest) = (Pattern::new(3), Digest::default());
    while digest.len() < n {
        let piece = pattern.at(digest.len(), (n - digest.len()) as usize);
        stream.write_all(piece).expect("it is open");
        digest.update(piece);
    }
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut verdict = [0; DataDigest::LEN];
    stream.read_exact(&mut verdict).expect("a verdict");
    assert_eq!(DataDigest::from_bytes(verdict), DataDigest { bytes: n, digest: digest.value() });
}

/// After a host is killed during a connection, a new host at its address resets the peer.
#[expect(clippy::disallowed_methods, reason = "a namespace belongs to a thread")]
pub(crate) fn a_host_that_was_killed_can_come_back_at_once() {
    let test = std::thread::spawn(|| {
        netns::enter_new().unwrap();
        let to: SocketAddr = "10.77.0.2:5201".parse().unwrap();
        let mut first = server();
        transfer(&TcpStream::connect(to).unwrap(), 300_000);
        let mut halfway = TcpStream::connect(to).unwrap();
        halfway.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        halfway.write_all(&[0; 20]).unwrap();
        first.kill().unwrap();
        first.wait().unwrap();

        let mut second = server();
        let reset = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            halfway.write_all(&[0; 100]).err()
        });
        let kind = reset.expect("the old connection ends").kind();
        assert_eq!(kind, ErrorKind::ConnectionReset);
        transfer(&TcpStream::connect(to).unwrap(), 300_000);
        second.kill().unwrap();
        second.wait().unwrap();
    });
    test.join().unwrap();
}

/// Silent clients in the middle of a request: one is reset for the next; SIGTERM ends the server.
#[expect(clippy::disallowed_methods, reason = "a namespace belongs to a thread")]
pub(crate) fn silent_clients_are_reset_for_new_ones_and_do_not_block_sigterm() {
    let test = std::thread::spawn(|| {
        netns::enter_new().unwrap();
        let to: SocketAddr = "10.77.0.2:5201".parse().unwrap();
        let mut server = server_with(&["--max-connections", "2"]);
        let connect = || {
            // The reset may arrive before the call returns.
            let stream = TcpStream::connect(to).ok()?;
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            Some(stream)
        };
        // Connections without data do not count.
        let _without_data = [connect(), connect(), connect()];
        let three = [connect(), connect(), connect()];
        for mut stream in three.iter().flatten() {
            let _ = stream.write_all(b"lowtide2");
        }
        // One of them is reset: the last, or the one that was silent longest.
        let is_reset = |stream: &Option<TcpStream>| {
            let Some(mut stream) = stream.as_ref() else { return true };
            let kind = stream.read(&mut [0]).unwrap_err().kind();
            assert!(kind == ErrorKind::ConnectionReset || kind == ErrorKind::WouldBlock, "{kind}");
            kind == ErrorKind::ConnectionReset
        };
        let resets = (0..100).find_map(|_| {
            let resets: Vec<bool> = three.iter().map(is_reset).collect();
            resets.contains(&true).then_some(resets)
        });
        assert_eq!(resets.unwrap().iter().filter(|reset| **reset).count(), 1);
        // A new client is served once the others have been silent long enough.
        let served = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            let next = connect();
            let waits = !is_reset(&next);
            if let Some(next) = next.filter(|_| waits) {
                next.set_read_timeout(None).unwrap();
                transfer(&next, 100_000);
            }
            waits
        });
        assert!(served, "silent clients block others");
        let _silent = [connect(), connect()];
        let pid = server.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let ended = (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            server.try_wait().unwrap()
        });
        let ended = ended.expect("a silent client blocks the end");
        assert!(ended.success(), "{ended}");
    });
    test.join().unwrap();
}

/// A relay resets a client whose target is unreachable. SIGTERM ends it with status 0 and a report.
#[expect(clippy::disallowed_methods, reason = "a namespace belongs to a thread")]
pub(crate) fn a_relay_resets_unreachable_targets_and_ends_on_sigterm() {
    let test = std::thread::spawn(|| {
        netns::enter_new().unwrap();
        let mut relay = Command::new(env!("CARGO_BIN_EXE_lowtide"))
            .args(["live", "proxy", "lowtide:80=10.77.0.3:81", "--scheme", "odctcp", "-J"])
            .args(["--netns", "here", "--connect", "0.2"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let mut said = BufReader::new(relay.stderr.take().expect("a pipe"));
        said.read_line(&mut line).expect("text");
        assert!(line.contains("relaying 1 route;"), "{line}");
        // No host has the target's address: the relay accepts, cannot connect, and resets.
        let mut client = TcpStream::connect("10.77.0.2:80").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let pid = relay.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let output = relay.wait_with_output().unwrap();
        assert!(output.status.success());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["schema"], "lowtide.live-proxy/2");
        assert_eq!(result["routes"], serde_json::json!(["lowtide:80=10.77.0.3:81"]));
        assert_eq!((&result["accepted"], &result["timed_out"]), (&1.into(), &1.into()), "{result}");
    });
    test.join().unwrap();
}
