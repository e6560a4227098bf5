"""What does a reference lead to, in what its source has sent? Never across sources, and never fetched.

A reference that leads nowhere is reported by the pipeline and kept as sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from iamata.model.coding import BusinessIdentifier
from iamata.model.statement import Reference, Statement
from iamata.terminology.systems import alias


def identifier_key(identifier: BusinessIdentifier) -> str:
    """One form of a business identifier: OID, URN and URL of a known system are equal; empty without a value."""
    value = identifier.value.strip()
    system = identifier.system.strip()
    return f"{alias(system) or system.removeprefix('urn:oid:').lower()}|{value}" if value else ""


class Directory:
    """The records of one patient's sources, by every name a reference can call them (`urls`: what their documents did).

    Of several contents of one record the current one answers (`current` says which those are); of several parts of one
    record the one without a part, else the first. Building is linear in the number of statements.
    """

    def __init__(
        self,
        statements: Iterable[Statement],
        *,
        superseded: frozenset[str] = frozenset(),
        urls: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> None:
        self._by_name: dict[tuple[str, str], Statement] = {}
        self._by_identifier: dict[tuple[str, str], Statement] = {}
        self._by_version: dict[tuple[str, str, str], Statement] = {}
        self._asked: set[tuple[str, ...]] = set()
        self._superseded = superseded
        for statement in sorted(statements, key=self._order):
            self._add(statement, urls.get(statement.id, ()))

    def extend(self, fresh: Iterable[Statement], known: Iterable[Statement], urls: Mapping[str, Iterable[str]]) -> bool:
        """Add what came later, and new names (`urls`) of what is known. Returns False and changes nothing where an
        answer that was given would be another one, or a name is taken: then another content of a record came."""
        fresh, known = list(fresh), list(known)
        names = [name for s in fresh for name in _names(s, urls.get(s.id, ()))]
        names += [(s.provenance.source, url) for s in known for url in urls[s.id]]
        taken = [name for name in names if len(name) == 2 and name in self._by_name]
        if taken or not self._asked.isdisjoint(names):
            return False
        for statement in sorted(fresh, key=self._order) + known:
            self._add(statement, urls.get(statement.id, ()))
        return True

    def _order(self, statement: Statement) -> tuple[bool, bool, str, str]:
        """Who answers to a name that several have: the least."""
        return statement.id in self._superseded, statement.part != "", statement.part, statement.id

    def _add(self, statement: Statement, urls: Iterable[str]) -> None:
        record = statement.provenance.record
        source = statement.provenance.source
        for name in (record.reference, record.url, *urls):
            if name:
                self._by_name.setdefault((source, name), statement)
                if record.version:
                    self._by_version.setdefault((source, name, record.version), statement)
        for identifier in record.identifiers:
            if key := identifier_key(identifier):
                first = self._by_identifier.setdefault((source, key), statement)
                if self._order(statement) < self._order(first):
                    self._by_identifier[source, key] = statement

    def find(self, reference: Reference, *, origin: Statement) -> Statement | None:
        """The statement this reference of `origin` leads to, or None.

        Understood (FHIR R4 References 2.3): `#contained`, `Type/id`, absolute, `urn:uuid:`, `…/_history/n`,
        `Type?identifier=system|value`, and a logical reference by identifier alone.
        """
        source = origin.provenance.source
        literal = reference.reference
        if literal:
            found = self._literal(source, literal, origin)
            if found is not None:
                return found
        if reference.identifier:
            return self._identified(source, reference.identifier)
        return None

    def _literal(self, source: str, literal: str, origin: Statement) -> Statement | None:
        record = origin.provenance.record
        if literal.startswith("#"):
            container = record.key.partition("#")[0]
            return self._named(source, container if literal == "#" else container + literal)
        name, _, version = literal.partition("/_history/")
        if version:
            found = self._versioned(source, name, version) or self._versioned(source, _tail(name), version)
            if found is not None:
                return found
        if "?identifier=" in name:
            return self._identified(source, name.partition("?identifier=")[2].partition("&")[0])
        return self._named(source, name) or self._named(source, _tail(name))

    def _named(self, source: str, name: str) -> Statement | None:
        key = (source, name)
        self._asked.add(key)
        return self._by_name.get(key)

    def _versioned(self, source: str, name: str, version: str) -> Statement | None:
        key = (source, name, version)
        self._asked.add(key)
        return self._by_version.get(key)

    def _identified(self, source: str, identifier: str) -> Statement | None:
        system, _, value = identifier.rpartition("|")
        key = (source, identifier_key(BusinessIdentifier(system, value)))
        self._asked.add(("", *key))
        return self._by_identifier.get(key)


def _names(statement: Statement, urls: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Everything that asking could call this statement, as `Directory` remembers what was asked."""
    record, source = statement.provenance.record, statement.provenance.source
    for name in (record.reference, record.url, *urls):
        if name:
            yield source, name
            if record.version:
                yield source, name, record.version
    for identifier in record.identifiers:
        if key := identifier_key(identifier):
            yield "", source, key


def _tail(url: str) -> str:
    """`https://server/fhir/Type/id` → `Type/id`; other forms unchanged."""
    if "://" not in url:
        return url
    parts = url.rsplit("/", 2)
    return "/".join(parts[1:]) if len(parts) == 3 else url


def target_type(reference: str, declared: str = "") -> str:
    """The resource type a reference names by itself: declared, or read off `Type/id` and `Type?…`; else empty."""
    if declared:
        return declared.rsplit("/", 1)[-1]
    if not reference or reference.startswith(("#", "urn:")):
        return ""
    name = _tail(reference.partition("/_history/")[0]).partition("?")[0].partition("/")[0]
    return name if name[:1].isupper() and name.isalpha() else ""
