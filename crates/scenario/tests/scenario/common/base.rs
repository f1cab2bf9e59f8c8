//! A valid scenario.

pub(crate) const BASE: &str = r#"schema = 1
title = "A test"
[run]
duration = "3 s"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "100 pkt"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "linux"
[transport.sender]
nagle = false
[hosts.senders]
count = 3
[hosts.receivers]
count = 1
[traffic.long]
from = "senders"
to = "receivers"
count = 2
size = "40 MB"
"#;
