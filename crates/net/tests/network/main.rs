//! The network from outside: packets in at hosts, packets out at hosts, statistics at ports.

mod blueprint;
mod classes;
mod dequeue;
mod digest;
mod event_port_equivalence;
mod fabrics;
mod failures;
mod graph;
mod line_rates;
mod load_balancing;
mod md1;
mod memory;
mod model;
mod partition;
mod pipes;
mod rig;
mod routes;
mod threshold;
mod timing;
mod warmup;
