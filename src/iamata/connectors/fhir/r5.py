"""Which R4 element says the same as this element of an R5 (5.0.0) resource? Rewrites a resource to the shape the reader
knows, by the rows of `terminology/data/fhir_r5_elements.tsv`, and remembers where each rewritten value really stands.

What R4 has no element for stays where it is; the mappings read it there. An element that already has its R4 shape is
left alone, so a document that mixes the two is read. Not here: identity (the item keeps its own canonical bytes), and
which R5 codes mean what (`terminology/data/statuses.tsv`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from iamata.connectors.fhir.values import Json, WrongShape, codes, first_code, mapping, objects, string
from iamata.terminology.tables import rows

# Types that came with R5 (FHIR R5, resource list; differences to R4 on each page).
_R5_TYPES = frozenset(
    {
        *("DeviceUsage", "DeviceAssociation", "DeviceDispense", "EncounterHistory", "GenomicStudy", "ImagingSelection"),
        *("InventoryItem", "InventoryReport", "NutritionIntake", "Permission", "Transport", "FormularyItem"),
    }
)
# A longer text of digits counts nothing and stays text.
_LONGEST_NUMBER: Final = 9
_CODEABLE_REFERENCES = {
    "MedicationRequest": ("medication", "reason"),
    "MedicationStatement": ("medication", "reason"),
    "MedicationAdministration": ("medication", "reason"),
    "MedicationDispense": ("medication",),
    "DeviceRequest": ("code", "reason"),
    "ServiceRequest": ("code", "reason"),
    "Procedure": ("reason", "used", "complication"),
    "Immunization": ("reason", "informationSource"),
}
# Elements that only R5 has, by type.
_R5_ELEMENTS = {
    "Encounter": ("actualPeriod", "admission", "plannedStartDate"),
    "Condition": ("participant",),
    "AllergyIntolerance": ("participant",),
    "FamilyMemberHistory": ("participant",),
    "MedicationStatement": ("adherence",),
    "Procedure": ("occurrenceDateTime", "occurrencePeriod", "occurrenceString", "reportedReference", "reportedBoolean"),
    "Coverage": ("insurer", "paymentBy", "kind"),
    "Consent": ("decision", "grantor"),
}
_R4_ELEMENTS = (
    *("medicationCodeableConcept", "medicationReference", "performedDateTime", "performedPeriod", "reasonCode"),
    *("reasonReference", "asserter"),
)
_CHOICES = ("DateTime", "Period", "String", "Age", "Range", "Timing", "Date")


class Rewritten(NamedTuple):
    """The R4-shaped resource, and for each moved value its path there → its path in the resource as sent."""

    resource: Json
    moved: dict[str, str]


class _Holder(NamedTuple):
    """An object being rewritten, its path in the R4 shape and its path as sent."""

    value: Json
    path: str
    sent: str


class _Rule(NamedTuple):
    path: tuple[str, ...]
    action: str
    to: str


def looks_r5(resources: Iterable[Json]) -> bool:
    """Has one of the resources a shape that only R5 has, and none a shape that only R4 has?"""
    found = False
    for resource in resources:
        if _r4_shape(resource):
            return False
        found = found or _r5_shape(resource)
    return found


def as_r4(resource: Json) -> Rewritten:
    """The resource in R4 shape. Raises WrongShape, naming the element as sent, for a value of the wrong JSON type.

    The resource that is given is not changed. Contained resources stay as they are: each is an item of its own.
    """
    rules = _rules(resource["resourceType"])
    if not rules:
        return Rewritten(resource, {})
    copied = {name: value if name in ("contained", "text") else _copied(value) for name, value in resource.items()}
    moved: dict[str, str] = {}
    for rule in rules:
        for holder in list(_holders(_Holder(copied, "", ""), rule.path[:-1], moved)):
            if holder.value.get(rule.path[-1]) is not None or rule.action in _STEMS:
                _ACTIONS[rule.action](holder, rule.path[-1], rule.to, moved)
    return Rewritten(copied, moved)


def sent_path(path: str, moved: dict[str, str]) -> str:
    """The path as sent of a path in the R4 shape: by the longest moved path that it begins with."""
    if not moved:
        return path
    head = path
    while head:
        if head in moved:
            return moved[head] + path[len(head) :]
        head = head.rpartition("/")[0]
    return path


@cache
def _rules(type: str) -> tuple[_Rule, ...]:
    return tuple(
        _Rule(tuple(row["element"].split("/")), row["action"], row["to"])
        for row in rows("fhir_r5_elements")
        if row["type"] == type
    )


@cache
def _functions(type: str) -> dict[str, str]:
    return {row["function"]: row["to"] for row in rows("fhir_r5_functions") if row["type"] == type}


def _r5_shape(resource: Json) -> bool:
    type = resource["resourceType"]
    if type in _R5_TYPES or any(name in resource for name in _R5_ELEMENTS.get(type, ())):
        return True
    if type == "Encounter" and isinstance(resource.get("class"), list):
        return True
    return any(
        isinstance(each, dict) and (isinstance(each.get("concept"), dict) or isinstance(each.get("reference"), dict))
        for name in _CODEABLE_REFERENCES.get(type, ())
        for each in _listed(resource.get(name))
    )


def _r4_shape(resource: Json) -> bool:
    if any(name in resource for name in _R4_ELEMENTS):
        return True
    return resource["resourceType"] == "Encounter" and isinstance(resource.get("class"), dict)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _join(path: str, name: str | int) -> str:
    return f"{path}/{name}" if path else str(name)


def _holders(holder: _Holder, path: tuple[str, ...], moved: dict[str, str]) -> Iterator[_Holder]:
    """The objects at a path of names and `*`. A single object where a list may stand counts too."""
    if not path:
        yield holder
        return
    name, rest = path[0], path[1:]
    value = holder.value.get(name)
    if value is None:
        return
    at, sent = _join(holder.path, name), _join(holder.sent, name)
    many = bool(rest) and rest[0] == "*"
    rest = rest[1:] if many else rest
    if isinstance(value, list) and many:
        for index, each in enumerate(value):
            if isinstance(each, dict):
                yield from _holders(_Holder(each, f"{at}/{index}", f"{sent}/{index}"), rest, moved)
            elif each is not None:
                raise WrongShape(f"{sent}/{index}", "object")
    elif isinstance(value, dict):
        yield from _holders(_Holder(value, at, sent), rest, moved)
    else:
        raise WrongShape(sent, "list" if many else "object")


def _put(holder: _Holder, to: str, value: Any, sent: str, moved: dict[str, str]) -> None:
    """Sets a value that has not its R4 element yet; `sent` is its path as sent."""
    if holder.value.get(to) is None:
        holder.value[to] = value
        moved[_join(holder.path, to)] = sent


def _rename(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """The same value under its R4 name, with the extensions of a primitive beside it."""
    if holder.value.get(to) is not None:
        return
    _put(holder, to, holder.value.pop(name), _join(holder.sent, name), moved)
    if f"_{name}" in holder.value:
        holder.value[f"_{to}"] = holder.value.pop(f"_{name}")


def _choice(holder: _Holder, stem: str, to: str, moved: dict[str, str]) -> None:
    """`stem[x]` → `to[x]`."""
    for suffix in _CHOICES:
        if holder.value.get(stem + suffix) is not None:
            _rename(holder, stem + suffix, to + suffix, moved)


def _split(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A CodeableReference, or a list of them → its concept and its reference, each under its R4 name; a list stays one.

    What is no CodeableReference (a concept or a reference as in R4) stays.
    """
    concept_name, reference_name = to.split(",")
    value, sent = holder.value[name], _join(holder.sent, name)
    found: dict[str, list[tuple[Any, str]]] = {concept_name: [], reference_name: []}
    plain: list[tuple[Any, str]] = []
    for index, each in enumerate(_listed(value)):
        at = f"{sent}/{index}" if isinstance(value, list) else sent
        if each is None:
            continue
        inner = mapping(each, at)
        if not _codeable_reference(inner):
            plain.append((inner, at))
            continue
        for part, under in (("concept", concept_name), ("reference", reference_name)):
            if inner.get(part) is not None:
                found[under].append((mapping(inner[part], f"{at}/{part}"), f"{at}/{part}"))
    if not any(found.values()):
        return
    del holder.value[name]
    if plain:
        found.setdefault(name, []).extend(plain)
    for under, values in found.items():
        if not values or holder.value.get(under) is not None:
            continue
        if isinstance(value, list):
            holder.value[under] = [each for each, _at in values]
            moved.update((f"{_join(holder.path, under)}/{n}", at) for n, (_each, at) in enumerate(values))
        else:
            _put(holder, under, values[0][0], values[0][1], moved)


def _codeable_reference(value: Json) -> bool:
    return isinstance(value.get("concept"), dict) or isinstance(value.get("reference"), dict)


def _reference(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """A CodeableReference → its reference; a concept alone → a reference that only shows it."""
    value = mapping(holder.value[name], _join(holder.sent, name))
    sent = _join(holder.sent, name)
    if isinstance(value.get("reference"), dict):
        holder.value[name] = value["reference"]
        moved[_join(holder.path, name)] = f"{sent}/reference"
    elif isinstance(value.get("concept"), dict):
        holder.value[name] = {"display": _words(value["concept"])}
        moved[_join(holder.path, name)] = f"{sent}/concept"


def _words(concept: Json) -> str:
    """The text of a CodeableConcept, else the first display or code."""
    text = string(concept, "text")
    for _index, coding in objects(concept, "coding"):
        text = text or string(coding, "display") or string(coding, "code")
    return text


def _code(holder: _Holder, name: str, _to: str, _moved: dict[str, str]) -> None:
    """A CodeableConcept → its first code, else its text."""
    value = holder.value[name]
    if isinstance(value, dict):
        holder.value[name] = first_code(value) or _words(value)


def _coding(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """A CodeableConcept, or the concept of a CodeableReference → its first Coding, else its text as a display."""
    value, sent = holder.value[name], _join(holder.sent, name)
    concept = mapping(value, sent)
    if isinstance(concept.get("concept"), dict):
        concept, sent = concept["concept"], f"{sent}/concept"
    if "coding" not in concept and "text" not in concept:
        return
    coded = next((each for _index, each in objects(concept, "coding")), None)
    holder.value[name] = coded if coded is not None else {"display": string(concept, "text")}
    moved[_join(holder.path, name)] = sent


def _first(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """A list → its first element."""
    value = holder.value[name]
    if isinstance(value, list):
        held = [(index, each) for index, each in enumerate(value) if each is not None]
        holder.value[name] = held[0][1] if held else None
        moved[_join(holder.path, name)] = f"{_join(holder.sent, name)}/{held[0][0] if held else 0}"


def _adherence(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """`adherence.code` → the item's `adherence`; `adherence.reason` → the reasons of its status."""
    value, sent = mapping(holder.value[name], _join(holder.sent, name)), _join(holder.sent, name)
    if "code" not in value and "reason" not in value:
        return
    holder.value[name] = value.get("code")
    moved[_join(holder.path, name)] = f"{sent}/code"
    if value.get("reason") is not None:
        _put(holder, to, _listed(value["reason"]), f"{sent}/reason", moved)


def _number(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A text → `to[x]`: a whole number if it is one, else a string."""
    value = string(holder.value, name)
    number = value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
    under = f"{to}PositiveInt" if number else f"{to}String"
    _put(holder, under, int(value) if number else value, _join(holder.sent, name), moved)
    del holder.value[name]


def _identifier(holder: _Holder, name: str, _to: str, _moved: dict[str, str]) -> None:
    """An Identifier, or a list of them → the value of the first that has one."""
    held = holder.value[name]
    if not isinstance(held, str):
        values = [string(each, "value") for _index, each in objects(holder.value, name)]
        holder.value[name] = next(filter(None, values), None)


def _numerator(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A Quantity → a Ratio that has only its numerator."""
    _put(holder, to, {"numerator": holder.value.pop(name)}, _join(holder.sent, name), moved)


def _words_of(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A CodeableConcept → its words, as text."""
    concept = mapping(holder.value[name], _join(holder.sent, name))
    _put(holder, to, _words(concept), f"{_join(holder.sent, name)}/text", moved)
    del holder.value[name]


def _texts(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A list of objects → the texts at `to` in each, one a line. What has none (a reference) stays in the list."""
    if isinstance(holder.value[name], str):
        return
    found: list[tuple[int, str]] = []
    rest: list[Any] = list(_listed(holder.value[name]))
    for index, each in objects(holder.value, name):
        value: Any = each
        for step in to.split("/"):
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            found.append((index, value))
            rest[index] = None
    sent = _join(holder.sent, name)
    del holder.value[name]
    if any(rest):
        holder.value[f"{name}Other"] = rest
        moved[_join(holder.path, f"{name}Other")] = sent
    if found:
        holder.value[name] = "\n".join(text for _index, text in found)
        moved[_join(holder.path, name)] = f"{sent}/{found[0][0]}/{to}" if len(found) == 1 else sent


def _listing(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A single value → a list of it."""
    if holder.value.get(to) is None:
        holder.value[to] = [holder.value.pop(name)]
        moved[f"{_join(holder.path, to)}/0"] = _join(holder.sent, name)


def _within(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A value → an element of an object (`period` → `context/period`)."""
    outer, _, inner = to.partition("/")
    value = holder.value[name]
    if outer == name and isinstance(value, dict):
        return  # it has its R4 shape
    del holder.value[name]
    held = mapping(holder.value.setdefault(outer, {}), outer)
    held[inner] = value
    moved[f"{_join(holder.path, outer)}/{inner}"] = _join(holder.sent, name)


def _participants(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """Each participant whose function says how it bears on authorship → a list under the R4 element of that function.

    The others stay participants: a reference, and nothing about who said it.
    """
    functions = _functions(str(holder.value["resourceType"]))
    rest: list[Any] = list(_listed(holder.value[name]))
    for index, each in objects(holder.value, name):
        under = next((functions[code] for code in codes(each.get("function")) if code in functions), "")
        actor = each.get("actor")
        if not under or actor is None:
            continue
        held = holder.value.get(under)
        listed = held if isinstance(held, list) else [] if held is None else [held]
        moved[f"{_join(holder.path, under)}/{len(listed)}"] = f"{_join(holder.sent, name)}/{index}/actor"
        holder.value[under] = [*listed, actor]
        rest[index] = None  # the places of the others stay what they are
    holder.value[name] = rest


def _evidence(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """Condition.evidence: CodeableReferences → one evidence with all the codes and all the details."""
    codes_: list[Any] = []
    details: list[Any] = []
    at = _join(holder.path, name)
    for index, each in objects(holder.value, name):
        sent = f"{_join(holder.sent, name)}/{index}"
        if not _codeable_reference(each):
            return  # R4: code and detail
        if isinstance(each.get("concept"), dict):
            moved[f"{at}/0/code/{len(codes_)}"] = f"{sent}/concept"
            codes_.append(each["concept"])
        if isinstance(each.get("reference"), dict):
            moved[f"{at}/0/detail/{len(details)}"] = f"{sent}/reference"
            details.append(each["reference"])
    held = {"code": codes_, "detail": details}
    holder.value[name] = [{part: value for part, value in held.items() if value}]


def _reasons(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """Encounter.reason: the values of all reasons → reasonCode and reasonReference."""
    found: dict[str, list[Any]] = {"reasonCode": [], "reasonReference": []}
    for index, each in objects(holder.value, name):
        for position, value in objects(each, "value"):
            sent = f"{_join(holder.sent, name)}/{index}/value/{position}"
            for part, under in (("concept", "reasonCode"), ("reference", "reasonReference")):
                if isinstance(value.get(part), dict):
                    moved[f"{_join(holder.path, under)}/{len(found[under])}"] = f"{sent}/{part}"
                    found[under].append(value[part])
    del holder.value[name]
    holder.value.update((under, values) for under, values in found.items() if values)


def _diagnoses(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """Encounter.diagnosis: one for each condition, by code alone as `conditionCode`. The first use counts."""
    found: list[Json] = []
    for index, each in objects(holder.value, name):
        held = each.get("condition")
        if isinstance(held, dict) and not _codeable_reference(held):
            found.append(each)
            continue
        use = next((use for _n, use in objects(each, "use")), None)
        for position, condition in objects(each, "condition"):
            sent = f"{_join(holder.sent, name)}/{index}/condition/{position}"
            for part, under in (("reference", "condition"), ("concept", "conditionCode")):
                if isinstance(condition.get(part), dict):
                    moved[f"{_join(holder.path, name)}/{len(found)}/{under}"] = f"{sent}/{part}"
                    found.append({under: condition[part]} | ({"use": use} if use is not None else {}))
    holder.value[name] = found


def _dosage(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """Dosage: `asNeeded` and the first `asNeededFor` → asNeeded[x]."""
    dosage = holder.value
    reasons = [each for _index, each in objects(dosage, "asNeededFor")]
    if reasons and dosage.get("asNeededCodeableConcept") is None:
        dosage["asNeededCodeableConcept"] = reasons[0]
    elif "asNeeded" in dosage:
        _rename(holder, "asNeeded", "asNeededBoolean", moved)


def _reported(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """MedicationRequest.reported with its informationSource → reported[x]. A request that is not said to be reported
    keeps its informationSource: the patient may have told what the clinician then ordered."""
    reported = holder.value[name]
    if reported is True and holder.value.get("informationSource"):
        del holder.value[name]
        _rename(holder, "informationSource", "reportedReference", moved)
    else:
        _rename(holder, name, "reportedBoolean", moved)


def _attesters(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """The party of each attester → a list under the R4 element; when it was attested stays."""
    parties: list[Any] = []
    for index, each in objects(holder.value, name):
        if each.get("party") is not None:
            moved[f"{_join(holder.path, to)}/{len(parties)}"] = f"{_join(holder.sent, name)}/{index}/party"
            parties.append(each.pop("party"))
    if parties and holder.value.get(to) is None:
        holder.value[to] = parties


def _scope(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """A category of the system `consentscope` → the scope, which R5 has no element for."""
    rest: list[Any] = list(_listed(holder.value[name]))
    for index, each in objects(holder.value, name):
        systems = [string(coding, "system") for _n, coding in objects(each, "coding")]
        if any(system.rpartition("/")[2] == to for system in systems) and holder.value.get("scope") is None:
            _put(holder, "scope", each, f"{_join(holder.sent, name)}/{index}", moved)
            rest[index] = None
    holder.value[name] = rest


def _payers(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """Who pays, where there is no insurer: the parties of paymentBy."""
    parties: list[Any] = []
    for index, each in objects(holder.value, name):
        if each.get("party") is not None and holder.value.get(to) is None:
            moved[f"{_join(holder.path, to)}/{len(parties)}"] = f"{_join(holder.sent, name)}/{index}/party"
            parties.append(each.pop("party"))
    if parties:
        holder.value[to] = parties


def _contacts(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """ExtendedContactDetail: the telecoms and addresses of all contacts → the item's own."""
    telecoms: list[Any] = []
    addresses: list[Any] = []
    for _index, contact in objects(holder.value, name):
        telecoms += [each for _n, each in objects(contact, "telecom")]
        addresses += [each for _n, each in objects(contact, "address")]
    if telecoms and holder.value.get("telecom") is None:
        holder.value["telecom"] = telecoms
    if addresses and holder.value.get("address") is None:
        holder.value["address"] = addresses


def _names(holder: _Holder, name: str, to: str, moved: dict[str, str]) -> None:
    """Device.name: `{value, type}` → deviceName `{name, type}`."""
    named = [{"name": string(each, "value"), "type": string(each, "type")} for _n, each in objects(holder.value, name)]
    del holder.value[name]
    _put(holder, to, named, _join(holder.sent, name), moved)


def _parameters(holder: _Holder, name: str, _to: str, moved: dict[str, str]) -> None:
    """ServiceRequest.orderDetail: each parameter → a concept: its value if that is one, else code and value."""
    found: list[Json] = []
    at, sent = _join(holder.path, name), _join(holder.sent, name)
    for index, detail in objects(holder.value, name):
        if "parameter" not in detail:
            moved[f"{at}/{len(found)}"] = f"{sent}/{index}"
            found.append(detail)
        for position, parameter in objects(detail, "parameter"):
            moved[f"{at}/{len(found)}"] = f"{sent}/{index}/parameter/{position}"
            if isinstance(parameter.get("valueCodeableConcept"), dict):
                found.append(parameter["valueCodeableConcept"])
            else:
                code = mapping(parameter.get("code") or {}, f"{sent}/{index}/parameter/{position}/code")
                said = string(parameter, "valueString")
                found.append({**code, "text": f"{_words(code)}: {said}"} if said else code)
    holder.value[name] = found


_Action = Callable[[_Holder, str, str, dict[str, str]], None]
_ACTIONS: Final[dict[str, _Action]] = {
    "rename": _rename,
    "choice": _choice,
    "split": _split,
    "reference": _reference,
    "code": _code,
    "coding": _coding,
    "first": _first,
    "adherence": _adherence,
    "number": _number,
    "identifier": _identifier,
    "numerator": _numerator,
    "words": _words_of,
    "texts": _texts,
    "listed": _listing,
    "within": _within,
    "functions": _participants,
    "evidence": _evidence,
    "reasons": _reasons,
    "diagnoses": _diagnoses,
    "dosage": _dosage,
    "reported": _reported,
    "attesters": _attesters,
    "scope": _scope,
    "payers": _payers,
    "contacts": _contacts,
    "names": _names,
    "parameters": _parameters,
}
# Actions whose element may stand under other names (`occurrence[x]`, `asNeededFor`).
_STEMS: Final = frozenset({"choice", "dosage"})
