//! `--flow` of `lowtide live client`: one scheduled connection, as in flowgrind.

use lowtide_units::Duration;

use super::quantity::{seconds, size};

/// Value of `--flow`. Fields that it leaves out take the values of the other options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FlowArg {
    pub(crate) start: Duration,
    pub(crate) time: Option<Duration>,
    pub(crate) bytes: Option<u64>,
    pub(crate) length: Option<u64>,
    pub(crate) reverse: bool,
}

/// Parses `start=2,time=5,reverse`.
pub(crate) fn flow(text: &str) -> Result<FlowArg, String> {
    let mut flow = FlowArg::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let named = |error: String| format!("`{key}`: {error}");
        match key {
            "start" => flow.start = seconds(value).map_err(named)?,
            "time" => flow.time = Some(seconds(value).map_err(named)?),
            "bytes" => flow.bytes = Some(size(value).map_err(named)?),
            "length" => flow.length = Some(size(value).map_err(named)?),
            "reverse" if value.is_empty() => flow.reverse = true,
            "cc" | "congestion" => {
                return Err("-C sets the congestion control of all connections".to_owned());
            }
            _ => {
                let keys = "start=SECONDS, time=SECONDS or bytes=BYTES, length=BYTES, reverse";
                return Err(format!("unknown key `{part}`; the keys are {keys}"));
            }
        }
    }
    if flow.time.is_some() && flow.bytes.is_some() {
        return Err("give either time= or bytes=".to_owned());
    }
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_have_start_time_or_bytes_length_and_direction() {
        let ms = Duration::from_ms;
        let all =
            FlowArg { start: ms(500), bytes: Some(1 << 20), reverse: true, ..FlowArg::default() };
        assert_eq!(flow("start=0.5, bytes=1M,reverse"), Ok(all));
        let time = FlowArg { time: Some(ms(20)), length: Some(77), ..FlowArg::default() };
        assert_eq!(flow("time=20ms,length=77"), Ok(time));
        for (bad, why) in [
            ("start=x", "`start`"),
            ("bytes=0", "`bytes`"),
            ("time=1,bytes=1", "either"),
            ("reverse=yes", "unknown key"),
            ("stop=3", "the keys are start="),
            ("cc=dctcp", "-C"),
        ] {
            assert!(flow(bad).is_err_and(|e| e.contains(why)), "{bad}");
        }
    }
}
