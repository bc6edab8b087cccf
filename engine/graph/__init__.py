"""The graph projection: a pure function of the log, kept in `graph.db`."""
