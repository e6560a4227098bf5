"""What does the access door cost? Deciding, looking up relations, taking a token, and a read with and without them.

    python -m benchmarks.access [--runs N]

Made-up patients, SQLite. Times are medians, wall clock. A ratio compares two figures of one run: for whom patients
exist by relations, and for the local owner, who needs none.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from msgspec.structs import replace

from benchmarks.figures import put
from iamata import Access, ContextRequest, Engine, patient
from iamata.engine.identity import Identity
from iamata.model.access import PrincipalKind
from iamata.model.relation import RelationKind
from iamata.policy.access import decide
from iamata.reach.keysets import KeySet

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LEE = Access(kind=PrincipalKind.OPERATOR, id="dr-lee", roles=("clinician",), by_relation=True)
AGENT = replace(LEE, kind=PrincipalKind.AGENT, id="triage", on_behalf_of="dr-lee")
PATIENTS = 200

ASKED = {
    "decision_by_owner_us": "< 100",
    "decision_by_relation_us": "< 100",
    "decision_of_an_agent_us": "< 100",
    "door_with_lookup_ms": "< 0.1",
}


def median_ms(run: Callable[[], object], runs: int, *, times: int = 1) -> float:
    run()
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(times):
            run()
        found.append((time.perf_counter() - start) * 1000 / times)
    return statistics.median(found)


def alternating_ms(runs: int, times: int, **calls: Callable[[], object]) -> dict[str, float]:
    """The median of each, by turns: a machine that is busy for a while is busy for all of them."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(runs + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(times):
                call()
            found[name].append((time.perf_counter() - start) * 1000 / times)
    return {name: statistics.median(each[1:]) for name, each in found.items()}


def record(number: int) -> bytes:
    """A small bundle: forty results, five conditions, five orders."""
    about = {"subject": {"reference": "Patient/x"}}
    made: list[dict[str, object]] = [
        {"resourceType": "Observation", "id": f"o{n}", "status": "final", "code": {"text": f"Test {n}"}, **about}
        | {"effectiveDateTime": f"2026-01-{n % 28 + 1:02}", "valueQuantity": {"value": number + n, "unit": "mg/dL"}}
        for n in range(40)
    ]
    made += [{"resourceType": "Condition", "id": f"c{n}", "code": {"text": f"Problem {n}"}, **about} for n in range(5)]
    made += [
        {"resourceType": "MedicationRequest", "id": f"m{n}", "status": "active", "intent": "order", **about}
        | {"medicationCodeableConcept": {"text": f"Drug {n}"}, "authoredOn": "2026-02-10"}
        for n in range(5)
    ]
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in made]}).encode()


def measure(runs: int) -> dict[str, float | int]:
    subject = patient("p0")
    related = replace(LEE, relations=("care-team",))
    figures: dict[str, float | int] = {"rows_of_policy": 0}
    local = Access.local()
    figures["decision_by_owner_us"] = 1000 * median_ms(lambda: decide(local, "read", subject), runs, times=1000)
    figures["decision_by_relation_us"] = 1000 * median_ms(lambda: decide(related, "read", subject), runs, times=1000)
    behind = replace(AGENT, relations=("care-team",))
    figures["decision_of_an_agent_us"] = 1000 * median_ms(lambda: decide(behind, "read", subject), runs, times=1000)
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "a.db") as engine:
        figures["rows_of_policy"] = len(engine.policy().rules)
        for number in range(PATIENTS):
            engine.put_patient(f"p{number}")
            engine.relate(f"p{number}", "operator/dr-lee", RelationKind.CARE_TEAM)
            engine.relate(f"p{number}", "operator/dr-other", RelationKind.CARE_TEAM)
        engine.ingest("p0", record(0), source="ehr")
        # The door alone, without the reading and the audit record behind it; beside it a look at a patient's row.
        figures |= alternating_ms(
            runs,
            200,
            door_with_lookup_ms=lambda: engine._may(LEE, "read", "p0"),
            a_row_of_the_store_ms=lambda: engine._store.patient("p0"),
        )
        page, asked = "/patient/p0/_index.md", ContextRequest(subjects=(subject,), task="general", budget_tokens=1000)
        figures |= alternating_ms(
            runs,
            10,
            read_by_owner_ms=lambda: engine.read(page),
            read_by_relation_ms=lambda: engine.read(page, access=LEE),
            read_by_agent_ms=lambda: engine.read(page, access=AGENT),
        )
        figures |= alternating_ms(
            runs,
            5,
            context_for_owner_ms=lambda: engine.context(asked),
            context_for_relation_ms=lambda: engine.context(asked, access=LEE),
        )
        figures["list_of_200_by_relation_ms"] = median_ms(lambda: engine.patients(access=LEE), runs)
        figures["list_by_owner_ms"] = median_ms(lambda: engine.patients(), runs)
    for one, other in (("read_by_relation", "read_by_owner"), ("context_for_relation", "context_for_owner")):
        figures[f"ratio_{one}"] = float(figures[f"{one}_ms"]) / float(figures[f"{other}_ms"])
    figures |= tokens(runs)
    return figures


def tokens(runs: int) -> dict[str, float]:
    """Taking a token whose key is known: form, signature, claims, scopes."""
    keys = {
        "RS256": (rsa.generate_private_key(65537, 2048), RSAAlgorithm),
        "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    }
    found: dict[str, float] = {}
    for algorithm, (key, maker) in keys.items():
        jwk = maker.to_jwk(key.public_key(), as_dict=True) | {"kid": "k", "alg": algorithm}
        jwks = json.dumps({"keys": [jwk]}).encode()
        identity = Identity(
            issuer="https://id.test",
            audiences=("here",),
            keys=KeySet("https://id.test/jwks", fetch=lambda jwks=jwks: jwks),
            clock=lambda: NOW,
        )
        at = int(NOW.timestamp())
        claims = {"iss": "https://id.test", "aud": "here", "sub": "dr-lee", "exp": at + 300, "scope": "user/*.cruds"}
        token = jwt.encode(claims | {"roles": ["clinician"]}, key, algorithm=algorithm, headers={"kid": "k"})
        found[f"token_{algorithm.lower()}_ms"] = median_ms(
            lambda identity=identity, token=token: identity.access_of(token), runs, times=100
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    put(measure(parser.parse_args().runs), ASKED)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
