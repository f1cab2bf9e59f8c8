//! Builder of a [`Config`] for programs that use this crate: names of a profile and a scheme, and
//! the settings that a program chooses.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use lowtide_units::{Bytes, Duration};

use crate::settings::config::Config;
use crate::switches::{self, SwitchError};
use crate::{profile, scheme};

/// Builds a [`Config`]: a profile, then a scheme over it, then single settings.
///
/// Without any call it builds [`Config::default`], the defaults of the RFCs. The order of profile
/// and scheme does not matter; of two calls for one setting the later one counts. Names and values
/// are checked by [`Self::build`].
///
/// ```
/// use lowtide_tcp::Config;
///
/// let config = Config::builder().profile("linux").scheme("dctcp").mtu(9000).build()?;
/// assert_eq!((config.cc, config.mtu), ("dctcp", 9000));
///
/// let error = Config::builder().scheme("cubik").build().unwrap_err();
/// assert_eq!(error.to_string(), "there is no scheme `cubik`; did you mean `cubic`?");
/// # Ok::<(), lowtide_tcp::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "`build` makes the configuration"]
pub struct ConfigBuilder {
    profile: Option<String>,
    scheme: Option<String>,
    /// Names and values of single settings, in the order of their calls.
    settings: Vec<(String, String)>,
}

impl Config {
    /// A builder with the defaults of the RFCs.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }
}

impl ConfigBuilder {
    /// Starts from a profile: the complete settings of a stack, such as `linux`
    /// ([`profile::REGISTRY`]).
    pub fn profile(mut self, name: &str) -> Self {
        self.profile = Some(name.to_string());
        self
    }

    /// Sets congestion control, acknowledgement policy and ECN as a scheme does, such as `dctcp`
    /// ([`scheme::REGISTRY`]).
    pub fn scheme(mut self, name: &str) -> Self {
        self.scheme = Some(name.to_string());
        self
    }

    /// Sets the length of the largest IP packet, in bytes. The MSS is 40 bytes (IPv4) or 60 bytes
    /// (IPv6) less, and shorter by the options of a segment.
    pub fn mtu(self, bytes: u32) -> Self {
        self.set("mtu", &bytes.to_string())
    }

    /// Sets the send and the receive buffer, in bytes. The receive buffer bounds the advertised
    /// window.
    pub fn buffers(self, send: u64, receive: u64) -> Self {
        self.set("send-buffer", &Bytes::new(send).to_string())
            .set("receive-buffer", &Bytes::new(receive).to_string())
    }

    /// Turns Nagle's algorithm on or off (RFC 9293 §3.7.4); it is on by default.
    pub fn nagle(self, on: bool) -> Self {
        self.set("nagle", if on { "true" } else { "false" })
    }

    /// Probes a connection that was idle for `idle` (RFC 9293 §3.8.4).
    pub fn keep_alive(self, idle: Duration) -> Self {
        self.set("keep-alive", "true").set("keep-alive-idle", &idle.to_string())
    }

    /// Ends a connection whose data is unacknowledged for `timeout` (RFC 9293 §3.9.1).
    pub fn user_timeout(self, timeout: Duration) -> Self {
        self.set("user-timeout", &timeout.to_string())
    }

    /// Sets a switch or parameter by name, such as `rto-min` to `10 ms` or `dctcp.shift-g` to `5`
    /// ([`switches::all`]).
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_string(), value.to_string()));
        self
    }

    /// Builds the configuration, which endpoints share.
    ///
    /// # Errors
    /// A profile, a scheme or a setting has an unknown name, or a setting does not accept its
    /// value.
    pub fn build(self) -> Result<Arc<Config>, SwitchError> {
        let mut config = Config::default();
        if let Some(name) = &self.profile {
            profile::REGISTRY.get(name).map_err(SwitchError::Unknown)?.apply(&mut config)?;
        }
        if let Some(name) = &self.scheme {
            scheme::REGISTRY.get(name).map_err(SwitchError::Unknown)?.apply(&mut config)?;
        }
        for (name, value) in &self.settings {
            switches::set_text(&mut config, name, value)?;
        }
        switches::check(&config)?;
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::config::CwrRule;

    #[test]
    fn a_builder_without_calls_has_the_defaults() {
        assert_eq!(*Config::builder().build().unwrap(), Config::default());
    }

    #[test]
    fn a_scheme_overrides_the_profile_and_a_setting_overrides_both() {
        let config = Config::builder()
            .set("cwr", "never")
            .scheme("dctcp")
            .profile("linux")
            .set("rto-min", "10 ms")
            .set("rto-min", "20 ms")
            .build()
            .unwrap();
        let mut expected = profile::linux::ENTRY.config().unwrap();
        scheme::dctcp::ENTRY.apply(&mut expected).unwrap();
        expected.cwr = CwrRule::Never;
        expected.rto_min = Duration::from_ms(20);
        assert_eq!(*config, expected);
    }

    #[test]
    fn typed_settings_are_exact() {
        let config = Config::builder()
            .mtu(1280)
            .buffers(1_000_001, 4_096)
            .nagle(false)
            .keep_alive(Duration::from_us(1_000_001))
            .user_timeout(Duration::from_secs(90))
            .build()
            .unwrap();
        let expected = Config {
            mtu: 1280,
            send_buffer: Bytes::new(1_000_001),
            receive_buffer: Bytes::new(4_096),
            nagle: false,
            keep_alive: true,
            keep_alive_idle: Duration::from_us(1_000_001),
            user_timeout: Duration::from_secs(90),
            ..Config::default()
        };
        assert_eq!(*config, expected);
    }

    #[test]
    fn errors_name_the_setting_and_the_correction() {
        let error = |builder: ConfigBuilder| builder.build().unwrap_err().to_string();
        assert_eq!(
            error(Config::builder().profile("linus")),
            "there is no profile `linus`; did you mean `linux`?"
        );
        assert_eq!(
            error(Config::builder().set("rto-mim", "1 s")),
            "there is no switch `rto-mim`; did you mean `rto-min` or `rto-max`?"
        );
        assert!(error(Config::builder().mtu(10)).contains("68"));
        assert!(error(Config::builder().buffers(0, 1)).contains("send-buffer"));
    }
}
