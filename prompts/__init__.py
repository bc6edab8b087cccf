"""Prompts as plain text files, byte-stable so that a model server can reuse their prefix."""
