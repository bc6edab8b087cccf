"""Words by which mail programs, in their languages, open quotations and close messages; decides nothing.

Only such as stand in the lines that programs write themselves: `On … Rosa wrote:`, `From:`, `Sent from my phone`.
"""

# ruff: noqa: RUF001 (letters of many scripts are the point)

from __future__ import annotations

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs of an attribution.
WROTE: Final = re.compile(
    r"""\b(?:wrote|writes|said|schrieb|schreibt|geschrieben|schreef|skrev|skrifaði|scrive|scritto|escribi[óo]|escreveu
    |escrigué|écrit|ecrit|napisał\(?a?\)?|pisze|napsal\(?a?\)?|napísal\(?a?\)?|írta|kirjoitti|kirjutas|rakstīja|rašė|scris
    |yazdı|написал\(?а?\)?|пишет|писал\(?а?\)?|написав|пише|έγραψε|написа)\b|写道|寫道|さん?は?書きました|のメッセージ|작성|כתב|كتب""",
    re.VERBOSE | re.IGNORECASE,
)
# How an attribution begins.
OPENS: Final = re.compile(
    r"""^(?:on|am|le|el|il|op|den|em|dnia|w\sdniu|dne|dňa|på|a|в|у|στις|kl|tarihinde|pe|\d|mon|tue|wed|thu|fri|sat|sun)\b
    |^在|^于|^20\d\d""",
    re.VERBOSE | re.IGNORECASE,
)
# Names of header fields as shown in a message, folded: the sender's, which comes first, and all.
FROM_FIELDS: Final = _words(
    """from von de da van från fra lähettäjä od expeditor  gönderen kimden от від  από
    发件人 寄件者 差出人 보낸사람 מאת من nadawca feladó mittente remitente expéditeur afzender afsender"""
) | {"de la", "от кого", "від кого", "보낸 사람", "reply-to"}
FIELDS: Final = FROM_FIELDS | _words(
    """to sent date subject cc bcc an gesendet datum betreff kopie envoyé envoyée objet sujet à para enviado fecha
        asunto data assunto oggetto inviato a aan verzonden onderwerp till skickat ämne til sendt emne do wysłano temat
        dw komu odesláno předmět kime tarih konu gönderilen кому дата тема отправлено копия 收件人 发送时间 日期 主题 抄送 宛先
        日付 件名 送信日時 받는사람 날짜 제목 message-id organization newsgroups"""
)
# A line that a telephone puts under a message.
PHONE: Final = re.compile(
    r"^(?:sent from my|sent from (?:mail|outlook|yahoo|proton)|sent with|get outlook for|sent via|von meinem .* gesendet"
    r"|gesendet (?:von|mit)|diese nachricht wurde von meinem|envoyé de(?:puis)? mon|enviado desde mi|enviado do meu"
    r"|inviato da(?:l mio)?|verstuurd vanaf mijn|verzonden vanaf mijn|skickat från min|sendt fra min|sendt fra|wysłane z"
    r"|отправлено с|iPhoneから送信)\b.{0,60}$",
    re.IGNORECASE,
)
# The first two letters of such a line, with all that a match without regard to case takes for them.
PHONED: Final = frozenset(
    first + second
    for word in _words("se ge vo di dı en in ve sk s\u212a wy ip от о\u1c84 о\u1c85")
    for first in (word[0].lower(), word[0].upper())
    for second in (word[1].lower(), word[1].upper())
) | {"d\u0130", "D\u0130"}
# What a list server puts under a message.
FOOTER: Final = re.compile(r"mailing list|unsubscribe|listinfo|mailman", re.IGNORECASE)
