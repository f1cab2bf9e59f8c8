//! Valid and invalid scenario files. One binary, so that it is linked once.

mod bbr1;
mod bundle_overrides;
mod common;
mod deployment;
mod embedded;
mod fabrics;
mod never_marks;
mod not_simulated;
mod one_sided;
mod open_loop;
mod own_topology;
mod own_workload;
mod refused;
mod refused_hosts;
mod refused_network;
mod refused_traffic;
mod registered_marker;
mod runs;
mod sharing;
