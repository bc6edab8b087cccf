"""A keyring in memory, in place of the desktop's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import keyring
import keyring.backend

if TYPE_CHECKING:
    from collections.abc import Iterator


class Drawer(keyring.backend.KeyringBackend):
    """A keyring in memory; `raises` is what it fails with."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held: dict[tuple[str, str], str] = {}
        self.raises: Exception | None = None

    def get_password(self, service: str, username: str) -> str | None:
        if self.raises:
            raise self.raises
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.raises:
            raise self.raises
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


@contextmanager
def opened() -> Iterator[Drawer]:
    """Let the process keep its secrets in a drawer."""
    before = keyring.get_keyring()
    drawer = Drawer()
    keyring.set_keyring(drawer)
    try:
        yield drawer
    finally:
        keyring.set_keyring(before)
