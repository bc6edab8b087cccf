"""Which folders are sent mail and which are left out, by special use and by the names that people see."""

from __future__ import annotations

import pytest

from ctxsync.connectors.mail.folders import is_left_out, sent_role


@pytest.mark.parametrize(
    "name",
    [
        "Sent",
        "INBOX.Sent",
        "[Gmail]/Sent Mail",
        "Sent Items",
        "Gesendete Objekte",
        "Éléments envoyés",
        "Отправленные",
        "送信済み",
    ],
)
def test_sent_mail_is_known_by_its_name(name: str) -> None:
    assert sent_role(name) == "sent"


@pytest.mark.parametrize("name", ["INBOX", "Sent to archive", "Presents", "Projects/Unsent", ""])
def test_other_folders_are_not(name: str) -> None:
    assert sent_role(name) == ""


def test_a_special_use_decides_over_the_name() -> None:
    assert sent_role("Ausgang", (b"\\HasNoChildren", b"\\Sent")) == "sent"
    assert sent_role("Sent", "\\Archive") == ""
    assert is_left_out("Whatever", [b"\\Junk"])
    assert not is_left_out("Junk", "\\Archive")


@pytest.mark.parametrize(
    "name",
    ["Spam", "[Gmail]/Trash", "[Gmail]/Bin", "Junk E-mail", "INBOX.Junk", "Papierkorb", "Deleted Items", "Spam/2024", "Koš",
     "Corbeille", "Корзина", "ゴミ箱", "迷惑メール", "垃圾邮件", "스팸함", "INBOX/Gelöschte Elemente", "Lixeira"],
)  # fmt: skip
def test_spam_and_trash_are_left_out(name: str) -> None:
    assert is_left_out(name)


@pytest.mark.parametrize("name", ["INBOX", "Archive", "Code/bin", "KOS project", "Trashy novels", "Bank", ""])
def test_what_only_looks_like_it_is_read(name: str) -> None:
    assert not is_left_out(name)
