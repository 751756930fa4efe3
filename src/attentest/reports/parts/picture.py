"""A chart's SVG made fit to stand in a page: nothing that runs, ids of its own, no more digits than pixels need."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from xml.etree import ElementTree

from markupsafe import Markup

from attentest.display.heatmaps.text import visible
from attentest.reports.parts.formatting import NAME, shown

_SHAPES = {"path", "text", "tspan", "rect", "circle", "ellipse", "line", "polyline", "polygon", "use"}
_KEPT = _SHAPES | {"svg", "g", "defs", "clipPath", "linearGradient", "radialGradient", "stop"}
_ATTRIBUTES = re.compile(
    r"class|id|d|transform|viewBox|width|height|[cr]?[xy][12]?|r|f[xyr]|offset|points|fill|stroke|opacity|"
    r"(fill|stroke|stop|font|text|dominant|clip|alignment|letter|word|paint|gradient)-?[a-zA-Z-]*|visibility|display"
)
_SAID = re.compile(r"role|aria-[a-z]+|version|pointer-events")  # in a file, but not in the page
_REFERENCE = re.compile(r"url\(#([\w-]+)\)")
_CALL = re.compile(rf"{_REFERENCE.pattern}|(rgb|hsl)a?\([\d.,%\s]+\)")
_TRANSFORM = re.compile(r"((translate|rotate|scale|matrix|skew[XY])\([\d.,eE\s+-]*\)[\s,]*)+")
_SVG = "{http://www.w3.org/2000/svg}"
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
LARGER = 1.2  # than Vega draws: its letters are small beside the page's
_MANY = 20  # marks of a kind that are worth drawing once and using often


def inline(svg: str, label: str, prefix: str) -> Markup:
    """The picture, to be read out as `label`; nothing if it is not a picture."""
    if "<!DOCTYPE" in svg or "<!ENTITY" in svg:
        return Markup("")
    try:
        root = ElementTree.fromstring(visible(svg).encode("utf-8", "replace"))
    except ElementTree.ParseError:
        return Markup("")
    if _tag(root) != "svg":
        return Markup("")
    for side in ("width", "height"):
        root.set(side, _larger(root.get(side, "")))
    parts: list[str] = []
    _write(root, parts, prefix, f' role="img" aria-label="{escape(shown(label))}"')
    return Markup("".join(parts))


def _write(element: ElementTree.Element, parts: list[str], prefix: str, extra: str = "") -> None:
    tag = _tag(element)
    if tag not in _KEPT or _is_unseen(element, tag):
        return
    children = list(element)
    symbols = _symbols(children, prefix) if tag == "g" and len(children) >= _MANY else []
    names = {symbol: f"{prefix}_s{len(parts)}_{i}" for i, symbol in enumerate(symbols)}
    parts.append(f"<{tag}{_attributes(element, prefix)}{extra}")
    if not children and not (element.text or "").strip():
        parts.append("/>")
        return
    parts.append(">" + escape(shown(element.text, NAME), quote=False) if element.text else ">")
    if names:
        parts.append("<defs>")
        parts += [f'<path id="{anchor}"{symbol}/>' for symbol, anchor in names.items()]
        parts.append("</defs>")
    for child in children:
        anchor = names.get(_attributes(child, prefix, but="transform")) if names else None
        place = _PLACE.fullmatch(child.get("transform", ""))
        if anchor is None or place is None:
            _write(child, parts, prefix)
        else:
            x, y = (f"{float(number):.1f}" for number in place.groups())
            parts.append(f'<use href="#{anchor}" x="{x}" y="{y}"/>')
    parts.append(f"</{tag}>")


def _symbols(children: list[ElementTree.Element], prefix: str) -> list[str]:
    """What many marks have in common but their place: points of one shape and colour."""
    drawn = Counter(_attributes(child, prefix, but="transform") for child in children if _tag(child) == "path")
    return [symbol for symbol, times in drawn.items() if times >= _MANY]


def _attributes(element: ElementTree.Element, prefix: str, but: str = "") -> str:
    kept = []
    for key, value in element.attrib.items():
        if key == but or not _ATTRIBUTES.fullmatch(key) or (key, value) == ("opacity", "1"):
            continue
        if key == "id":
            value = f"{prefix}_{value}"
        elif not _is_local(key, value):
            continue
        elif reference := _REFERENCE.fullmatch(value):
            value = f"url(#{prefix}_{reference[1]})"
        elif key not in ("class", "viewBox") and not key.startswith("font"):
            value = _rounded(value)
        kept.append(f' {key}="{escape(value)}"')
    return "".join(kept)


def _is_local(key: str, value: str) -> bool:
    """Whether a value refers to nothing outside of the picture: CSS has more ways to write an address than one can
    list, and all have a bracket."""
    known = _TRANSFORM if key.lower().endswith("transform") else _CALL
    return "(" not in value or known.fullmatch(value) is not None


def is_plain(svg: str) -> bool:
    """Whether a picture that a browser opens as a file of its own neither runs nor loads anything."""
    if "<!" in svg or "<?" in svg:  # entities, style sheets; Vega writes none
        return False
    try:
        root = ElementTree.fromstring(svg)
    except (ElementTree.ParseError, ValueError, RecursionError):
        return False
    return all(_is_plain(element) for element in root.iter())


def _is_plain(element: ElementTree.Element) -> bool:
    known = all(_ATTRIBUTES.fullmatch(key) or _SAID.fullmatch(key) for key in element.attrib)
    local = all(_is_local(key, value) for key, value in element.attrib.items() if not _SAID.fullmatch(key))
    return element.tag == f"{_SVG}{_tag(element)}" and _tag(element) in _KEPT and known and local


def _larger(side: str) -> str:
    return f"{float(side) * LARGER:.0f}" if re.fullmatch(r"\d+(\.\d+)?", side) else side


def _rounded(value: str) -> str:
    return _NUMBER.sub(lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), value)


def _is_unseen(element: ElementTree.Element, tag: str) -> bool:
    """Empty frames, and the white sheet behind the picture, which would be a lamp in a dark page."""
    if element.get("display") == "none":
        return True
    painted = element.get("fill") or element.get("stroke")
    if tag == "path" and element.get("class") in ("background", "foreground"):
        return not painted
    return tag == "rect" and not element.get("class") and painted in ("white", "#fff", "#ffffff")


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
