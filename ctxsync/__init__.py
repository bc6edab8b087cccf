"""ctxsync: a typed, bi-temporal knowledge graph of your own notes and git history.

Importing this package imports nothing else: no connector, no model, no pydantic.
"""

import os

# Products of small matrices are slower on several threads, by far where another process wants the cores; numpy reads this
# when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
