"""What the names of mail folders mean: sent mail, and what is left out (spam, trash). Knows no server and no file.

A server's special use (RFC 6154) decides where it is given; else the name's last part, as mail programs and providers
spell it in their languages.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SENT: Final = "sent"


def _folded(name: str) -> str:
    """Return a name without case, accents and doubled white space; ø, ł and a dotless i go by the letters they look like."""
    plain = name.strip().strip("[]").casefold().replace("ø", "o").replace("ł", "l").replace("\u0131", "i")
    kept = "".join(c for c in unicodedata.normalize("NFD", plain) if unicodedata.category(c) != "Mn")
    return " ".join(unicodedata.normalize("NFC", kept).replace("_", " ").split())


def _table(names: str) -> frozenset[str]:
    return frozenset(_folded(name) for name in names.split("|"))


_SENT = _table(
    """sent | sent mail | sent items | sent messages | sent-mail | sent objects | outgoing | gesendet | gesendete
    | gesendete elemente | gesendete objekte | gesendete nachrichten | postausgang gesendet | envoyes | envoye
    | elements envoyes | messages envoyes | courrier envoye | objets envoyes | enviados | enviadas | elementos enviados
    | mensajes enviados | correo enviado | itens enviados | mensagens enviadas | e-mails enviados | posta inviata
    | inviata | inviati | messaggi inviati | elementi inviati | verzonden | verzonden items | verzonden berichten
    | verzonden objecten | skickat | skickade | skickade objekt | skickat mail | sendt | sendte elementer | sendt post
    | sendt e-post | lahetetyt | lahetetyt viestit | wyslane | elementy wyslane | odeslane | odeslana posta | odoslane
    | elkuldott | elkuldott elemek | trimise | elemente trimise | gonderilmis | gonderilmis ogeler | gonderilen
    | gonderilmis postalar | отправленные | отправленная почта | надіслані | απεσταλμενα | 已发送 | 已发送邮件 | 已发邮件 | 已傳送
    | 寄件備份 | 已寄出 | 送信済み | 送信済みメール | 送信済みアイテム | 보낸편지함 | 보낸 편지함 | 보낸메일함 | נשלחו | المرسلة | البريد المرسل"""
)
_LEFT_OUT = _table(
    """spam | junk | junk mail | junk email | junk e-mail | junk-e-mail | bulk mail | trash | deleted | deleted items
    | deleted messages | deleted mail | spamverdacht | unerwunscht | unerwunschte werbung | junk-e-mail-ordner
    | werbung unerwunscht | papierkorb | geloscht | geloschte | geloschte elemente | geloschte objekte
    | geloschte nachrichten | pourriel | courrier indesirable | indesirables | corbeille | elements supprimes
    | messages supprimes | correo no deseado | no deseado | papelera | eliminados | elementos eliminados
    | lixo eletronico | lixeira | itens excluidos | itens eliminados | posta indesiderata | indesiderata
    | posta eliminata | elementi eliminati | ongewenst | ongewenste e-mail | ongewenste mail | prullenbak | prullenmand
    | verwijderd | verwijderde items | verwijderde berichten | skrappost | papperskorg | papperskorgen | borttaget
    | borttagna objekt | soppelpost | uonsket | uonsket mail | uonsket e-mail | uonsket post | papirkurv | slettet
    | slettede elementer | slettet post | roskaposti | roskakori | poistetut | poistetut viestit | wiadomosci-smieci
    | niechciane | kosz | elementy usuniete | usuniete | nevyzadana posta | odstranena posta | odstranene
    | nevyziadana posta | levelszemet | torolt elemek | lomtar | mesaje nedorite | nedorite | cos de gunoi
    | elemente sterse | istenmeyen | istenmeyen posta | onemsiz | onemsiz e-posta | cop kutusu | silinmis ogeler
    | silinmis | спам | нежелательная почта | корзина | удаленные | удаленные элементы | небажана пошта | кошик
    | видалені | ανεπιθυμητα | ανεπιθυμητη αλληλογραφια | καδος | διαγραμμενα | 垃圾邮件 | 垃圾郵件 | 垃圾箱 | 已删除 | 已删除邮件
    | 已刪除的郵件 | 垃圾桶 | 回收筒 | 迷惑メール | ごみ箱 | ゴミ箱 | 削除済みアイテム | 削除済み | 스팸 | 스팸함 | 스팸메일함 | 정크 메일 | 휴지통 | 지운 편지함 | 삭제된 항목
    | ספאם | דואר זבל | אשפה | البريد العشوائي | المهملات | spam mail | junkmail
    | cestino | odpadkový koš | bulk"""
)
# Short words that mean other things without their accents, or deeper down: only as written, and near the top.
_LEFT_OUT_ON_TOP = frozenset({"bin", "koš", "çöp", "lixo", "skräp", "kuka", "kôš"})
_TOPS = frozenset({"inbox", "gmail", "google mail"})
_PARTS = re.compile(r"[/.\\]")


def sent_role(name: str, special_use: object = "") -> str:
    r"""Return `sent` for a folder of what its owner sent, else nothing.

    Args:
        name: The folder's whole name, decoded, or a label; hierarchy separators `/`, `.` and `\`.
        special_use: Its special-use attribute (`\Sent`), or several of them; text or bytes. Empty when not known.
    """
    uses = _uses(special_use)
    if uses:
        return SENT if "sent" in uses else ""
    return SENT if _names(name) & _SENT else ""


def is_left_out(name: str, special_use: object = "") -> bool:
    """Say whether a folder is spam, junk or trash, which are not read.

    Args:
        name: As for `sent_role`. What is below such a folder is left out with it.
        special_use: As for `sent_role`.
    """
    uses = _uses(special_use)
    if uses & {"junk", "trash", "spam"}:
        return True
    if uses & {"sent", "inbox", "archive", "all", "drafts", "flagged", "important"}:
        return False
    parts = [part for part in _PARTS.split(name) if part]
    top = next((part for part in parts if _folded(part) not in _TOPS), "")
    return (
        any(_folded(part) in _LEFT_OUT for part in parts)
        or _folded(name) in _LEFT_OUT
        or unicodedata.normalize("NFC", top).strip().casefold() in _LEFT_OUT_ON_TOP
    )


def _names(name: str) -> set[str]:
    return {_folded(name), _folded(_PARTS.split(name)[-1])}


_USES = frozenset({"sent", "junk", "trash", "spam", "inbox", "archive", "all", "drafts", "flagged", "important"})


def _uses(special_use: object) -> frozenset[str]:
    if not special_use:
        return frozenset()
    if isinstance(special_use, str | bytes):
        each = [special_use]
    elif isinstance(special_use, list | tuple | set | frozenset):
        each = list(special_use)
    else:
        return frozenset()
    texts = (one.decode("ascii", "replace") if isinstance(one, bytes) else str(one) for one in each)
    words = (word.lstrip("\\").casefold() for text in texts for word in text.split())
    return frozenset(words) & _USES
