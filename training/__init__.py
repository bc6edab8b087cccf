"""Trains what tier 1 ships: `python -m training`."""
