"""A policy is rows: read strictly or not at all, the first that fits decides, nothing fits means no."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from iamata import Access, BadInput, Subject, patient
from iamata.model.access import PrincipalKind, Purpose
from iamata.model.scope import Scope
from iamata.policy.access import Decision, decide
from iamata.policy.rules import ACTS, RELATIONS, ROLES, packaged, parse

PACKAGED = files("iamata.policy").joinpath("data", "default.tsv").read_text("utf-8")
P = patient("p")
HEAD = (
    "@version\tours/1\n@break-glass-minutes\t60\n"
    "id\teffect\tact\tscope\tkind\trole\trelation\tpurpose\treason\tsource\n"
)
ROW = "nurses\tpermit\tread\tpatient\toperator\tnurse\t*\t*\tnurse\thouse rule 7\n"


def person(*roles: str, relations: tuple[str, ...] = (), **given: object) -> Access:
    """An operator who came by token."""
    shape = {"kind": PrincipalKind.OPERATOR, "id": "dr-lee", "by_relation": True}
    return Access(roles=roles, relations=relations, **(shape | given))  # type: ignore[arg-type]  # mixed on purpose


def agent(*roles: str, **given: object) -> Access:
    """An agent that acts for such an operator."""
    shape = {"kind": PrincipalKind.AGENT, "id": "bot", "on_behalf_of": "dr-lee"}
    return person(*roles, **(shape | given))  # type: ignore[arg-type]  # mixed on purpose


# ------------------------------------------------------------------ reading


def test_the_packaged_policy_is_whole_and_every_row_names_a_source() -> None:
    policy = packaged()
    assert len(policy.rules) >= 20
    assert all(rule.source and rule.reason for rule in policy.rules)
    assert policy.version.startswith("default/")
    assert parse(PACKAGED.encode(), "default.tsv").version == policy.version


def test_a_policy_is_named_with_a_hash_of_what_it_says() -> None:
    one, other = parse((HEAD + ROW).encode(), "a.tsv"), parse((HEAD + ROW.replace("7", "8")).encode(), "a.tsv")
    assert one.version.startswith("ours/1 ")
    assert one.version != other.version
    assert one.break_glass_minutes == 60


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        (HEAD + ROW + ROW, 5, "id stands there already"),
        (HEAD + ROW.replace("permit", "allow"), 4, "permit or deny"),
        (HEAD + ROW.replace("read", "raed"), 4, "act is"),
        (HEAD + ROW.replace("patient", "patients"), 4, "scope is"),
        (HEAD + ROW.replace("\tpatient\t", "\tpatient/profile\t"), 4, "scope is"),
        (HEAD + ROW.replace("\tpatient\t", "\toperator/gossip\t"), 4, "scope is"),
        (HEAD + ROW.replace("operator", "doctor"), 4, "kind is"),
        (HEAD + ROW.replace("nurse\t*", "nures\t*"), 4, "role is"),
        (HEAD + ROW.replace("nurse\t*", "nurse\tfriend"), 4, "relation is"),
        (HEAD + ROW.replace("\t*\tnurse\t", "\tCURIOSITY\tnurse\t"), 4, "purpose is"),
        (HEAD + ROW.replace("\thouse rule 7", "\t"), 4, "source is empty"),
        (HEAD + ROW.replace("\thouse rule 7", ""), 4, "9 cells for 10"),
        (HEAD + ROW.replace("\tnurse\thouse", "\tA Nurse!\thouse"), 4, "lower-case"),
        (HEAD + "\n# a remark\n" + ROW.replace("read", "read,"), 6, "act is"),
        (HEAD.replace("@version", "@verison") + ROW, 1, "@version, @break-glass-minutes"),
        (HEAD.replace("60", "0") + ROW, 2, "1 to 10080"),
        (HEAD.replace("60", "six") + ROW, 2, "1 to 10080"),
        (HEAD.replace("id\teffect", "effect\tid") + ROW, 3, "the columns are"),
        (
            HEAD
            + ROW.replace("\tpatient\t", "\toperator\t")
            + ROW.replace("\tpatient\t", "\toperator/profile\t").replace("nurses", "again"),
            5,
            "can never decide: line 4",
        ),
        (HEAD + "all\tpermit\t*\t*\t*\t*\t*\t*\tall\there\n" + ROW, 5, "can never decide: line 4"),
        (HEAD, 1, "no row"),
        (HEAD.replace("@version\tours/1\n", "") + ROW, 1, "no line @version"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_file_and_line(text: str, line: int, complaint: str) -> None:
    with pytest.raises(BadInput, match=f"ours.tsv, line {line}: .*{complaint}"):
        parse(text.encode(), "ours.tsv")


def test_a_policy_that_is_no_text_is_refused_with_its_line() -> None:
    with pytest.raises(BadInput, match=r"ours.tsv, line 4: this is not UTF-8"):
        parse((HEAD + ROW).encode().replace(b"nurses", b"\xff"), "ours.tsv")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: (HEAD + text).encode()))
def test_no_bytes_make_reading_a_policy_fail_otherwise(body: bytes) -> None:
    told = ""
    try:
        parse(body, "x.tsv")
    except BadInput as error:
        told = str(error)
    assert not told or "x.tsv, line " in told


# ------------------------------------------------------------------ deciding

CLINIC, LEE, BOT = (Subject(scope, id) for scope, id in zip(list(Scope)[1:], ("clinic", "dr-lee", "bot"), strict=True))


@pytest.mark.parametrize(
    ("access", "act", "subject", "allowed", "reason"),
    [
        (person("clinician"), "read", P, False, "no-relation-to-patient"),
        (person("clinician", relations=("care-team",)), "read", P, True, "care-team"),
        (person("clinician", relations=("care-team",)), "write", P, True, "care-team"),
        (person("clinician", relations=("care-team",)), "decide", P, True, "care-team"),
        (person("coordinator", relations=("care-team",)), "decide", P, False, "no-relation-to-patient"),
        (person("clinician", relations=("care-team",)), "erase", P, False, "no-relation-to-patient"),
        (person(relations=("care-team",)), "read", P, False, "no-relation-to-patient"),
        (person(relations=("self",)), "read", P, True, "self"),
        (person(relations=("proxy",)), "write", P, True, "proxy"),
        (person(relations=("proxy",)), "decide", P, False, "no-relation-to-patient"),
        (person("patient", launch=True, patients=frozenset({"p"})), "read", P, True, "launch-context"),
        (person("patient", launch=True, patients=frozenset({"q"})), "read", P, False, "no-relation-to-patient"),
        (person("patient", patients=frozenset({"p"})), "read", P, False, "no-relation-to-patient"),
        (person("patient", launch=True), "read", P, False, "no-relation-to-patient"),
        (person("owner", patients=frozenset({"q"})), "read", P, False, "no-relation-to-patient"),
        (person("owner"), "erase", P, True, "owner"),
        (person("adjudicator", purpose=Purpose.PAYMENT), "read", P, True, "payment-role"),
        (person("adjudicator"), "read", P, False, "no-relation-to-patient"),
        (person("administrator"), "read", P, False, "no-relation-to-patient"),
        (person("administrator"), "relate", P, True, "administrator"),
        (person("clinician"), "relate", P, False, "not-of-this-role"),
        (person("privacy-officer"), "read", P, False, "no-relation-to-patient"),
        (person("privacy-officer"), "audit", None, True, "privacy-officer"),
        (person("clinician"), "audit", None, False, "audit-is-read-by-owners"),
        (person("clinician"), "break-glass", P, True, "clinical-role"),
        (person("coordinator"), "break-glass", P, False, "not-of-this-role"),
        (person("clinician", purpose=Purpose.PAYMENT), "break-glass", P, False, "not-of-this-role"),
        (person("clinician", relations=("break-glass",)), "read", P, True, "break-glass"),
        (person("clinician", relations=("break-glass",)), "write", P, False, "no-relation-to-patient"),
        (person("clinician", may_read=False, relations=("care-team",)), "read", P, False, "principal-may-not-read"),
        (person("clinician", may_write=False), "break-glass", P, False, "principal-may-not-write"),
        (person(kind=PrincipalKind.SYSTEM), "write", P, True, "system-with-scope"),
        (person(kind=PrincipalKind.SYSTEM), "decide", P, False, "operators-decide"),
        (person(kind=PrincipalKind.SYSTEM), "erase", P, False, "no-relation-to-patient"),
        (person(kind=PrincipalKind.AGENT), "read", P, False, "agent-acts-for-nobody"),
        (agent("clinician"), "read", P, False, "no-relation-to-patient"),
        (agent("clinician", relations=("care-team",)), "read", P, True, "care-team"),
        (agent("coordinator", relations=("break-glass",)), "read", P, False, "no-relation-to-patient"),
        (agent("clinician", relations=("care-team",)), "decide", P, False, "operators-decide"),
        (agent("privacy-officer"), "audit", None, False, "audit-is-read-by-owners"),
        (agent("administrator"), "relate", P, False, "operators-decide"),
        (person(), "read", None, True, "listing-is-filtered"),
        (person(), "govern", None, False, "not-of-this-role"),
        (person(), "read", LEE, True, "own-scope"),
        (person(seen=frozenset()), "read", LEE, False, "token-opens-records-only"),
        (person(seen=frozenset()), "read", CLINIC, False, "token-opens-records-only"),
        (person("clinician", seen=frozenset(), relations=("care-team",)), "read", P, True, "care-team"),
        (person(), "erase", LEE, True, "own-scope"),
        (person(id="dr-x"), "erase", LEE, False, "not-own-scope"),
        (person(), "erase", CLINIC, False, "not-own-scope"),
        (person("owner"), "erase", CLINIC, True, "owner"),
        (person(id="dr-x"), "read", LEE, False, "not-own-scope"),
        (person(), "read", CLINIC, True, "organization-knowledge-is-read-by-its-operators"),
        (person(), "write", CLINIC, False, "not-own-scope"),
        (person(), "read", BOT, False, "not-own-scope"),
    ],
)
def test_the_packaged_policy_decides_so(
    access: Access, act: str, subject: Subject | None, allowed: bool, reason: str
) -> None:
    found = decide(access, act, subject)
    assert (found.allowed, found.reasons[0]) == (allowed, reason)


def test_an_administrator_sees_the_profile_of_an_operator_and_nothing_else_of_it() -> None:
    admin = person("administrator", id="root")
    assert decide(admin, "read", LEE, kind="profile").allowed
    assert not decide(admin, "read", LEE, kind="preference").allowed
    assert not decide(admin, "read", LEE).allowed


def test_an_equal_id_in_another_scope_is_somebody_else() -> None:
    for access in (
        person(id="clinic"),
        person(id="bot"),
        person(id="bot", kind=PrincipalKind.SYSTEM),
        person(kind=PrincipalKind.SYSTEM),
        person(kind=PrincipalKind.AGENT, id="dr-lee", on_behalf_of="dr-x"),
    ):
        for subject in (CLINIC, BOT, LEE):
            own = access.person == str(subject)
            assert decide(access, "write", subject).allowed is (own and access.kind is PrincipalKind.OPERATOR)
    assert decide(person(id="bot", kind=PrincipalKind.AGENT, on_behalf_of="dr-x"), "read", BOT).allowed
    assert decide(person(id="bot", kind=PrincipalKind.AGENT, on_behalf_of="dr-lee"), "read", LEE).allowed
    assert not decide(person(id="bot", kind=PrincipalKind.AGENT, on_behalf_of="dr-x"), "read", LEE).allowed


def test_an_act_that_no_policy_names_is_the_owners() -> None:
    assert decide(Access.local(), "something-new", P).allowed
    assert not decide(person("clinician", relations=("care-team",)), "something-new", P).allowed
    assert not decide(person("privacy-officer"), "something-new", None).allowed


def test_only_what_break_glass_alone_allows_is_loud() -> None:
    assert decide(person("clinician", relations=("break-glass",)), "read", P).loud
    both = decide(person("clinician", relations=("break-glass", "care-team")), "read", P)
    assert (both.loud, both.reasons) == (False, ("care-team",))
    ours = parse((HEAD + ROW.replace("nurse\t*", "*\tcare-team,break-glass")).encode(), "ours.tsv")
    found = decide(person(relations=("break-glass",)), "read", P, policy=ours)
    assert found == Decision(True, ("nurse", "break-glass"), "nurses", True)


def test_laws_hold_under_any_policy() -> None:
    everything = HEAD + "all\tpermit\t*\t*\t*\t*\t*\t*\tall\there\n"
    ours = parse(everything.encode(), "ours.tsv")
    assert decide(person(), "erase", P, policy=ours).allowed
    for access, act in (
        (person(may_write=False), "erase"),
        (person(may_read=False), "read"),
        (person(kind=PrincipalKind.AGENT, on_behalf_of="x"), "decide"),
        (person(kind=PrincipalKind.AGENT, on_behalf_of="x"), "break-glass"),
        (person(kind=PrincipalKind.SYSTEM), "relate"),
        (person(patients=frozenset({"q"})), "read"),
        (person(kind=PrincipalKind.AGENT), "read"),
    ):
        assert not decide(access, act, P, policy=ours).allowed, act


def test_without_a_row_that_fits_it_is_no() -> None:
    ours = parse((HEAD + ROW).encode(), "ours.tsv")
    assert decide(person("nurse"), "read", P, policy=ours).reasons == ("nurse",)
    for access, act, subject in (
        (person("clinician"), "read", P),
        (person("nurse"), "write", P),
        (person("nurse"), "read", CLINIC),
        (Access.local(), "read", P),
    ):
        found = decide(access, act, subject, policy=ours)
        assert (found.allowed, found.reasons, found.rule) == (False, ("no-rule-allows-it",), "")


words = st.sampled_from
anybody = st.builds(
    Access,
    kind=words(list(PrincipalKind)),
    id=words(["dr-lee", "bot", "clinic"]),
    on_behalf_of=words(["", "dr-lee", "other"]),
    roles=st.lists(words(sorted(ROLES)), max_size=3).map(tuple),
    purpose=words(list(Purpose)),
    patients=st.none() | st.frozensets(words(["p", "q"]), max_size=2),
    may_write=st.booleans(),
    may_read=st.booleans(),
    by_relation=st.booleans(),
    launch=st.booleans(),
    relations=st.lists(words(sorted(RELATIONS - {"given", "launch", "own", "none"})), max_size=3).map(tuple),
)
anything = st.none() | words([P, CLINIC, LEE, BOT])


@settings(max_examples=300, deadline=None)
@given(anybody, words(["read", "write", "list", "erase", "audit"]), anything)
def test_an_agent_may_never_more_than_the_operator_it_acts_for(
    access: Access, act: str, subject: Subject | None
) -> None:
    agent = replace(access, kind=PrincipalKind.AGENT, id="bot", on_behalf_of="dr-lee")
    operator = replace(access, kind=PrincipalKind.OPERATOR, id="dr-lee", on_behalf_of="")
    if decide(agent, act, subject).allowed and subject != BOT:
        assert decide(operator, act, subject).allowed


@settings(max_examples=300, deadline=None)
@given(anybody, words(sorted(ACTS)), anything)
def test_every_decision_has_its_reason_and_a_bound_principal_reaches_no_other_patient(
    access: Access, act: str, subject: Subject | None
) -> None:
    found = decide(access, act, subject)
    assert found.reasons
    assert all(found.reasons)
    if found.allowed and subject == P and access.patients is not None:
        assert "p" in access.patients
    if found.allowed and act in ("write", "erase", "relate", "decide", "break-glass"):
        assert access.may_write
