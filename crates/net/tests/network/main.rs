//! The network from outside: packets in at hosts, packets out at hosts, figures at ports.

mod blueprint;
mod classes;
mod cut;
mod dequeue;
mod digest;
mod fabrics;
mod failures;
mod graph;
mod kinds;
mod md1;
mod memory;
mod model;
mod pipes;
mod rig;
mod routes;
mod spread;
mod threshold;
mod timing;
mod warmup;
