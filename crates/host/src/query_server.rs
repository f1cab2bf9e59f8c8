//! The server of an asker's connection.
//!
//! Contract: the server answers requests in the order in which they came in full (as in HTTP pipelining),
//! each at once and with all of its bytes. It closes after its answer where the connection was opened for
//! one request (as in HTTP/1.0); else the client closes after its last query. Whether a small rest waits
//! for an ACK is TCP's switch `nagle`.

use lowtide_tcp::ConnId;

use crate::app::ConnSide;
use crate::query::response_size;
use crate::world::World;

impl World<'_> {
    /// The server of an asker's connection has got its client's stream up to `upto`.
    pub(crate) fn on_request(&mut self, side: ConnSide, id: ConnId, upto: u64) {
        let Some(exchange) = self.query_clients.exchange(side.flow()) else { return };
        let Some(spec) = self.setup.query_clients.get(exchange.query_client as usize) else {
            return;
        };
        let node = self.handles.get(side.index() as usize).map(|h| h.host as usize);
        let node = node.and_then(|host| self.nodes.get_mut(host));
        let Some(conn) = node.and_then(|n| n.endpoint.conn(id)) else { return };
        conn.read(upto);
        while let Some(query) = exchange.take_received(upto / spec.request.as_u64()) {
            conn.send(response_size(spec, query).as_u64());
            if !spec.persistent {
                conn.close();
            }
        }
    }
}
