"""Names that nobody has: what stands for a person's name while a text is away; knows no text.

Every coined word has eight letters, begins with a capital, reads as a name, and is no name or word in use, so that none
of them is a part of another, a model takes it for a name, and what a model makes up does not happen to be one.
"""

from __future__ import annotations

_FIRST = "VelTarZelDruFalGorHesJorKelLorMurNarPelRovSulTovWexYarBruCalDesElvFirGalHulIthJasKovLysMev"
_MIDDLE = "vadonitukeramozogipulasetybicufehojuga"
_LAST = "ranlixdenmartelvoswyndakrimzornelbusfaxtiglumpevroksimganhapjinkulmeznod"
# Parts of three, two and three letters, one after another.
_FIRSTS, _MIDDLES, _LASTS = len(_FIRST) // 3, len(_MIDDLE) // 2, len(_LAST) // 3
NUMBER = _FIRSTS * _MIDDLES * _LASTS
"""How many words there are; further ones get a second middle."""
# Coprime to NUMBER: words that follow each other differ in all their parts.
_STEP = 7_919


def word(index: int) -> str:
    """Return the coined word of an index from 0 on; no two are equal."""
    more, index = divmod(index, NUMBER)
    index, first = divmod(index * _STEP % NUMBER, _FIRSTS)
    last, middle = divmod(index, _MIDDLES)
    extra = ""
    while more:
        more, part = divmod(more - 1, _MIDDLES)
        extra += _middle(part)
    return _FIRST[3 * first : 3 * first + 3] + _middle(middle) + extra + _LAST[3 * last : 3 * last + 3]


def _middle(part: int) -> str:
    return _MIDDLE[2 * part : 2 * part + 2]
