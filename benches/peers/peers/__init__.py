"""One file per peer, with a `Peer` as `PEER`."""
