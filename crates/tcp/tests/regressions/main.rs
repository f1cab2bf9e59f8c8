//! Bugs that the random-fault test found, each as the shortest script that shows it.

mod closing;
mod events;
mod lone;
mod window;
