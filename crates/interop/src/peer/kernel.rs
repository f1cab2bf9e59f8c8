//! The kernel's TCP, through sockets.
//!
//! The runner has created the interface: the `tun` line only follows the protocol.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::{report, send_line, wait_for_go};
use crate::exchange::{error_name, perform, set_timeouts};
use crate::script::{EndpointReport, EndpointScript, OpenMode};

/// Executes `script` and waits to be terminated.
///
/// # Errors
/// The runner is gone.
pub fn main(script: &EndpointScript) -> io::Result<()> {
    send_line("tun");
    wait_for_go()?;
    let (account, stream) = match open(script) {
        Ok(stream) => (perform(&stream, script), Some(stream)),
        Err(error) => (EndpointReport::failed(error_name(&error)), None),
    };
    // Closing sends the RST of an abort; after both FINs it sends nothing.
    drop(stream);
    report(&account);
    loop {
        std::thread::park();
    }
}

fn open(script: &EndpointScript) -> io::Result<TcpStream> {
    let at = if script.open == OpenMode::Connect { script.remote } else { script.local };
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    if script.window > 0 {
        // The kernel doubles it for its overhead.
        socket.set_recv_buffer_size(script.window as usize)?;
    }
    let limit_all = Duration::from_secs(script.limit_s.max(1));
    let stream = match script.open {
        OpenMode::Connect => {
            socket.bind(&SocketAddr::new(script.local.ip(), 0).into())?;
            socket.connect_timeout(&at.into(), limit_all)?;
            socket
        }
        OpenMode::Listen => {
            socket.bind(&at.into())?;
            socket.listen(1)?;
            send_line("ready");
            socket.set_read_timeout(Some(limit_all))?;
            socket.accept()?.0
        }
    };
    let stream = TcpStream::from(stream);
    set_timeouts(&stream, script)?;
    Ok(stream)
}
