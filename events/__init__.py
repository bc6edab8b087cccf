"""The append-only event log: envelope, store, upcasting, JSON Lines. Knows nothing of connectors, graph or commands."""
