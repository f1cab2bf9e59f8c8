//! Timeouts.

use lowtide_tcp::{Config, InitialWindow};
use lowtide_wire::Flags;

use crate::single::{SingleConnection, plain};

#[test]
fn a_timeout_in_recovery_does_not_raise_ssthresh() {
    let config = Config { sack: true, initial_window: InitialWindow::Segments(10), ..plain() };
    let mut c = SingleConnection::established(config);
    c.conn.send(60_000);
    assert_eq!(c.sends_all().len(), 10);
    // The first segment is lost, and its retransmission too; SACKs release new data.
    for sacked in 2..=30 {
        let mut ack = c.of_peer(0, 0, 0, Flags::NONE);
        let block = (ack.ack.add(1000), ack.ack.add(1000 * sacked));
        ack.options.sack.push(block.0, block.1);
        let _ = c.takes(&ack);
        c.sends_all();
    }
    let before = c.conn.info();
    assert!(before.in_recovery, "{before:?}");
    assert_eq!(before.snd_cwnd, 5000);
    c.now = c.conn.poll_timeout().expect("a retransmission timer");
    c.conn.handle_timeout(c.now);
    assert_eq!(
        c.conn.info().snd_ssthresh,
        Some(2500),
        "half of cwnd, not of all that is not acked"
    );
}
