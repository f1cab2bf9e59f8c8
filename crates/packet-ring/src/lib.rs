//! A receive ring of a packet socket (packet(7), `PACKET_RX_RING`, `TPACKET_V2`).
//!
//! Contract: the kernel copies each frame into the next slot of a memory that it shares with this
//! process, so reading a frame needs no system call. [`RxRing::next_frame`] returns the frames in
//! order; a slot goes back to the kernel when its [`RxFrame`] is dropped. A full ring drops frames.
//! All offsets that the kernel writes are checked.
//!
//! `TPACKET_V2` wakes a waiting thread for every frame. `TPACKET_V3` does so for a block of frames
//! or after a timeout of at least a millisecond, which is too late for TCP.
#![cfg(target_os = "linux")]

mod layout;
mod mapping;
mod ring;

pub use layout::RingLayout;
pub use ring::{RxFrame, RxRing, SlotContents};
