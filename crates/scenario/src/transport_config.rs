//! Merges the transport settings of several tables to one configuration per host group.
//!
//! Precedence, ascending: the profile (the group's, else that of its bundle, else that of
//! `[transport]`) < the switches of the host profile < `transport.scheme` < the tables of
//! `[transport]` < the compared scheme < the group's tables < switches that an override or a sweep
//! sets. A group has one scheme: its own if it names one, even in a comparison. The scheme and the
//! tables of `[deployment]` apply to moved hosts after all of these.

use std::fmt::Display;

use lowtide_rows::DeploymentClass;
use lowtide_schema::Value;
use lowtide_tcp::switches::{self, Setting, Side, SwitchError};
use lowtide_tcp::{Config, EcnNegotiation, Params, profile, scheme};

use crate::model::{DeploymentTable, HostGroup, MovedSides, ScenarioModel, SpannedName};
use crate::settings::{SwitchSetting, owners};
use crate::toml_tree::SourceSpan;

/// Error and the location of the setting.
pub(crate) type LocatedMessage = (SourceSpan, String);

/// A switch or parameter that a deployment sets.
#[derive(Clone, Debug)]
pub(crate) struct DeployedSetting {
    pub(crate) name: String,
    pub(crate) side: Side,
    pub(crate) value: Value,
}

/// The configurations of all hosts.
#[derive(Clone, Debug)]
pub(crate) struct HostConfigs {
    /// One per host group.
    pub(crate) groups: Vec<Config>,
    /// One per host group: that of its moved hosts; empty without a deployment.
    pub(crate) moved: Vec<Config>,
    /// Settings of the deployed scheme and of the table, equal for all groups; empty without a
    /// deployment.
    pub(crate) deployed: Vec<DeployedSetting>,
}

impl HostConfigs {
    /// Returns the configuration of a host by its group and its class in the deployment.
    pub(crate) fn of_host(&self, group: u16, class: Option<DeploymentClass>) -> &Config {
        let all = match class {
            Some(DeploymentClass::New) => &self.moved,
            _ => &self.groups,
        };
        &all[usize::from(group)]
    }

    /// Returns the configurations when `compared` is the scheme of the run.
    pub(crate) fn new(
        model: &ScenarioModel,
        compared: Option<&SpannedName>,
    ) -> Result<Self, LocatedMessage> {
        let mut out = Self { groups: Vec::new(), moved: Vec::new(), deployed: Vec::new() };
        for group in &model.hosts {
            let merged = merged(model, group, compared)?;
            out.groups.push(completed(merged.clone(), group)?);
            let Some(table) = &model.deployment else { continue };
            let (whole, moved) = deployed(model, table, &merged)?;
            out.moved.push(completed(moved, group)?);
            out.deployed = settings_made(model, table, &whole);
        }
        Ok(out)
    }
}

/// Returns the configuration of a moved host, with all deployed settings and with those of the
/// moved sides only.
fn deployed(
    model: &ScenarioModel,
    table: &DeploymentTable,
    old: &Config,
) -> Result<(Config, Config), LocatedMessage> {
    let mut whole = old.clone();
    apply_scheme(model, table.to.as_ref(), &mut whole)?;
    apply_settings(&table.settings, false, &mut whole)?;
    apply_settings(&table.settings, true, &mut whole)?;
    let side = match table.moves {
        MovedSides::Both => return Ok((whole.clone(), whole)),
        MovedSides::Senders => Side::Sender,
        MovedSides::Receivers => Side::Receiver,
    };
    let mut moved = old.clone();
    for setting in switches::all() {
        if ![side, Side::Connection].contains(&setting.side()) {
            continue;
        }
        if let Some(value) = setting.get(&whole) {
            setting.set(&mut moved, &value).map_err(|e| (table.at, e.to_string()))?;
        }
    }
    // A host that moves only as a receiver accepts ECN; what it sends is unchanged.
    if table.moves == MovedSides::Receivers && !old.ecn.requests_ecn() {
        moved.ecn = match moved.ecn {
            EcnNegotiation::Rfc3168 => EcnNegotiation::Passive,
            EcnNegotiation::AccEcn | EcnNegotiation::AccEcnRfc3168 => EcnNegotiation::AccEcnPassive,
            accepts => accepts,
        };
    }
    Ok((whole, moved))
}

/// Returns the settings of the deployed scheme and of the table, with their values in `whole`.
fn settings_made(
    model: &ScenarioModel,
    table: &DeploymentTable,
    whole: &Config,
) -> Vec<DeployedSetting> {
    let mut names: Vec<String> = table.settings.iter().map(|s| s.name.clone()).collect();
    let mut scheme = table.to.as_ref().map(|to| to.name.as_str());
    if let Some(bundle) = scheme.and_then(|name| model.bundle(name)) {
        names.extend(bundle.settings.iter().map(|s| s.name.clone()));
        scheme = bundle.base.as_ref().map(|base| base.name.as_str());
    }
    let scheme = scheme.and_then(|name| scheme::REGISTRY.find(name));
    names.extend(scheme.into_iter().flat_map(|s| s.settings).map(|s| s.switch.to_owned()));
    let made = |s: Setting| {
        let name = s.name();
        let value = s.get(whole).filter(|_| names.contains(&name))?;
        Some(DeployedSetting { name, side: s.side(), value })
    };
    switches::all().into_iter().filter_map(made).collect()
}

/// Completes the parameters of a group's configuration.
fn completed(mut config: Config, group: &HostGroup) -> Result<Config, LocatedMessage> {
    config.params = chosen_params(&config).map_err(|message| (group.at, message))?;
    Ok(config)
}

/// Returns the configuration of a group's hosts with all parameters that the file sets, also those
/// of modules that are not chosen.
fn merged(
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
