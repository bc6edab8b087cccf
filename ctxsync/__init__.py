"""ctxsync: a typed, bi-temporal knowledge graph of your own notes and git history.

Importing this package imports nothing else: no connector, no model, no pydantic.
"""

__version__ = "0.1.0"
