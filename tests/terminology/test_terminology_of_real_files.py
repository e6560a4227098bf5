"""On the real files: each code in our tables has the name that the files give it, and how many names are understood."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from harvest import harvest

from iamata.model.coding import CodedText
from iamata.terminology import drugs, vaccines
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

# Least share of distinct concepts understood over all folders. Unread ones are headings ("ACE inhibitors" as a drug),
# "no known …", names without a source, and records whose code and text name different things.
LEAST = {"medication": 0.8, "vaccine": 0.85, "allergy": 0.75}


@pytest.fixture(scope="module")
def found(data: Path) -> list[tuple[str, str, CodedText]]:
    return list(dict.fromkeys(harvest(data)))


def test_no_code_of_ours_means_another_drug_than_a_file_says(found: list[tuple[str, str, CodedText]]) -> None:
    ours = {row["code"]: row["name"] for row in rows("drug_codes") if row["source"] == "files"}
    met, wrong = set(), []
    for _, kind, concept in found:
        for coding in concept.codings if kind != "vaccine" else ():
            key = normal(coding.system, coding.code)
            key = key.replace("-", "") if key.startswith("ndc|") else key
            if key not in ours or not coding.display:
                continue
            met.add(key)
            theirs, mine = drugs.read(CodedText(coding.display)), drugs.read(CodedText(ours[key]))
            if theirs and mine and theirs.ingredients != mine.ingredients:
                wrong.append((key, coding.display))
    assert wrong == []
    assert len(met) >= 150


def test_no_vaccine_code_of_ours_means_another_vaccine(found: list[tuple[str, str, CodedText]]) -> None:
    ours = {row["code"]: vaccines.of_name(row["name"]) for row in rows("vaccine_codes")}
    wrong = []
    for _, kind, concept in found:
        for coding in concept.codings if kind == "vaccine" else ():
            mine = ours.get(normal(coding.system, coding.code))
            theirs = vaccines.of_name(coding.display)
            if mine and theirs and not any(a.startswith(b) or b.startswith(a) for a in mine for b in theirs):
                wrong.append((coding.code, coding.display))
    assert wrong == []


def test_most_names_of_the_real_files_are_understood(found: list[tuple[str, str, CodedText]]) -> None:
    readers = {"medication": drugs.read, "vaccine": vaccines.group, "allergy": drugs.substance}
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    unread = []
    for folder, kind, concept in found:
        understood = bool(readers[kind](concept))
        for key in ((kind, folder), (kind, "all")):
            counts[key][0] += understood
            counts[key][1] += 1
        if not understood:
            unread.append(f"{kind} {folder}: {concept.display[:90]}")
    for (kind, folder), (some, every) in sorted(counts.items()):
        print(f"{kind} {folder}: {some} of {every} understood")
    print("\n".join(["not understood:", *sorted(set(unread))]))
    for kind, least in LEAST.items():
        some, every = counts[kind, "all"]
        assert some / every >= least, (kind, some, every)
