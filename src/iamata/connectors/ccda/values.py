"""How are CDA's data types read? Each function takes an element and gives a value of the model, or None.

HL7 V3 data types R1 as CDA R2 uses them: CD/CE/CV, PQ, IVL_PQ, RTO, INT, REAL, BL, ST, ED, TS, II, EN, AD, TEL. A value
with a nullFlavor says why it is missing. Not here: which element means what (`readings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from iamata.connectors.ccda.narrative import Anchors, plain
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.times import point, when
from iamata.model.coding import BusinessIdentifier, CodedText, Coding, Quantity, Range, Ratio
from iamata.model.statement import Value
from iamata.terminology.systems import normal
from iamata.terminology.units import number, ucum

# V3 ActCode ASSERTION (2.16.840.1.113883.5.4): the observation's value says what is asserted, its code says nothing.
ASSERTION = "ASSERTION"
# HL7 NullFlavor (2.16.840.1.113883.5.1008): one that stands where a code should is no code.
_NULL_FLAVORS = frozenset({"NI", "UNK", "NA", "NASK", "ASKU", "NAV", "OTH", "MSK", "NINF", "PINF", "TRC", "QS", "NP"})
_NPI = "2.16.840.1.113883.4.6"
_NAME_PARTS = ("prefix", "given", "family", "suffix")
# EntityNameUse in the order in which a name is taken: legal before others, birth names and pseudonyms last.
_NAME_USES = ("L", "C", "", "ASGN", "I", "R", "SNDX", "SRCH", "P", "A", "BR")
_ADDRESS_PARTS = ("streetAddressLine", "city", "state", "postalCode", "country")
_COMPARATORS = {("low", True): ">=", ("low", False): ">", ("high", True): "<=", ("high", False): "<"}


def type_of(node: Node) -> str:
    """The data type it declares: `CD`, `PQ`, `IVL_PQ` …; empty if it declares none."""
    return node.get("xsi:type").rpartition(":")[2]


def identifiers(node: Node, name: str = "id") -> tuple[BusinessIdentifier, ...]:
    """Every id with a root or an extension, as sent, sorted, each once. A nullFlavor alone is no id."""
    found = set()
    for each in node.all(name):
        root, extension = each.get("root"), each.get("extension")
        if each.nil and not extension:
            continue
        if root and extension:
            found.add(BusinessIdentifier(root, extension))
        elif root or extension:
            found.add(BusinessIdentifier("", root or extension))
    return tuple(sorted(found))


def first_id(node: Node) -> str:
    """`root|extension` of the first usable id as it stands; a root alone (a UUID) is written as it is."""
    for each in node.all("id"):
        root, extension = each.get("root"), each.get("extension")
        if each.nil and not extension:
            continue
        if root or extension:
            return f"{root}|{extension}" if root and extension else root or extension
    return ""


def npi(node: Node) -> str:
    """The National Provider Identifier (2.16.840.1.113883.4.6) among the ids; empty if there is none."""
    return next((each.get("extension") for each in node.all("id") if each.get("root") == _NPI), "")


def telecoms(node: Node) -> str:
    return "; ".join(dict.fromkeys(each.get("value") for each in node.all("telecom") if each.get("value")))


def addresses(node: Node) -> str:
    """Every address in words, its parts in the usual order; text that stands in no part as it is."""
    found = []
    for each in node.all("addr"):
        parts = [part.words for name in _ADDRESS_PARTS for part in each.all(name) if part.words]
        found.append(", ".join(parts) if parts else each.words)
    return "; ".join(dict.fromkeys(filter(None, found)))


def name(node: Node | None, element: str = "name") -> str:
    """The name to show, of several the legal or unqualified one: prefix, given names, family name, suffix."""
    if node is None:
        return ""
    found = []
    for index, each in enumerate(node.all(element)):
        said = _name_of(each)
        use = each.get("use").partition(" ")[0]
        if said:
            found.append((_NAME_USES.index(use) if use in _NAME_USES else len(_NAME_USES), index, said))
    return min(found)[2] if found else ""


def names(node: Node, element: str = "name") -> list[str]:
    """Every name, in document order."""
    return [said for each in node.all(element) if (said := _name_of(each))]


def _name_of(node: Node) -> str:
    parts = [part.words for kind in _NAME_PARTS for part in node.all(kind) if part.words]
    return " ".join(parts) if parts else node.words


class Values:
    """Reads the values of one document; equal codings are shared. `anchors` resolve `#id` into the narrative."""

    def __init__(self, anchors: Anchors) -> None:
        self._anchors = anchors
        self._codings: dict[tuple[str, str, str], Coding] = {}

    def resolve(self, anchor: str) -> str:
        return self._anchors.words(anchor)

    def text(self, node: Node | None) -> str:
        """The words of an ED or ST: what its reference into the narrative leads to, else its own text."""
        if node is None:
            return ""
        reference = node.one("reference")
        if reference is not None and reference.get("value").startswith("#"):
            words = self.resolve(reference.get("value")[1:])
            if words:
                return words
        return plain(node)

    def coding(self, node: Node) -> Coding | None:
        code, display = node.get("code"), node.get("displayName")
        if not display and (not code or code in _NULL_FLAVORS):
            return None
        key = (node.get("codeSystem"), code, display)
        found = self._codings.get(key)
        if found is None:
            found = self._codings[key] = Coding(*key, normal(key[0], code) if key[0] and code else "")
        return found

    def coded(self, node: Node | None) -> CodedText | None:
        """A CD: its code, its translations, and the words of its originalText. None if it says nothing.

        Words that fill several cells or lines are a row of the narrative rather than a name: they are the concept's
        text only where no code has a name.
        """
        if node is None:
            return None
        codings = [c for each in (node, *_translations(node)) if (c := self.coding(each)) is not None]
        codings = list(dict.fromkeys(codings))
        words = self.text(node.one("originalText"))
        if "\t" in words or "\n" in words:
            named = any(coding.display for coding in codings)
            words = "" if named else " ".join(words.split())
        return CodedText(words, tuple(codings)) if words or codings else None

    def quantity(self, node: Node | None) -> Quantity | None:
        """A PQ, INT, REAL or MO, or None if it has no value. The unit `1` of UCUM is no unit."""
        if node is None:
            return None
        value = node.get("value")
        if not value:
            return self._translated(node)
        unit = node.get("unit") or node.get("currency")
        if unit == "1":
            unit = ""
        return Quantity(value, unit, ucum=ucum(unit) or ucum("", "http://unitsofmeasure.org", _ucum_shape(unit)))

    def _translated(self, node: Node) -> Quantity | None:
        """A PQ whose unit is no UCUM: the value stands in a translation (PQR)."""
        for each in node.all("translation"):
            if each.get("value"):
                original = self.text(each.one("originalText"))
                unit = original or each.get("displayName") or each.get("code")
                return Quantity(each.get("value"), unit, each.get("code"), ucum=ucum(unit))
        return None

    def interval(self, node: Node) -> Range | Quantity | None:
        """An IVL_PQ: a range; with one end that is open on the other side, that end with its comparator."""
        low, high = (self.quantity(node.one(end)) for end in ("low", "high"))
        if low is not None and high is not None:
            return Range(low, high)
        for end, amount in (("low", low), ("high", high)):
            element = node.one(end)
            if amount is not None and element is not None:
                sign = _COMPARATORS[end, element.get("inclusive") != "false"]
                return Quantity(amount.value, amount.unit, amount.code, sign, amount.ucum)
        return self.quantity(node) or self.quantity(node.one("center"))

    def range(self, node: Node) -> Range | None:
        """An IVL_PQ as a range that may be open."""
        low, high = (self.quantity(node.one(end)) for end in ("low", "high"))
        return Range(low, high) if low is not None or high is not None else None

    def value(self, node: Node | None) -> Value | None:
        """A `value` of any type, by the type it declares, else by its looks. `false` and `0` are values."""
        if node is None:
            return None
        match type_of(node):
            case "CD" | "CE" | "CV" | "CO" | "CS":
                return self.coded(node)
            case "PQ" | "REAL" | "MO":
                return self.quantity(node) or self._words_of(node)
            case "INT":
                whole = node.get("value")
                return int(whole) if re.fullmatch(r"[+-]?\d{1,15}", whole) else Quantity(whole) if whole else None
            case "BL":
                return {"true": True, "false": False}.get(node.get("value"))
            case "TS":
                return point(node.get("value"))
            case "IVL_TS":
                return when([node]).at
            case "IVL_PQ" | "IVL_INT" | "IVL_REAL":
                return self.interval(node) or self._words_of(node)
            case "RTO" | "RTO_PQ_PQ" | "RTO_QTY_QTY":
                above, below = (self.quantity(node.one(part)) for part in ("numerator", "denominator"))
                return Ratio(above, below) if above and below else above
            case "II":
                return first_id(node) or node.get("extension") or node.get("root") or None
            case "ST" | "ED" | "SC":
                return self.text(node) or None
        if node.get("code") or node.get("displayName"):
            return self.coded(node)
        if node.get("value"):
            amount = node.get("value")
            return self.quantity(node) if number(amount) is not None or node.get("unit") else amount
        return self.coded(node) or self.interval(node) or self.text(node) or None

    def _words_of(self, node: Node) -> str | None:
        return self.text(node.one("originalText")) or self.text(node) or None

    def concepts(self, nodes: Iterable[Node]) -> CodedText | None:
        """Several CDs as one: texts joined, all codings."""
        found = [c for each in nodes if (c := self.coded(each)) is not None]
        if len(found) < 2:
            return found[0] if found else None
        joined = "; ".join(dict.fromkeys(c.display for c in found))
        return CodedText(joined, tuple(dict.fromkeys(coding for c in found for coding in c.codings)))


def _translations(node: Node) -> list[Node]:
    """Translations, theirs too."""
    found = []
    for each in node.all("translation"):
        found += [each, *_translations(each)]
    return found


def _ucum_shape(unit: str) -> str:
    """CDA R2 demands UCUM in `unit`: what looks like UCUM (no blanks) is taken as sent."""
    return unit if unit and re.fullmatch(r"[!-~]+", unit) else ""


def absent(node: Node | None) -> str:
    """Why a value is missing: its nullFlavor, empty if it is there."""
    return node.nil if node is not None else ""
