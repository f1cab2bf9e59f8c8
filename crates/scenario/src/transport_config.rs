//! Merges the transport settings of several tables to one configuration per host group.
//!
//! Precedence, ascending: the profile (the group's, else that of its bundle, else that of
//! `[transport]`) < the switches of the host profile < `transport.scheme` < the tables of
//! `[transport]` < the compared scheme < the group's tables < switches that an override or a sweep
//! sets. A group has one scheme: its own if it names one, even in a comparison.

use std::fmt::Display;

use lowtide_tcp::switches::{self, SwitchError};
use lowtide_tcp::{Config, Params, profile, scheme};

use crate::model::{HostGroup, ScenarioModel, SpannedName};
use crate::settings::{SwitchSetting, owners};
use crate::toml_tree::SourceSpan;

/// Error and the location of the setting.
pub(crate) type LocatedMessage = (SourceSpan, String);

/// Returns the configuration of a group's hosts when `compared` is the scheme of the run.
pub(crate) fn tcp_config(
    model: &ScenarioModel,
    group: &HostGroup,
    compared: Option<&SpannedName>,
) -> Result<Config, LocatedMessage> {
    let general = &model.transport;
    let own = &group.stack;
    let chosen = own.scheme.as_ref().or(compared).or(general.scheme.as_ref());
    let bundled = chosen.and_then(|named| model.bundle(&named.name)?.profile.as_ref());
    let mut config = match own.profile.as_ref().or(bundled).or(general.profile.as_ref()) {
        Some(named) => {
            let found = profile::REGISTRY.find(&named.name);
            let found = found.ok_or_else(|| (named.at, format!("no profile `{}`", named.name)))?;
            found.config().map_err(|e| (named.at, format!("profile `{}`: {e}", named.name)))?
        }
        None => Config::default(),
    };
    let host = own.host_profile.or(general.host_profile);
    if let Some(host) = host {
        profile::apply(host.transport, &mut config).map_err(|e| (group.at, e.to_string()))?;
    }
    if own.scheme.is_none() && compared.is_none() {
        apply_scheme(model, general.scheme.as_ref(), &mut config)?;
    }
    apply_settings(&general.settings, false, &mut config)?;
    apply_scheme(model, own.scheme.as_ref().or(compared), &mut config)?;
    apply_settings(&own.settings, false, &mut config)?;
    apply_settings(&general.settings, true, &mut config)?;
    apply_settings(&own.settings, true, &mut config)?;
    config.params = chosen_params(&config).map_err(|message| (group.at, message))?;
    Ok(config)
}

/// Applies a scheme or a bundle to `config`; does nothing if none is named.
pub(crate) fn apply_scheme(
    model: &ScenarioModel,
    named: Option<&SpannedName>,
    config: &mut Config,
) -> Result<(), LocatedMessage> {
    let Some(SpannedName { name, at }) = named else { return Ok(()) };
    let fail = |e: SwitchError| (*at, format!("scheme `{name}`: {e}"));
    if let Some(bundle) = model.bundle(name) {
        apply_scheme(model, bundle.base.as_ref(), config)?;
        apply_settings(&bundle.settings, false, config)?;
        return apply_settings(&bundle.settings, true, config);
    }
    let found = scheme::REGISTRY.find(name).ok_or_else(|| (*at, format!("no scheme `{name}`")))?;
    found.apply(config).map_err(fail)
}

fn apply_settings(
    settings: &[SwitchSetting],
    overrides: bool,
    config: &mut Config,
) -> Result<(), LocatedMessage> {
    settings.iter().filter(|s| s.is_override == overrides).try_for_each(|s| {
        switches::set_text(config, &s.name, &s.text).map_err(|e| (s.at, e.to_string()))
    })
}

/// Returns the parameters of the chosen congestion control, decoder and ACK policy, including
/// defaults, and no others. So equivalent files give equal configurations.
fn chosen_params(config: &Config) -> Result<Params, String> {
    let mut out = Params::new();
    for (owner, params) in owners(config) {
        let fail = |error: &dyn Display| format!("parameters of `{owner}`: {error}");
        let values = config.params.complete(owner, params).map_err(|e| fail(&e))?;
        for param in params {
            if let Some(value) = values.get(param.name) {
                out.set(owner, param, value.clone()).map_err(|e| fail(&e))?;
            }
        }
    }
    Ok(out)
}
