"""Connectors turn a source's changes into episodes; they are the only code that talks to the outside."""
