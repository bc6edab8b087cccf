"""Schemas as data: the universal types and relations, SQL, and a JSON Schema per event type."""
