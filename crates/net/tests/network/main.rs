//! The network from outside: packets in at hosts, packets out at hosts, figures at ports.

mod blueprint;
mod digest;
mod fabrics;
mod failures;
mod graph;
mod md1;
mod model;
mod pipes;
mod rig;
mod routes;
mod spread;
mod threshold;
mod timing;
mod warmup;
