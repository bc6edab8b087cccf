"""The one door to the network for text: who may be asked, what leaves, and a ledger of every call; knows no prompt and no fact."""

from __future__ import annotations
