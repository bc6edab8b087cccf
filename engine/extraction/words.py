"""Words of English that extraction and planning share: lemmas of verbs, function words; stdlib only."""

from __future__ import annotations

import re
from functools import lru_cache


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


BE_FORMS = frozenset({"be", "is", "are", "was", "were", "been", "being", "am", "'s", "'re", "'m"})

# Base form first, then the irregular ones.
_IRREGULAR = """
have has had having|do does did done doing|go goes went gone going|begin began begun|break broke broken|bring brought
build built|buy bought|catch caught|choose chose chosen choosing|come came coming|cost|cut cutting|deal dealt|draw drew drawn
drive drove driven driving|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown flies
forget forgot forgotten|get got gotten getting|give gave given giving|grow grew grown|hear heard|hide hid hidden|hit hitting
hold held|keep kept|know knew known|lay laid|lead led|learn learnt|leave left leaving|lend lent|let letting|lie lies lying
lose lost losing|make made making|mean meant|meet met|pay paid|put putting|quit quitting|read|ride rode ridden riding
ring rang rung|rise rose risen rising|run ran running|say said|see saw seen|sell sold|send sent|set setting|shake shook shaken
show shown|shut shutting|sing sang sung|sink sank sunk|sit sat sitting|sleep slept|speak spoke spoken|spend spent|spin spun
stand stood|steal stole stolen|stick stuck|swim swam swum|take took taken taking|teach taught|tell told|think thought
throw threw thrown|understand understood|wake woke woken|wear wore worn|win won winning|write wrote written writing
withdraw withdrew withdrawn|arise arose arisen arising|become became becoming|overtake overtook overtaken|oversee oversaw
rebuild rebuilt|rewrite rewrote rewritten rewriting|split splitting|spread|stem stemmed|sweep swept|bear born borne
die died dying|tie tied tying|use used using uses|free freed|agree agreed|see seeing|co-found co-founded
ship shipped|plan planned|drop dropped|stop stopped|refer referred|occur occurred|transfer transferred|commit committed
long longer|move moved moving|close closed closing|base based|cause caused causing|house housed|release released
raise raised|revise revised|supervise supervised|organise organised|organize organized|chair chaired|call called|skill
process processed|access accessed|address addressed|discuss discussed|focus focused|press pressed|pass passed|miss missed
settle settled|handle handled|bundle bundled|enable enabled|double doubled|tackle tackled|schedule scheduled
"""

# Verbs in silent e that the endings below do not tell.
_SILENT_E = word_set("""acquire admire advertise advise age analyse announce appraise approve arise arrange ascribe assemble assume bake base
    bite blame browse cage care cascade cause change charge chase cite close code combine come compare compete compile complete
    compose compute concede conclude configure confuse cope cruise cure date decide declare decline decode decrease define
    delete depose describe determine dine disclose dispose dispute divide dose double encode endorse engage
    enhance enquire ensure erase escape evade evoke examine excite exclude execute exercise expire explode explore expose
    fade fake file fire force freeze fuse gauge generate guide hire hope house impose improve include increase incline
    inquire inspire invade invite invoke joke judge lease license like line live locate lose love make manage
    mature measure merge mime mine mistake mute name nominate note oppose outline paste pause persuade phase phone
    phrase pile place plague please pledge poke pose postpone praise precede presume prescribe preside procure produce
    profile pronounce propose provide prune purchase pursue quote race raise rate realise recede recognise
    reconcile rehearse release remake rename require rescue reside resume retire retrieve reuse reverse
    revise revoke ride rise sample save scale score secure seize sense serve settle shape share shave shine
    size slice slide smile smoke solve spare stage store strike structure style subscribe suppose surprise survive
    surface take tape taste telephone time tire tone trace trade tune type unite update upgrade use vote wake waste wave
    weave welcome wipe wire collapse co-locate interfere persevere adhere ignore restore explore adore snore
    capture feature picture posture rupture venture torture lecture manufacture nurture injure conjure figure
    assure insure pressure treasure tie untie complicate involve believe observe receive achieve leave revive derive
    supervise organise organize""")

_BASE: dict[str, str] = {}
for _entry in _IRREGULAR.replace("\n", "|").split("|"):
    _forms = _entry.split()
    for _form in _forms:
        _BASE.setdefault(_form, _forms[0])
_BASE.update(dict.fromkeys(BE_FORMS, "be"))

_PARTICIPLES = word_set("""begun broken brought built bought caught chosen come cut dealt drawn driven eaten fallen fed felt found flown forgotten
    gotten given grown heard hidden hit held kept known laid led learnt left lent let lost made meant met paid put quit read
    ridden risen run said seen sold sent set shaken shown shut sung sunk spoken spent spun stood stolen stuck taken taught told
    thought thrown understood woken worn won written withdrawn arisen become overtaken rebuilt rewritten split spread swept
    born gone done had been""")

ARTICLES = frozenset({"a", "an", "the"})
FILLERS = (
    ARTICLES
    | word_set("my your his her its our their some all any this that these those own whole entire")
    | word_set("who what which where when that")
    | word_set("""now currently still also just then already always often ever once again soon today nowadays since instead there
        together back both really very quite too only even almost nearly later first finally""")
)
AUXILIARIES = frozenset({"do", "will", "would", "shall", "should", "can", "could", "may", "might", "must", "to"})
NEGATIONS = frozenset({"not", "never", "neither", "nor", "cannot", "without"})
PREPOSITIONS = word_set("""about above across after against along among around as at before behind below beside between by down during for from in
    inside into near of off on onto out over past since through to toward towards under until up upon with within
    without""")
# Words that carry no meaning of their own in a phrase: a match never rests on them alone.
LIGHT = PREPOSITIONS | frozenset({"be", "have", "do", "get", "take", "go"})
# Verbs that mean nothing without their idiom: `gave rise to` says nothing of `was given by`.
OF_IDIOMS = frozenset({"give", "bring", "take", "come", "make", "set", "put", "let", "get", "go", "keep", "be", "have"})
NOT_VERBS = frozenset(
    {"building", "meeting", "king", "thing", "ring", "spring", "string", "during", "being", "evening"}
)
_NOT_ADVERBS = word_set(
    "formerly previously rely supply apply reply family fly ally italy july daily weekly assembly comply multiply"
)

# From this score on a match of the lexicon stands; below it vectors may know better.
SURE = 0.7

# What says that a thing stopped, and what it leaves of the phrase.
CESSATION: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\bno longer\b", ""),
        (r"\b(?:do|does|did|is|are|was|were) not (.+?) (?:anymore|any more|any longer)\b", r"\1"),
        (r"\bnot (.+?) (?:anymore|any more|any longer)\b", r"\1"),
        (r"\bused to\b", ""),
        (r"\b(?:formerly|previously)\b", ""),
        (r"\b(?:stopped|stops|stop|quit|quits|ceased|ceases) (?:being |to )?(?=\w+ing\b|be\b)", ""),
        (r"\b(?:stopped|ceased) being\b", "be"),
    )
)


@lru_cache(maxsize=8192)
def lemma(word: str) -> str:
    """Return the base form of a lower-case word by its ending: exact for the forms listed, consistent for the rest."""
    if word in _BASE:
        return _BASE[word]
    size = len(word)
    if "-" in word:
        first, _, last = word.rpartition("-")
        return f"{first}-{lemma(last)}"
    if word.endswith(("ies", "ied")) and size > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and size > 5 and word not in NOT_VERBS:
        return _stem(word[:-3])
    if word.endswith("ed") and size > 4 and not word.endswith("eed"):
        return _stem(word[:-2])
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and size > 3 and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _stem(stem: str) -> str:
    """Undo the spelling of -ed and -ing: a doubled consonant is halved, a dropped e comes back."""
    if stem + "e" in _SILENT_E or re.search(
        r"(?:v|c|u|iz|yz|dg|[^aeo]at|creat|[^aeiou][bcdgkpt]l|rs|ns|ois|tribut|stitut|ecut)$", stem
    ):
        return stem + "e"
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsfz":
        return stem[:-1]
    return stem


def third_person(word: str) -> str:
    """Return the form that goes with `it`: `uses` for use, using and uses."""
    base = lemma(word)
    if base in ("be", "have", "do", "go"):
        return {"be": "is", "have": "has", "do": "does", "go": "goes"}[base]
    if base.endswith("y") and base[-2:-1] not in ("a", "e", "o", "u"):
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def is_participle(word: str) -> bool:
    """Say whether a lower-case word can be a past participle."""
    return word in _PARTICIPLES or (word.endswith("ed") and len(word) > 3 and not word.endswith("eed"))


def is_adverb(word: str) -> bool:
    """Say whether a lower-case word is an adverb in -ly."""
    return word.endswith("ly") and len(word) > 4 and word not in _NOT_ADVERBS
