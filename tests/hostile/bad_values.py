"""Bad values for every argument and option of every command, generated from what each of them takes.

`python tests/hostile/bad_values.py` prints how many there are of each kind, by command.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from attentest.cli.commands import app
from attentest.settings import Setting, settings_of
from attentest.training.settings import known_settings
from attentest.translation.settings import OtherWeights, Search, translation_settings
from attentest.trials import trial_class

PAIR = "NAME=VALUE"
FLAG = "a flag with a value"
DEEP, DEEPER = "[" * 1000 + "]" * 1000, "[" * 100_000
HUGE = ("2000000000", "1" + "0" * 18)
OVERFLOWING = ("1" + "0" * 19, "9" * 5000)
NO_WHOLE_NUMBERS = ("", "many", "1.5", "1e3", "nan", "inf", "0x10", "--1")
NO_FLOATS = ("", "much", "nan", "inf", "-inf", "1e999", "1,5")
STEERING = "\x1b[31mred\x1b[0m\n\u202e\x9b2J"
NO_NAMES = ("nosuch", STEERING, "x" * 5000, "../../etc/passwd")
ENCODINGS = ("idna", "punycode", "undefined", "rot13", "hex", "base64", "zlib", "klingon", "", STEERING)
DEVICES = ("gpu", "cuda:99", "meta", "cpu:x", "", STEERING)
STORES = (
    *("zip://there.zip", "tar://there.tar", "http://127.0.0.1:9/store", "https://127.0.0.1:9/store"),
    *("ftp://127.0.0.1:9/store", "nosuch://store", "github://a:b@c/", "@file@", "@file@/below", "@loop@", "@long@"),
    *("@fifo@", "/dev/full/store", "/proc/nosuch/store"),
)
ODD_FILES = (  # what may lie in place of a file or a folder: the names of `odd_files`
    *("@missing@", "@fifo@", "@socket@", "/dev/zero", "/dev/full", "/dev/null", "@empty folder@", "@file@", "@binary@"),
    *("@dangling@", "@loop@", "@long@", "@bytes@", "@steering@", "@file@/below", ""),
)
ODD_CORPORA = (
    *("hf:", "nosuch", STEERING, "@empty.csv@", "@binary.csv@", "@fifo.csv@", "@folder.csv@", "@zip.parquet@"),
    "@deep.jsonl@",
)
STUDIES = tuple(
    f"@{name}.yaml@"
    for name in (
        *("empty", "binary", "fifo", "folder", "deep", "laughs", "recursive", "tagged", "long", "dangling", "loop"),
        *("infinite", "huge", "seeds", "list", "unknown"),
    )
)
NO_PARAMETERS = {
    "projection": ("sparsegen:-inf", "sparsegen:nan", "entmax:inf", "gumbel-softmax:0", "softmax:1", "sparsegen:"),
    "alignment": ("deep:1e9", "deep:-1", "deep:nan", "dot:3"),
}
NO_FOLDERS_TO_WRITE = (
    *("@fifo@", "@socket@", "/dev/full", "/dev/null", "@file@", "@file@/below", "@loop@", "@long@", "@dangling@/below"),
    *("/proc/nosuch/out", "@others@"),
)
NO_FILES_TO_WRITE = (
    *("@fifo@", "@socket@", "/dev/full", "/dev/null", "@empty folder@", "@file@/below", "@loop@", "@long@"),
    *("/proc/nosuch/page.html", ""),
)
# of each command what is right about it; the bad value comes after it, or in the place of what it names
RIGHT = {
    "audit": ("@csv@", "--out", "@out@", "--store", "@store@", "--json"),
    "train": ("@csv@", "--out", "@out@", "--json"),
    "finetune": ("@csv@", "--base", "@encoder@", "--out", "@out@", "--json"),
    "translate": ("@translator@", "--text", "two dogs"),
    "show": ("@run@",),
    "serve": ("@run@", "--port", "0"),
    "annotate create": ("@run@", "--out", "@out@"),
    "annotate serve": ("@people@", "--port", "0"),
    "annotate report": ("@people@",),
    "annotate export": ("@people@", "--out", "@out@/answers.csv"),
    "annotate import": ("@people@", "@answers@"),
    "trial": ("permutation", "@run@"),
    "compare": ("@run@", "@sibling@", "--out", "@out@", "--store", "@store@", "--json"),
    "report": ("@run@", "--out", "@out@/page.html"),
    "export": ("@run@", "--to", "csv", "--out", "@out@/verdicts.csv"),
    "calibrate": ("--out", "@out@", "--store", "@store@", "--budget", "quick", "--json"),
    "study": ("@study@", "--out", "@out@", "--store", "@store@", "--json"),
    "status": ("@missing@",),
    "store gc": ("--store", "@store@"),
    **dict.fromkeys(("trials", "corpora", "models"), ()),
}
ARGUMENTS = {  # places in RIGHT
    ("audit", "source"): 0,
    ("train", "source"): 0,
    ("finetune", "source"): 0,
    ("translate", "run"): 0,
    ("show", "runs"): 0,
    ("serve", "runs"): 0,
    ("annotate create", "run"): 0,
    ("annotate serve", "folder"): 0,
    ("annotate report", "folder"): 0,
    ("annotate export", "folder"): 0,
    ("annotate import", "folder"): 0,
    ("annotate import", "file"): 1,
    ("trial", "name"): 0,
    ("trial", "run"): 1,
    ("compare", "a"): 0,
    ("compare", "b"): 1,
    ("report", "folder"): 0,
    ("export", "folder"): 0,
    ("study", "name"): 0,
    ("status", "folder"): 0,
}
TO_WRITE = {
    *(("translate", "out"), ("show", "html"), ("show", "svg"), ("report", "out"), ("export", "out")),
    *(("annotate report", "html"), ("annotate export", "out")),
}
# any text can be right, or it counts with other options alone
FREE: set[str | tuple[str, str]] = {
    *("address", "name", "data_dir", "annotators"),
    *(("show", "text"), ("translate", "text")),
}
BOUNDS: dict[str, tuple[str, ...]] = {  # of numbers that are no settings; more rows or texts than there are, are all
    "rows": ("-1", "0", "9"),
    "texts": ("-1", "0"),
    "n": ("-1", "0"),
    "plant": ("-0.1", "0", "1.1"),
    "detect": ("-0.1", "0", "1.1"),
    "known": ("-1", "9999"),
    "least_known": ("-0.1", "1.1"),
    "least_time": ("-1", *HUGE),
    "port": ("-1", "65536"),
    "head": ("-1", "99"),
    "seed": ("-1",),
    "threads": ("-1", "0", *HUGE),
    "workers": ("-1", "0", *HUGE),
}


@dataclass(frozen=True)
class Case:
    command: str
    parameter: str
    kind: str  # of badness
    arguments: tuple[str, ...]


def cases() -> Iterator[Case]:
    """All of them; what stands between two @ is the name of a place that the tests make."""
    for command, function in functions():
        right = RIGHT[command]
        for name, hint, about in parameters(function):
            for kind, values in _bad(command, name, hint, about):
                yield Case(command, name, kind, _with(command, name, about, right, values))
        yield Case(command, "", "unknown option", (*right, "--nosuch"))
        yield Case(command, "", "unknown short option", (*right, "-Z"))
        if command not in ("show", "study"):  # these take several
            yield Case(command, "", "one argument too many", (*right, "toomuch"))
        if command in {named for named, _ in ARGUMENTS}:
            yield Case(command, "", "no argument", ())
    yield Case("", "", "unknown command", ("adit",))
    yield Case("", "", "unknown command", (STEERING,))
    yield Case("", "", "unknown option", ("--nosuch",))
    yield Case("store", "", "unknown command", ("gb",))
    yield Case("annotate", "", "unknown command", ("creat",))


def functions() -> Iterator[tuple[str, Any]]:
    for one in app.registered_commands:
        assert one.callback is not None
        yield one.name or one.callback.__name__, one.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        for one in group.typer_instance.registered_commands:
            assert one.callback is not None
            yield f"{group.name} {one.name or one.callback.__name__}", one.callback


def parameters(function: Any) -> Iterator[tuple[str, Any, Any]]:
    """Of a command: name, type of a value, and typer's Option or Argument."""
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD and name != "more":  # corpora after --corpus
            yield name, *_read(parameter.annotation)


def _read(annotation: Any) -> tuple[Any, Any]:
    """The type of a value, and typer's Option or Argument."""
    assert get_origin(annotation) is Annotated
    hint, about = get_args(annotation)
    if get_origin(hint) in (UnionType, Union):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    return (get_args(hint)[0] if get_origin(hint) is list else hint), about


def _with(command: str, name: str, about: Any, right: tuple[str, ...], values: tuple[str, ...]) -> tuple[str, ...]:
    if (command, name) in ARGUMENTS:
        place = ARGUMENTS[command, name]
        return (*right[:place], *values, *right[place + 1 :])
    flag = next((one for one in _flags(name, about) if one.startswith("--")), "")
    if flag in right:  # given once only
        place = right.index(flag)
        right = (*right[:place], *right[place + 2 :])
    return (*right, *(part for value in values for part in ((flag, value) if value != FLAG else (f"{flag}=yes",))))


def _flags(name: str, about: Any) -> list[str]:
    flags = [part for one in about.param_decls or () for part in one.split("/")]
    return flags or [f"--{name.replace('_', '-')}"]


Bad = Iterator[tuple[str, tuple[str, ...]]]  # kinds of badness, and the values that an option is given: mostly one


def _each(kind: str, values: Iterable[str]) -> Bad:
    return ((kind, (value,)) for value in values)


def _each_place(kind: str, values: Iterable[str]) -> Bad:
    return ((f"{kind}: {value.strip('@') or 'nothing'}", (value,)) for value in values)


def _bad(command: str, name: str, hint: Any, about: Any) -> Bad:
    setting = _settings(command).get(name)
    if hint is bool:
        return _each(FLAG, [FLAG])
    if hint in (int, float):
        return ((kind, (value,)) for kind, value in _numbers(hint, setting, name))
    if hint is Path:
        return _each_place("file or folder", _paths(command, name))
    if about.metavar == PAIR:
        return _pairs(command, name)
    if (command, name) in ARGUMENTS:
        return _arguments(command, name)
    return iter(()) if name in FREE or (command, name) in FREE else _names(name)


def _settings(command: str) -> dict[str, Setting]:
    """Those that have options of a command."""
    if command == "translate":
        return {one.name: one for kind in (OtherWeights, Search) for one in settings_of(kind)}
    of_labels = {name: one for name, (_, one) in known_settings().items()}
    of_translation = {name: one for name, (_, one) in translation_settings().items()}
    return {"train": of_translation | of_labels, "audit": of_labels, "finetune": of_labels}.get(command, {})


def _arguments(command: str, name: str) -> Bad:
    if name == "source":
        return _each_place("source", (*ODD_FILES, *ODD_CORPORA))
    studies = _each_place("study", STUDIES) if command == "study" else ()
    return chain(_each("no such name", NO_NAMES), studies)


def _names(name: str) -> Bad:
    if name == "store":
        return _each("store", STORES)
    if name in ("encoding", "device"):
        return _each(f"no such {name}", ENCODINGS if name == "encoding" else DEVICES)
    files = [place for place in ODD_FILES if place] if name == "vectors" else ()
    return chain(
        _each("no such name", NO_NAMES),
        _each_place("file or folder", files),
        _each("parameter of a part", NO_PARAMETERS.get(name, ())),
    )


def _numbers(hint: Any, setting: Setting | None, name: str) -> Iterator[tuple[str, str]]:
    yield from (("no number", value) for value in (NO_WHOLE_NUMBERS if hint is int else NO_FLOATS))
    if hint is int:
        yield from (("overflowing number", value) for value in OVERFLOWING)
    if setting is None:
        yield from (("number out of bounds", value) for value in BOUNDS[name])
        return
    about = setting.about
    if about.least is not None:
        yield "number out of bounds", str(about.least - 1)
    if about.above is not None:
        yield "number out of bounds", str(about.above)
    if about.most is not None:
        yield "number out of bounds", str(about.most + 1)
        yield from (("huge number", value) for value in HUGE if int(value) > about.most)


def _paths(command: str, name: str) -> tuple[str, ...]:
    if (command, name) in TO_WRITE:
        return NO_FILES_TO_WRITE
    if name == "out":
        return NO_FOLDERS_TO_WRITE
    if name in FREE:
        return ()
    return ODD_FILES


def _pairs(command: str, name: str) -> Bad:
    known = {
        "option": "permutations" if command == "trial" else "difficulty",
        "setting": "hidden",
        "threshold": "faithful.gradient",
        "labels": "LABEL_0",
    }[name]
    for value in ("noequals", "", "=1", "nosuch=1", f"{STEERING}=1", "x" * 5000 + "=1"):
        yield "no such pair", (value,)
    for value in (DEEP, DEEPER, '{"a":' * 1000, '{"a": 1}', "[[1]]"):
        yield "nested value", (f"{known}={value}",)
    for value in ("NaN", "Infinity", "-Infinity", "1e999", "[NaN]"):
        yield "infinite value", (f"{known}={value}",)
    for value in ("null", "true", "[]", '""', "many", "9" * 5000, STEERING):
        yield "value of another type", (f"{known}={value}",)
    yield "pair given twice", (f"{known}=1", f"{known}=2")
    if name == "setting":
        for one, (_, setting) in known_settings().items():
            yield from ((kind, (f"{one}={value}",)) for kind, value in _of_setting(setting))
    if (command, name) == ("trial", "option"):
        for setting in settings_of(trial_class("permutation")):
            yield from ((kind, (f"{setting.name}={value}",)) for kind, value in _of_setting(setting))


def _of_setting(setting: Setting) -> Iterator[tuple[str, str]]:
    """Bad values as NAME=VALUE has them."""
    if setting.several or setting.kind is str:
        yield "value of another type", "7"
        yield "value of another type", "[7]"
        if setting.choices:
            yield from (("no such name", value) for value in NO_NAMES)
    elif setting.kind is bool:
        yield from (("value of another type", value) for value in ("1", "yes", "[true]"))
    else:
        yield from (("value of another type", value) for value in ("true", "many", '"1"', "[1]"))
        yield from _numbers_in_bounds(setting)


def _numbers_in_bounds(setting: Setting) -> Iterator[tuple[str, str]]:
    for kind, value in _numbers(setting.kind, setting, setting.name):
        if kind != "no number":
            yield kind, value


def counts() -> dict[str, Counter[str]]:
    """How many cases of each kind there are, by command."""
    found: dict[str, Counter[str]] = {}
    for case in cases():
        found.setdefault(case.command or "attentest", Counter())[case.kind.partition(":")[0]] += 1
    return found


if __name__ == "__main__":
    for command, kinds in counts().items():
        print(f"{command}: {kinds.total()}", *(f"{kind} {n}" for kind, n in kinds.most_common()), sep="\n  ")
    print(f"{sum(kinds.total() for kinds in counts().values())} in all")
