"""What the scopes of a token open, and who a token says it is."""

from __future__ import annotations

from typing import Any

import pytest

from iamata.connectors.fhir.mappings import MAPPINGS
from iamata.errors import Unauthenticated
from iamata.model.access import Access, PrincipalKind, Purpose, Seen
from iamata.model.statement import SUPPORTING_KINDS, Kind
from iamata.policy.claims import Naming, principal
from iamata.policy.smart import Opened, kinds_of, scopes

CONDITIONS = frozenset({Seen(Kind.CONDITION, "Condition")})


@pytest.mark.parametrize(
    ("said", "opened"),
    [
        ("user/*.cruds", Opened(True, True, None)),
        ("user/*.rs", Opened(True, False, None)),
        ("user/*.c", Opened(False, True, frozenset())),
        ("user/*.read", Opened(True, False, None)),
        ("user/*.write", Opened(False, True, frozenset())),
        ("user/*.*", Opened(True, True, None)),
        ("user/Condition.rs", Opened(True, False, CONDITIONS)),
        ("user/Condition.read", Opened(True, False, CONDITIONS)),
        # A graph is read and searched at once, so either alone opens nothing; and a part is not written to.
        ("user/Condition.r", Opened(False, False, frozenset())),
        ("user/Condition.s", Opened(False, False, frozenset())),
        ("user/Condition.cud", Opened(False, False, frozenset())),
        ("user/Condition.rs user/*.c", Opened(True, True, CONDITIONS)),
        ("user/Condition.rs user/*.rs", Opened(True, False, None)),
        (
            "user/Condition.rs?category=encounter-diagnosis",
            Opened(True, False, frozenset({Seen(Kind.CONDITION, "Condition", "encounter-diagnosis")})),
        ),
        (
            "user/Condition.rs?category=http://hl7.org/x|problem-list-item",
            Opened(True, False, frozenset({Seen(Kind.CONDITION, "Condition", "http://hl7.org/x|problem-list-item")})),
        ),
    ],
)
def test_a_scope_opens_what_it_says(said: str, opened: Opened) -> None:
    found = scopes(f"openid fhirUser launch/patient {said}")
    assert found.levels == {"user": opened}
    assert found.notes == ()


@pytest.mark.parametrize(
    "said",
    [
        "user/*.sr",
        "user/*.",
        "user/*",
        "user/*.x",
        "users/*.rs",
        "user/condition.rs",
        "user/Nonsense.rs",
        "user/../*.rs",
        "user/*.rs?category=laboratory",
        "user/Observation.rs?code=1",
        "user/Observation.rs?category=",
        "user/Observation.rs?category=a&category=b",
        "user/Observation.rs?",
        "USER/*.rs",
        "user/*.rs​",
        "admin",
        "user/Condition.readwrite",
    ],
)
def test_a_scope_that_is_not_understood_opens_nothing_and_is_noted_without_its_words(said: str) -> None:
    found = scopes(f"openid {said}")
    assert found.levels == {}
    assert len(found.notes) == 1
    assert found.notes[0].startswith("scope 2: ")
    assert "Nonsense" not in found.notes[0]


def test_levels_are_kept_apart() -> None:
    found = scopes("patient/Condition.rs user/*.rs system/*.cruds")
    assert found.levels["patient"].seen == CONDITIONS
    assert found.levels["user"] == Opened(True, False, None)
    assert found.levels["system"].writes


def test_every_resource_that_the_fhir_reader_makes_items_of_can_be_opened_by_its_scope() -> None:
    read = {type: how.kind for type, how in MAPPINGS.items() if how.kind not in SUPPORTING_KINDS}
    # R5's own names of two R4 types, which a token of R4 does not have.
    missing = {type for type, kind in read.items() if kind not in kinds_of().get(type, ())}
    assert missing <= {"DeviceUsage", "DeviceAssociation"}
    assert not any(kind in SUPPORTING_KINDS for kinds in kinds_of().values() for kind in kinds)


# ------------------------------------------------------------------ claims


def access(**claims: Any) -> Access:
    return principal({"sub": "dr-lee", "scope": "user/*.cruds"} | claims, Naming()).access


def test_a_person_comes_as_an_operator_to_whom_patients_exist_by_relation() -> None:
    found = access(roles=["clinician", "astronaut"], client_id="portal", purpose_of_use="HPAYMT")
    assert (found.kind, found.id, found.client) == (PrincipalKind.OPERATOR, "dr-lee", "portal")
    assert found.roles == ("clinician",)
    assert found.purpose is Purpose.PAYMENT
    assert (found.by_relation, found.patients, found.seen) == (True, None, None)


def test_roles_come_as_words_or_as_a_list_under_the_configured_name() -> None:
    naming = Naming(roles="https://x/roles", purpose="why")
    claims = {"sub": "x", "scope": "user/*.rs", "https://x/roles": "nurse clinician", "why": "HOPERAT"}
    found = principal(claims, naming).access
    assert (found.roles, found.purpose) == (("clinician", "nurse"), Purpose.OPERATIONS)
    assert access(scope=None, scp=["user/*.rs"]).may_read


def test_a_token_bound_to_a_patient_knows_no_other() -> None:
    found = access(patient="leo", scope="patient/*.rs user/*.cruds")
    assert found.patients == {"leo"}
    assert access(scope="patient/*.rs").may_read is False, "without a patient its scopes open nothing"
    assert access(fhirUser="https://ehr/fhir/Patient/leo").patients == {"leo"}
    assert access(fhirUser="https://ehr/fhir/Patient/leo").roles == ("patient",)
    assert access(fhirUser="RelatedPerson/mom").patients is None
    assert access(fhirUser="Practitioner/1").roles == ()


def test_a_client_that_acts_for_itself_is_a_system_and_has_no_role() -> None:
    found = access(sub="northside", client_id="northside", scope="system/*.cruds", roles=["owner"])
    assert (found.kind, found.id, found.roles) == (PrincipalKind.SYSTEM, "northside", ())
    assert found.may_write
    mixed = access(scope="system/*.cruds user/*.rs")
    assert (mixed.kind, mixed.may_write) == (PrincipalKind.OPERATOR, False)


def test_an_actor_is_an_agent_for_the_subject() -> None:
    found = access(act={"sub": "triage-bot"}, roles=["clinician"])
    assert (found.kind, found.id, found.on_behalf_of) == (PrincipalKind.AGENT, "triage-bot", "dr-lee")
    assert found.person == "operator/dr-lee"


def test_without_scopes_nothing_is_open() -> None:
    found = access(scope="")
    assert (found.may_read, found.may_write, found.seen) == (False, False, frozenset())


@pytest.mark.parametrize(
    ("claims", "named"),
    [
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": 7}, "sub"),
        ({"sub": "a/b"}, "sub"),
        ({"sub": "../admin"}, "sub"),
        ({"sub": "dr-lее"}, "sub"),  # Cyrillic е on purpose
        ({"sub": "dr lee"}, "sub"),
        ({"sub": "dr-lee\n"}, "sub"),
        ({"sub": "x" * 300}, "sub"),
        ({"sub": "local"}, "sub"),
        ({"act": {"sub": "local"}}, "sub"),
        ({"patient": "leo/../zoe"}, "patient"),
        ({"patient": "%2e%2e"}, "patient"),
        ({"patient": ["leo", "zoe"]}, "patient"),
        ({"patient": "léo"}, "patient"),
        ({"fhirUser": "Patient/a b"}, "fhirUser"),
        ({"purpose_of_use": "CURIOSITY"}, "purpose_of_use"),
        ({"purpose_of_use": ["TREAT"]}, "purpose_of_use"),
        ({"scope": 5}, "scope"),
        ({"roles": {"owner": True}}, "roles"),
        ({"act": "bot"}, "act"),
        ({"act": {}}, "sub"),
        ({"act": {"sub": "../x"}}, "sub"),
        ({"client_id": "a b"}, "client"),
        ({"scope": "system/*.rs", "act": {"sub": "bot"}}, "act"),
    ],
)
def test_a_claim_that_cannot_be_is_refused_by_its_name_alone(claims: dict[str, Any], named: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        access(**claims)
    assert refused.value.reasons == (f"claim {named}",)
