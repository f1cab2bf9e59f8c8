//! The server of a query connection.
//!
//! Contract: the server answers requests in the order of their complete arrival (as in HTTP
//! pipelining), each at once and in full. It closes after its answer if the connection was opened
//! for one request (as in HTTP/1.0); otherwise the client closes after its last query. TCP's switch
//! `nagle` decides if a small last segment waits for an ACK.

use lowtide_tcp::ConnId;

use super::query::response_size;
use crate::app::ConnSide;
use crate::node::connection;
use crate::tables::Table;
use crate::world::World;

impl World<'_> {
    /// Handles new data at the server: the client's stream up to `upto`.
    pub(crate) fn on_request(&mut self, side: ConnSide, id: ConnId, upto: u64) {
        let exchange = self.query_clients.exchange(side.flow());
        let spec = self.setup.query_clients.row(exchange.query_client);
        let host = self.handles.row(side).host;
        let conn = connection(&mut self.nodes.row_mut(host).endpoint, id);
        conn.read(upto);
        while let Some(query) = exchange.take_received(upto / spec.request.as_u64()) {
            conn.send(response_size(spec, query).as_u64());
            if !spec.persistent {
                conn.close();
            }
        }
    }
}
