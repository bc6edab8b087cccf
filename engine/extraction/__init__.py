"""Extraction: tiers, from what a source states outright to what a model reads out of its text."""
