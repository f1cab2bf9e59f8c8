//! Bugs that the random-fault test found, each as the shortest script that shows it.

mod closing;
mod events;
mod opening;
mod round_trip;
mod single;
mod timeout;
mod window;
