"""What does a drug name say? A grammar over RxNorm-style names, vendors' spellings and free text.

A name is: prefixes ("24 HR", "0.3 ML"), one or more parts of ingredient or brand with salts and strengths, joined by
"/", "+", "-", "and" or "with", then form, route and release words. After a strength or a form, other words end the
name ("once daily for pain"). A part that is not known makes the whole name unread: a combination is never read as
one of its parts. Not spelling correction: an unknown word stays unknown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from iamata.terminology.drug_tables import Form, Tables, fold


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What one text says. `by_brand`: the ingredients come from a brand alone; `sure` is False for a weak brand row."""

    ingredients: frozenset[str]
    salts: frozenset[str] = frozenset()  # "ingredient salt"
    strength: str = ""
    form: str = ""
    route: str = ""
    release: str = ""
    brand: str = ""
    by_brand: bool = False
    sure: bool = True
    plain: bool = False  # the text is a bare name


_TOKEN = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)*%?|[/+&,;:\-–()\[\]{}]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)*)([a-z]+)")
_PACK = re.compile(r"\{(.*)\}\s*pack\b", re.S)
_INNER = re.compile(r"\(([^()]*)\)")
_SQUARE = re.compile(r"\[([^\[\]]*)\]")
_WRAPPER = re.compile(
    r"^(?:product containing (?:precisely |only )?)|-containing product\b|\((?:product|substance|"
    r"medicinal product|clinical drug|qualifier value)\)",
    re.I,
)
_REMARK = re.compile(r"\*[^*]*\*")
_APPLICATION = re.compile(r"^(?:nda|bla|anda)\d{6}\s+", re.I)
_HOURS = re.compile(r"^(\d{1,2})\s*(?:hr|hour)s?\b", re.I)
_UNITS = frozenset(
    [
        "mg",
        "mcg",
        "ug",
        "g",
        "gm",
        "gram",
        "grams",
        "ml",
        "l",
        "iu",
        "unt",
        "units",
        "unit",
        "u",
        "meq",
        "mmol",
        "hr",
        "hour",
        "h",
        "actuat",
        "inh",
        "dose",
        "mgs",
        "kg",
        "ea",
        "milligram",
        "microgram",
        "micrograms",
        "milligrams",
        "ppm",
        "pfu",
        "vp",
        "ci",
        "mci",
        "bau",
        "lf",
        "puff",
    ]
)
_JOIN = frozenset({"/", "+", "&", "and", "with", "-", "–", ",", "plus", "w"})
_UNITS_PER_ML = re.compile(r"(\d+(?:\.\d+)?)\s*(?:unt|units?|iu|u)\s*/\s*ml")
_ORDINARY_UNITS_PER_ML = 100


def _tokens(text: str) -> list[str]:
    plain = fold_keeping_signs(text)
    return _TOKEN.findall(plain)


def fold_keeping_signs(text: str) -> str:
    """As `fold`, but the signs that join parts stay."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("'", "").replace("’", ""))
    return "".join(char for char in plain if not unicodedata.combining(char))


def read(text: str, tables: Tables) -> Reading | None:
    """The reading of a name, or None when any part of it is unknown or two parts contradict each other."""
    if not text or len(text) > 2_000:
        return None
    text = _APPLICATION.sub("", _WRAPPER.sub(" ", _REMARK.sub(" ", text).strip()).strip())
    hours = _HOURS.match(text)
    pack = _PACK.search(text.lower())
    brand, sides, outer = "", [], text
    if pack:
        found = _parts(_INNER.findall(pack.group(1)), tables)
        end = _SQUARE.search(text[text.rfind("}") :])
        name = fold(end.group(1)) if end else ""
        if found is None:
            return _of_brand(name, tables)
        return msgspec.structs.replace(found, form="pack", brand=name if name in tables.brands else "")
    square = _SQUARE.search(outer)
    if square:
        brand = fold(square.group(1))
        outer = _SQUARE.sub(" ", outer)
    if "(" in outer and ")" in outer:
        sides = [inner for inner in _INNER.findall(outer) if inner.strip()]
        outer_only = _INNER.sub(" ", outer)
        whole = fold(outer) in tables.ingredients  # the brackets are part of the name: Rho(D) …
        main = _scan(_tokens(_INNER.sub(r" \1 ", outer) if whole else outer_only), tables)
    else:
        main = _scan(_tokens(outer), tables)
    for side in sides:
        other = _scan(_tokens(side), tables)
        if other is None:
            continue
        if main is None or main.ingredients == other.ingredients:
            main = _join(main, other) if main else None
            if main is None:
                main = _broader_outer(fold(_INNER.sub(" ", outer)), other, tables)
                if main is None:
                    return None
        elif _is_broader(main.ingredients, other.ingredients, tables):
            main = other
        else:
            return None
    if main is None and brand:
        main = _of_brand(brand, tables)
    if main is None:
        return None
    if brand in tables.brands:
        of_brand = tables.brands[brand]
        known = _is_broader(of_brand.ingredients, main.ingredients, tables)
        if of_brand.sure and not known and not of_brand.ingredients & main.ingredients:
            return None
        main = msgspec.structs.replace(main, brand=brand, salts=main.salts or of_brand.salts)
    elif brand:
        main = msgspec.structs.replace(main, brand=brand)
    if hours and main.release.startswith("extended"):
        main = msgspec.structs.replace(main, release=f"extended {hours.group(1)}h")
    return _insulin(main)


def _is_broader(wide: frozenset[str], narrow: frozenset[str], tables: Tables) -> bool:
    return len(wide) == 1 and all(next(iter(wide)) in tables.broader.get(name, ()) for name in narrow)


def _broader_outer(outer: str, other: Reading, tables: Tables) -> Reading | None:
    """Only form words stand outside the brackets: the reading is what is inside."""
    return other if all(word in tables.forms or word in tables.fillers for word in outer.split()) else None


def _insulin(reading: Reading) -> Reading:
    """Of insulins the strength tells the product: above 100 units per mL (U-200 …), or the shares of a mix."""
    if reading.release or not all(name.startswith("insulin") for name in reading.ingredients):
        return reading
    amounts = [float(amount) for amount in _UNITS_PER_ML.findall(reading.strength)]
    if len(amounts) > 1 and sum(amounts) == _ORDINARY_UNITS_PER_ML:
        shares = " ".join(f"{amount:g}" for amount in sorted(amounts, reverse=True))
        return msgspec.structs.replace(reading, release=f"mix {shares}")
    if len(amounts) == 1 and amounts[0] > _ORDINARY_UNITS_PER_ML:
        return msgspec.structs.replace(reading, release="concentrate")
    return reading


def _of_brand(name: str, tables: Tables) -> Reading | None:
    found = tables.brands.get(name)
    if found is None:
        return None
    return Reading(found.ingredients, found.salts, "", "", found.route, found.release, name, True, found.sure)


def _parts(texts: Sequence[str], tables: Tables) -> Reading | None:
    """The components of a pack. Inert ones add nothing."""
    found: Reading | None = None
    for text in texts:
        if "inert" in text:
            continue
        one = _scan(_tokens(text), tables)
        if one is None:
            return None
        found = one if found is None else _union(found, one)
    return found


def _union(a: Reading, b: Reading) -> Reading:
    return Reading(
        a.ingredients | b.ingredients,
        a.salts | b.salts,
        a.strength,
        a.form if a.form == b.form else "",
        a.route if a.route == b.route else "",
        a.release if a.release == b.release else "",
        "",
        a.by_brand and b.by_brand,
        a.sure and b.sure,
    )


def _join(a: Reading, b: Reading) -> Reading:
    """Two readings of one thing: what either says."""
    return Reading(
        a.ingredients,
        a.salts | b.salts,
        a.strength or b.strength,
        a.form or b.form,
        a.route or b.route,
        a.release or b.release,
        a.brand or b.brand,
        a.by_brand and b.by_brand,
        a.sure or b.sure,
    )


class _State(msgspec.Struct):
    """Where the scan is."""

    ingredients: set[str]
    salts: set[str]
    strengths: list[str]
    form: str = ""
    route: str = ""
    stated_route: str = ""
    release: str = ""
    brand: str = ""
    by_brand: bool = True
    sure: bool = True
    last: str = ""
    tail: bool = False  # a strength or a form has been seen
    joined: bool = False  # a sign or word that joins parts has just been seen


def _scan(tokens: list[str], tables: Tables) -> Reading | None:
    at = _skip_prefix(tokens)
    state = _State(set(), set(), [])
    while at < len(tokens):
        step = _step(tokens, at, state, tables)
        if step < 0:
            break
        if step == 0:
            return None
        at += step
    if not state.ingredients or (state.joined and tokens[-1] in ("plus", "and", "with", "/", "+", "&")):
        return None
    return Reading(
        frozenset(state.ingredients),
        frozenset(state.salts),
        " / ".join(state.strengths),
        state.form,
        state.stated_route or state.route,
        state.release,
        state.brand,
        state.by_brand,
        state.sure,
        not state.tail,
    )


def _skip_prefix(tokens: list[str]) -> int:
    """Past amounts that stand before the name: `24 HR`, `0.3 ML`, `200 ACTUAT`, `200 ML BAG :`."""
    at = 0
    while at < len(tokens):
        glued = _AMOUNT.fullmatch(tokens[at])
        if glued and glued.group(2) in _UNITS:
            at += 1
        elif _NUMBER.fullmatch(tokens[at]) and at + 1 < len(tokens) and tokens[at + 1] in _UNITS:
            at += 2
        elif at and tokens[at] in ("bag", ":"):
            at += 1
        else:
            return at
    return at


def _step(tokens: list[str], at: int, state: _State, tables: Tables) -> int:
    """How many words were read here; 0: the name cannot be read; -1: the rest is not the name."""
    word = tokens[at]
    if word in "()[]{}:;":
        return 1
    if state.ingredients and not state.joined and word in tables.salts:
        if tables.salts[word] == "salt":
            _add_salt(state, word)
        return 1
    named = _name(tokens, at, tables)
    if named is not None and (not state.tail or state.joined or not state.ingredients):
        return _take(named, state, tables)
    if named is not None and named.ingredient and named.ingredient not in state.ingredients:
        return 0  # one more ingredient, after a strength and without a sign: never read as its part
    if word in _JOIN:
        state.joined = bool(state.ingredients)
        return 1
    strength = _strength(tokens, at)
    if strength:
        if state.ingredients:
            state.strengths.append(_shown(tokens[at : at + strength]))
            state.tail, state.joined = True, False
        return strength
    length, form = _form(tokens, at, tables)
    if form is not None:
        return _take_form(length, form, state)
    if not state.ingredients:
        return 1 if word in tables.fillers else 0
    if word in tables.fillers or word in _UNITS:
        return 1
    if state.joined and not state.tail:
        return 0  # a part that is not known
    if state.joined and tokens[at - 1] in ("/", "+", "&") and not _NUMBER.match(word):
        return 0
    return -1 if state.tail else 0


def _take_form(length: int, form: Form, state: _State) -> int:
    state.form = state.form or form.form
    if form.route and not form.form:
        state.stated_route = state.stated_route or form.route
    elif form.route:
        state.route = state.route or form.route
        if length > 1:
            state.stated_route = state.stated_route or form.route
    if (form.release and (not state.release or form.release.startswith(state.release))) or (
        form.release.startswith("extended") and state.release == "immediate"
    ):
        state.release = form.release
    state.tail = state.tail or bool(form.form)
    state.joined = False
    return length


def _add_salt(state: _State, word: str) -> None:
    prefix = f"{state.last} "
    said = next((salt for salt in state.salts if salt.startswith(prefix)), "")
    state.salts.discard(said)
    word = {"hcl": "hydrochloride", "hci": "hydrochloride"}.get(word, word)
    state.salts.add(f"{said} {word}" if said else prefix + word)


class _Name(msgspec.Struct, frozen=True):
    length: int
    ingredient: str
    salt: str
    brand: str
    sure: bool = True


def _name(tokens: list[str], at: int, tables: Tables) -> _Name | None:
    """The longest ingredient or brand that starts here. Commas and dashes inside a name do not count."""
    best: _Name | None = None
    words: list[str] = []
    for end in range(at, min(at + 12, len(tokens))):
        part = tokens[end]
        if part in (",", "-", "–"):
            if not words:
                return None
            continue
        if not part[0].isalnum() and not (part == "/" and words and words[-1].isdigit()):
            break
        if part != "/":
            words.append(part)
        key = " ".join(words)
        if key in tables.ingredients:
            base, salt = tables.ingredients[key]
            best = _Name(end - at + 1, base, salt, "")
        elif key in tables.brands:
            best = _Name(end - at + 1, "", "", key)
    return best or _stem(tokens[at], tables)


def _stem(word: str, tables: Tables) -> _Name | None:
    """A name of another language that only lacks or adds a final e (metformine, anastrozol). Not sure."""
    if len(word) < 7 or not word.isalpha():
        return None
    for form in (word + "e", word[:-1] if word.endswith("e") else ""):
        if form in tables.ingredients and form not in tables.salts:
            base, salt = tables.ingredients[form]
            return _Name(1, base, salt, "", False)
    return None


def _take(named: _Name, state: _State, tables: Tables) -> int:
    if named.brand:
        brand = tables.brands[named.brand]
        if state.ingredients and not state.joined and not brand.ingredients <= state.ingredients:
            return 0
        state.ingredients |= brand.ingredients
        state.salts |= brand.salts
        state.route = state.route or brand.route
        state.release = state.release or brand.release
        state.brand = state.brand or named.brand
        state.sure = state.sure and brand.sure
        state.last = next(iter(brand.ingredients)) if len(brand.ingredients) == 1 else ""
    else:
        if any(named.ingredient in tables.broader.get(known, ()) for known in state.ingredients):
            state.joined = False
            return named.length  # "Lantus insulin": the less specific name says nothing more
        state.ingredients -= tables.broader.get(named.ingredient, frozenset())
        if state.ingredients and not state.joined and named.ingredient not in state.ingredients:
            return 0  # two names side by side
        state.ingredients.add(named.ingredient)
        state.by_brand = False
        state.sure = state.sure and named.sure
        state.last = named.ingredient
        if named.salt:
            state.salts.add(f"{named.ingredient} {named.salt}")
    state.joined = False
    return named.length


def _strength(tokens: list[str], at: int) -> int:
    """Tokens of a strength that starts here: `250 mg`, `5mg/ml`, `100,000 units / ml`, `3-0.02 mg`, `0.3%`."""
    token = tokens[at]
    if not (_NUMBER.match(token) and (_NUMBER.fullmatch(token) or _AMOUNT.fullmatch(token))):
        return 0
    end = at + 1
    while end < len(tokens):
        token = tokens[end]
        glued = _AMOUNT.fullmatch(token)
        if token in _UNITS or _NUMBER.fullmatch(token) or (glued and glued.group(2) in _UNITS):
            end += 1
        elif token in ("/", "-") and end + 1 < len(tokens) and _continues(tokens[end + 1]):
            end += 2
        else:
            break
    return end - at


def _continues(token: str) -> bool:
    glued = _AMOUNT.fullmatch(token)
    return token in _UNITS or bool(_NUMBER.fullmatch(token)) or bool(glued and glued.group(2) in _UNITS)


def _shown(tokens: list[str]) -> str:
    text = " ".join(tokens)
    text = re.sub(r"(\d)([a-z])", r"\1 \2", text)
    return text.replace(" / ", "/").replace(" - ", "-")


def _form(tokens: list[str], at: int, tables: Tables) -> tuple[int, Form | None]:
    found: tuple[int, Form | None] = (0, None)
    words: list[str] = []
    for end in range(at, min(at + 6, len(tokens))):
        if tokens[end] in (",", "-"):
            continue
        if not tokens[end][0].isalnum():
            break
        words.append(tokens[end])
        form = tables.forms.get(" ".join(words))
        if form is not None:
            found = (end - at + 1, form)
    return found
