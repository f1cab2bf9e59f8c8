//! The server of a query connection.
//!
//! Contract: the server answers requests in the order of their complete arrival (as in HTTP
//! pipelining), each at once and in full. It closes after its answer if the connection was opened
//! for one request (as in HTTP/1.0); otherwise the client closes after its last query. TCP's switch
//! `nagle` decides if a small last segment waits for an ACK.

use lowtide_tcp::ConnId;

use super::query::response_size;
use crate::app::ConnSide;
use crate::world::World;

impl World<'_> {
    /// Handles new data at the server: the client's stream up to `upto`.
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
