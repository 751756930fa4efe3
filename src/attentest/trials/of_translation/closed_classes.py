"""Function words of English and German: the words of the closed classes, in all their forms, lower-cased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product

ENGLISH = {
    "articles, determiners": (
        "a an the this that these those some any no every each either neither another both all half such what which "
        "whose many much more most few fewer fewest little less least several enough other others own same"
    ),
    "pronouns": (
        "i you he she it we they me him her us them my your his its our their mine yours hers ours theirs myself "
        "yourself himself herself itself ourselves yourselves themselves who whom whoever something anything nothing "
        "everything someone anyone everyone somebody anybody nobody everybody one ones none"
    ),
    "prepositions": (
        "about above across after against along alongside amid among around as at atop before behind below beneath "
        "beside besides between beyond by despite down during except for from in inside into like near of off on onto "
        "out outside over past per since than through throughout to toward towards under underneath until unto up "
        "upon via with within without"
    ),
    "conjunctions": "and or but nor so yet if because although though while whereas when where why how whether unless",
    "auxiliaries": (
        "am is are was were be been being have has had having do does did doing will would shall should can could may "
        "might must ought need dare 's 're 've 'll 'd 'm n't"
    ),
    "particles": "not there here then now too also only just even still very quite rather again away back else",
}

_ENDINGS = ("", "e", "en", "em", "er", "es")
_INFLECTED = (  # stems that take the endings of determiners
    "ein kein mein dein sein ihr unser euer eur dies jen jed jeglich manch solch welch viel wenig ander beid all einig "
    "mehrer sämtlich"
)
GERMAN = {
    "determiners, possessives": " ".join(
        stem + ending for stem, ending in product(_INFLECTED.split(), _ENDINGS) if stem + ending != "jen"
    ),
    "articles, relative pronouns": "der die das den dem des dessen deren denen derer",
    "pronouns": (
        "ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich man wer wen wem wessen was etwas "
        "nichts jemand jemanden jemandem niemand niemanden niemandem selbst selber einander derselbe dieselbe "
        "dasselbe denselben demselben derjenige diejenige dasjenige diejenigen"
    ),
    "prepositions": (
        "an am ans ab abseits als auf aufs aus außer außerhalb bei beim bis bezüglich durch durchs entgegen entlang "
        "für fürs gegen gegenüber gemäß hinter hinterm hinters in im ins inmitten innerhalb je mit mithilfe mittels "
        "nach nahe neben nebst ohne oberhalb per pro samt seit statt trotz über übers überm um ums unter unterm "
        "unters unterhalb unweit von vom vor vorm vors während wegen wider zu zum zur zwecks zwischen"
    ),
    "conjunctions": (
        "und oder aber sondern denn doch sowie sowohl weder noch entweder dass daß ob weil da wenn falls obwohl "
        "obgleich indem nachdem bevor ehe sobald solange sodass damit wie wo wohin woher wann warum weshalb wobei "
        "wodurch womit woran worauf woraus worin worüber wozu"
    ),
    "auxiliaries": (
        "bin bist ist sind seid sei seien war warst waren wart wäre wären gewesen sein habe hast hat haben habt hatte "
        "hatten hätte hätten gehabt werde wirst wird werden werdet wurde wurden würde würden geworden worden kann "
        "kannst können könnt konnte konnten könnte könnten darf dürfen durfte durften dürfte mag mögen mochte möchte "
        "möchten muss muß müssen musste mussten müsste soll sollen sollte sollten will wollen wollte wollten"
    ),
    "particles, pronominal adverbs": (
        "nicht nur auch schon sehr so zu mal ja nein hier dort da dann nun jetzt wieder weg hin her herum hinaus "
        "heraus herunter hinunter herauf hinauf hinein herein hinüber herüber vorbei dabei dadurch dafür dagegen "
        "daher dahin dahinter danach daneben daran darauf daraus darin darüber darum darunter davon davor dazu "
        "dazwischen etwa ganz fast noch immer"
    ),
}
LISTS: Mapping[str, frozenset[str]] = {
    code: frozenset(" ".join(classes.values()).split()) for code, classes in (("en", ENGLISH), ("de", GERMAN))
}
NAMES = {"en": "English", "de": "German"}
ENOUGH = 0.25  # of running words: a list of another language covers far less, its own far more


def language_of(words: Iterable[str]) -> str | None:
    """The language whose function words cover most of the running words, if they cover enough of them."""
    counts = Counter(words)
    total = counts.total()
    covered = {code: sum(n for word, n in counts.items() if word.lower() in known) for code, known in LISTS.items()}
    best = max(covered, key=lambda code: covered[code])
    return best if total and covered[best] >= ENOUGH * total else None
