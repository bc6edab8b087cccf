"""What must not leave the machine in a text: secrets, which are cut out, and personal data, which gets pseudonyms."""

from __future__ import annotations
