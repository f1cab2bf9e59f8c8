//! Bugs that the random-fault test found, each as the shortest script that shows it.

mod closing;
mod events;
mod lone;
mod opening;
mod round_trip;
mod timeout;
mod window;
