//! Bugs found by the random-fault test, each as the shortest script that reproduces it.

mod closing;
mod events;
mod opening;
mod round_trip;
mod single;
mod timeout;
mod window;
