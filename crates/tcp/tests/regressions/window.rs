//! The peer's window and ours.

use lowtide_wire::Flags;

use crate::lone::{Lone, plain};

#[test]
fn a_retransmission_that_acknowledges_brings_its_window_along() {
    let mut c = Lone::opened(plain(), 3000);
    c.conn.send(9000);
    assert_eq!(c.sends_all().len(), 3);
    c.window = 3000;
    // The peer's second segment overtakes the first, which then comes with a newer ACK.
    c.arrives(500, 500, 0, Flags::NONE).unwrap();
    c.sends_all();
    c.window = 1000;
    c.arrives(0, 500, 2000, Flags::NONE).unwrap();
    let data: Vec<_> = c.sends_all().iter().map(|t| t.stream.clone()).collect();
    assert_eq!(data.last(), Some(&(3000..3000)), "the window still ends at 3000: {data:?}");
}
