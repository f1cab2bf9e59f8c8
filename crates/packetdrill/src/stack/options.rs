//! Socket options that the transport supports.

use std::sync::Arc;

use lowtide_tcp::{IpVersion, State, cc};
use lowtide_units::Bytes;

use super::{SocketKind, Stack};
use crate::host::{CallError, Errno, SocketOption, SocketValue};

/// Header bytes between MTU and MSS.
const fn headers(v6: bool) -> u32 {
    if v6 { IpVersion::V6.headers_len() } else { IpVersion::V4.headers_len() }
}

impl Stack {
    /// Sets an option.
    ///
    /// # Errors
    /// EINVAL for an invalid value, EISCONN for an option that must be set before the connection
    /// (see [`SocketOption`]), ENOPROTOOPT for SO_ERROR, which is read-only.
    pub fn set_option(
        &mut self,
        fd: i32,
        option: SocketOption,
        value: &SocketValue,
    ) -> Result<(), CallError> {
        let early = !matches!(self.get(fd)?.kind, SocketKind::Stream { .. });
        let number = match value {
            SocketValue::Int(n) => Some(*n),
            _ => None,
        };
        match option {
            SocketOption::Error => return Err(Errno::ENOPROTOOPT.into()),
            SocketOption::Reuse => {
                number.ok_or(Errno::EINVAL)?;
            }
            SocketOption::Linger => {
                let SocketValue::Linger { on, seconds } = *value else {
                    return Err(Errno::EINVAL.into());
                };
                self.get(fd)?.linger = on.then_some(seconds);
            }
            SocketOption::NoDelay => {
                let nagle = number.ok_or(Errno::EINVAL)? == 0;
                self.get(fd)?.config.nagle = nagle;
                if let Ok(key) = self.stream(fd)
                    && let Some(conn) = self.conns.transport(key)
                {
                    conn.set_nagle(nagle);
                    self.pump(key);
                }
            }
            SocketOption::SendBuffer | SocketOption::ReceiveBuffer if early => {
                let size = number.filter(|n| *n > 0).ok_or(Errno::EINVAL)?;
                let size = Bytes::new(size as u64);
                let config = &mut self.get(fd)?.config;
                if option == SocketOption::SendBuffer {
                    config.send_buffer = size;
                } else {
                    config.receive_buffer = size;
                }
                self.renew_listener(fd);
            }
            SocketOption::MaxSegment if early => {
                let mss = number.filter(|n| (88..=32_767).contains(n)).ok_or(Errno::EINVAL)?;
                let socket = self.get(fd)?;
                socket.config.mtu = mss as u32 + headers(socket.v6);
                self.renew_listener(fd);
            }
            SocketOption::Congestion if early => {
                let SocketValue::Text(name) = value else { return Err(Errno::EINVAL.into()) };
                let name = if name == "reno" { "newreno" } else { name };
                self.get(fd)?.config.cc = cc::REGISTRY.find(name).ok_or(Errno::EINVAL)?.name;
                self.renew_listener(fd);
            }
            SocketOption::SendBuffer
            | SocketOption::ReceiveBuffer
            | SocketOption::MaxSegment
            | SocketOption::Congestion => return Err(Errno::EISCONN.into()),
        }
        Ok(())
    }

    /// Recreates a listener so that new connections get its current settings.
    fn renew_listener(&mut self, fd: i32) {
        let Some(socket) = self.sockets.get(&fd) else { return };
        if let SocketKind::Listening { port, .. } = socket.kind {
            self.conns.endpoint().reconfigure(port, Arc::new(socket.config.clone()));
        }
    }

    /// Reads an option.
    pub fn option(&mut self, fd: i32, option: SocketOption) -> Result<SocketValue, CallError> {
        let established = self.stream(fd).ok().and_then(|key| {
            let info = self.conns.info(key)?.tcp;
            (info.state != State::SynSent && info.mss > 0).then_some(info.mss)
        });
        if option == SocketOption::Error {
            return self.take_error(fd).map(SocketValue::Int);
        }
        let socket = self.get(fd)?;
        let config = &socket.config;
        Ok(match option {
            SocketOption::Error | SocketOption::Reuse => SocketValue::Int(0),
            SocketOption::Linger => SocketValue::Linger {
                on: socket.linger.is_some(),
                seconds: socket.linger.unwrap_or(0),
            },
            SocketOption::SendBuffer => int(config.send_buffer.as_u64()),
            SocketOption::ReceiveBuffer => int(config.receive_buffer.as_u64()),
            SocketOption::NoDelay => SocketValue::Int(i32::from(!config.nagle)),
            SocketOption::MaxSegment => {
                int(u64::from(established.unwrap_or(config.mtu.saturating_sub(headers(socket.v6)))))
            }
            SocketOption::Congestion => SocketValue::Text(config.cc.to_string()),
        })
    }
}

fn int(n: u64) -> SocketValue {
    SocketValue::Int(i32::try_from(n).unwrap_or(i32::MAX))
}
