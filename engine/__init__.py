"""The engine: extraction tiers, the graph projection, and reading. It never talks to a source."""
