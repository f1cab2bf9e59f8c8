//! The network from outside: packets in at hosts, packets out at hosts, figures at ports.

mod blueprint;
mod digest;
mod md1;
mod model;
mod pipes;
mod rig;
mod routes;
mod threshold;
mod timing;
mod warmup;
