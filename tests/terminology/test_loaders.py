"""Licensed terminologies: read whole or not at all, the same each time, and used only when a process says so.

Every code and name here is invented (codes begin with 9999), in the layout of the real files.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata import Engine
from iamata.errors import BadInput, NotFound
from iamata.model.coding import CodedText, Coding
from iamata.terminology import conditions, drugs, labs, loaded, loading
from iamata.terminology.drug_tables import tables
from iamata.terminology.loaded import Kind
from iamata.terminology.sorted_text import SortedText, SortedWriter
from iamata.terminology.systems import normal
from iamata.terminology.tables import knowledge_version

RXNORM, SNOMED = "http://www.nlm.nih.gov/research/umls/rxnorm", "http://snomed.info/sct"
ICD10, LOINC, NDC = "http://hl7.org/fhir/sid/icd-10-cm", "http://loinc.org", "http://hl7.org/fhir/sid/ndc"


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    loaded.use([])
    yield
    loaded.use([])


def coded(system: str, code: str, display: str = "", text: str = "") -> CodedText:
    return CodedText(text, (Coding(system, code, display, normal(system, code)),))


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def atom(cui: str, level: str, name: str, *, source: str = "RXNORM", suppress: str = "N") -> str:
    return f"{cui}|ENG||||||A{cui}{level}||||{source}|{level}|{cui}|{name}||{suppress}||"


def relation(one: str, name: str, other: str) -> str:
    return f"{one}||CUI|RO|{other}||CUI|{name}|||RXNORM||||||"


def rxnorm(folder: Path) -> Path:
    write(
        folder / "RXNCONSO.RRF",
        atom("9999001", "IN", "zyxolamine"),
        atom("9999002", "PIN", "zyxolamine maleate"),
        atom("9999003", "BN", "Zyxobrand"),
        atom("9999004", "SCD", "zyxolamine 5 MG Oral Tablet"),
        atom("9999005", "SBD", "zyxolamine 5 MG Oral Tablet [Zyxobrand]"),
        atom("9999005", "SY", "Zyxobrand five", suppress="N"),
        atom("9999006", "SCD", "suppressed 5 MG Oral Tablet", suppress="Y"),
        atom("9999007", "IN", "not of RxNorm", source="MTHSPL"),
        atom("9999008", "DF", "Oral Tablet"),
        "a line that is cut|",
    )
    write(
        folder / "RXNREL.RRF",
        relation("9999001", "tradename_of", "9999003"),
        relation("9999003", "has_tradename", "9999001"),
        relation("9999002", "has_form", "9999001"),
        relation("9999004", "tradename_of", "9999005"),
    )
    write(folder / "RXNSAT.RRF", "9999004||||CUI|9999004|||NDC|RXNORM|99999000101|N||")
    return folder


def rf2(path: Path, header: str, *rows: str) -> None:
    write(path, *(line.replace(" | ", "\t") for line in (header, *rows)))


def snomed(folder: Path) -> Path:
    terms, refset = folder / "Snapshot" / "Terminology", folder / "Snapshot" / "Refset" / "Map"
    concepts = [*(f"99990{n}" for n in range(1, 6)), "99995"]
    rf2(
        terms / "sct2_Concept_Snapshot_XX_20990101.txt",
        "id | effectiveTime | active | moduleId | definitionStatusId",
        *(f"{id} | 20990101 | {int(id != '999905')} | 1 | 1" for id in concepts),
    )
    full, synonym = "900000000000003001", "900000000000013009"
    names = [
        ("999901", "en", full, "Zyxitis (disorder)"),
        ("999902", "en", full, "Left handed zyxitis (disorder)"),
        ("999902", "en", synonym, "Sinister zyxitis"),
        ("999902", "de", synonym, "Linkszyxitis"),
        ("999903", "en", full, "Asthma (disorder)"),
        ("999904", "en", full, "Zyxotomy (procedure)"),
        ("999905", "en", full, "Gone zyxitis (disorder)"),
        ("99995", "en", full, "Mapped zyxosis (disorder)"),
    ]
    rf2(
        terms / "sct2_Description_Snapshot-en_XX_20990101.txt",
        "id | effectiveTime | active | moduleId | conceptId | languageCode | typeId | term | caseSignificanceId",
        *(
            f"{n} | 20990101 | 1 | 1 | {id} | {lang} | {kind} | {term} | 1"
            for n, (id, lang, kind, term) in enumerate(names)
        ),
        "a line with too few cells",
    )
    rf2(
        terms / "sct2_Relationship_Snapshot_XX_20990101.txt",
        "id | effectiveTime | active | moduleId | sourceId | destinationId | relationshipGroup | typeId | "
        "characteristicTypeId | modifierId",
        "1 | 20990101 | 1 | 1 | 999902 | 999901 | 0 | 116680003 | 1 | 1",
        "2 | 20990101 | 0 | 1 | 999901 | 99995 | 0 | 116680003 | 1 | 1",
    )
    rf2(
        refset / "der2_iisssccRefset_ExtendedMapSnapshot_XX_20990101.txt",
        "id | effectiveTime | active | moduleId | refsetId | referencedComponentId | mapGroup | mapPriority | "
        "mapRule | mapAdvice | mapTarget | correlationId | mapCategoryId",
        "1 | 20990101 | 1 | 1 | 6011000124106 | 99995 | 1 | 1 | TRUE | ALWAYS J45.909 | J45.909 | 1 | 1",
        "2 | 20990101 | 1 | 1 | 6011000124106 | 999902 | 1 | 1 | IFA 1 | IF MALE | N40.0 | 1 | 1",
    )
    return folder


def loinc(folder: Path) -> Path:
    header = "LOINC_NUM,COMPONENT,PROPERTY,TIME_ASPCT,SYSTEM,SCALE_TYP,METHOD_TYP,CLASS,STATUS,CLASSTYPE,SHORTNAME,"
    row = '"{0}","{1}","{2}","Pt","{3}","{4}","{5}","CHEM","{6}","{7}","{8}","{9}"'.format
    write(
        folder / "Loinc.csv",
        header + "LONG_COMMON_NAME",
        row("99990-1", "Zyxate", "MCnc", "Ser/Plas", "Qn", "", "ACTIVE", "1", "Zyxate-m", "Zyxate in Serum"),
        row("99991-9", "Zyxate", "MCnc", "Ser/Plas", "Qn", "", "DEPRECATED", "1", "Zyx old", "Zyxate, old"),
        row("99992-7", "Zyxate", "MCnc", "Urine", "Qn", "", "ACTIVE", "1", "Zyxate-u", "Zyxate in Urine"),
        row("99993-5", "Zyx survey", "-", "^Patient", "Nom", "", "ACTIVE", "4", "Zyx?", "Do you zyx?"),
        # The axes of a code of ours, and new codes that share them but for the method.
        row("2345-7", "Glucose", "MCnc", "Ser/Plas", "Qn", "", "ACTIVE", "1", "Glucose SerPl-mCnc", "Glucose"),
        row("99994-3", "Glucose", "MCnc", "Ser/Plas", "Qn", "Test strip", "ACTIVE", "1", "Glu strip", "Glucose strip"),
        row("99995-0", "Glucose", "MCnc", "Ser/Plas", "Qn", "Calculated", "ACTIVE", "1", "Glu calc", "Glucose calc"),
        '"99996-8","too few cells"',
    )
    return folder


def umls(folder: Path) -> Path:
    atom = "{0}|ENG|P|L9|PF|S9|{3}|A9||||{1}|PT|{2}|{4}|0|{5}||".format
    write(
        folder / "MRCONSO.RRF",
        atom("C9999001", "SNOMEDCT_US", "9999101", "Y", "Zyx airway disease", "N"),
        atom("C9999001", "ICD10CM", "J45", "Y", "Zyx asthma", "N"),
        atom("C9999002", "SNOMEDCT_US", "9999102", "Y", "Torn zyx", "N"),
        atom("C9999002", "ICD10CM", "J45", "Y", "Torn zyx", "N"),
        atom("C9999002", "ICD10CM", "E11.9", "Y", "Torn zyx", "N"),
        atom("C9999003", "RXNORM", "9999103", "Y", "aspirin 5 MG Oral Tablet", "N"),
        atom("C9999004", "MSH", "D9999", "Y", "A vocabulary that is not read", "N"),
        atom("C9999005", "SNOMEDCT_US", "9999104", "Y", "suppressed", "O"),
    )
    size = (folder / "MRCONSO.RRF").stat().st_size
    write(folder / "MRFILES.RRF", f"MRCONSO.RRF|Concepts|CUI,LAT|18|8|{size}|")
    return folder


WRITERS = {Kind.RXNORM: rxnorm, Kind.SNOMED: snomed, Kind.LOINC: loinc, Kind.UMLS: umls}
KINDS = pytest.mark.parametrize("kind", list(Kind))


def loaded_from(tmp_path: Path, *kinds: Kind) -> Path:
    cache = tmp_path / "cache"
    for kind in kinds:
        loading.load(WRITERS[kind](tmp_path / kind.value), cache)
    loaded.use(loading.opened(cache))
    return cache


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@KINDS
def test_the_kind_is_recognized_from_the_files(kind: Kind, tmp_path: Path) -> None:
    made = loading.load(WRITERS[kind](tmp_path / "release"), tmp_path / "cache")
    assert made.description.kind is kind
    assert all(made.description.rows.values())
    assert made.description.release == ("20990101" if kind is Kind.SNOMED else "")
    assert loading.listed(tmp_path / "cache") == [made.description]


@KINDS
def test_loading_twice_is_the_same_bytes_and_the_same_version(kind: Kind, tmp_path: Path) -> None:
    release, cache = WRITERS[kind](tmp_path / "release"), tmp_path / "cache"
    first = loading.load(release, cache)
    before = content(cache)
    # Sorted in many small runs instead of one: the same.
    assert loading.load(release, cache, batch_lines=2) == first
    assert content(cache) == before


@KINDS
def test_a_truncated_file_loads_nothing_and_leaves_what_was_there(kind: Kind, tmp_path: Path) -> None:
    release, cache = WRITERS[kind](tmp_path / "release"), tmp_path / "cache"
    loading.load(release, cache)
    before = content(cache)
    for file in [path for path in sorted(release.rglob("*")) if path.is_file()]:
        whole = file.read_bytes()
        for end in (len(whole) - 1, len(whole) // 2, 0):
            cut = whole[:end] if not whole[:end].endswith(b"\n") else whole[: end - 1]
            file.write_bytes(cut)
            with pytest.raises(BadInput) as refused:
                loading.load(release, cache)
            assert file.name in str(refused.value)
            assert content(cache) == before
        file.write_bytes(whole)


def test_a_umls_file_cut_between_two_lines_is_told_by_the_list_of_sizes(tmp_path: Path) -> None:
    release = umls(tmp_path / "release")
    lines = (release / "MRCONSO.RRF").read_bytes().splitlines(keepends=True)
    (release / "MRCONSO.RRF").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(BadInput, match="size"):
        loading.load(release, tmp_path / "cache")
    assert loading.listed(tmp_path / "cache") == []


def test_a_csv_file_cut_within_a_quotation_loads_nothing(tmp_path: Path) -> None:
    release = loinc(tmp_path / "release")
    with (release / "Loinc.csv").open("a") as file:
        file.write('"99997-6","Zyx\n')
    with pytest.raises(BadInput, match="quotation"):
        loading.load(release, tmp_path / "cache")
    assert content(tmp_path / "cache") == {}


@pytest.mark.parametrize(
    ("kind", "file", "line", "why"),
    [
        (Kind.RXNORM, "RXNCONSO.RRF", 10, "1 cells instead of 18"),
        (Kind.SNOMED, "sct2_Description_Snapshot-en_XX_20990101.txt", 10, "1 cells instead of 9"),
        (Kind.LOINC, "Loinc.csv", 9, "2 cells instead of 12"),
    ],
)
def test_a_bad_line_is_named_and_skipped(kind: Kind, file: str, line: int, why: str, tmp_path: Path) -> None:
    made = loading.load(WRITERS[kind](tmp_path / "release"), tmp_path / "cache")
    assert made.bad_lines == 1
    assert [(bad.file, bad.line, bad.why) for bad in made.first_bad] == [(file, line, why)]


def test_lines_that_are_no_text_or_endless_are_skipped(tmp_path: Path) -> None:
    release = rxnorm(tmp_path / "release")
    with (release / "RXNCONSO.RRF").open("ab") as file:
        file.write(b"\xff\xfe|\n" + b"x" * 2_100_000 + b"\n" + atom("9999009", "IN", "zyxadone").encode() + b"\n")
    made = loading.load(release, tmp_path / "cache")
    assert [bad.why for bad in made.first_bad[1:]] == ["not UTF-8", "longer than a line can be"]
    loaded.use(loading.opened(tmp_path / "cache"))
    assert drugs.read(CodedText("zyxadone")) is not None


def test_what_is_no_terminology_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "there" / "notes.txt", "nothing")
    with pytest.raises(BadInput, match="no terminology that is known"):
        loading.load(tmp_path / "there", tmp_path / "cache")
    with pytest.raises(NotFound):
        loading.load(tmp_path / "elsewhere", tmp_path / "cache")
    with pytest.raises(BadInput, match="of snomed"):
        loading.load(rxnorm(tmp_path / "rx"), tmp_path / "cache", kind=Kind.SNOMED)
    umls(tmp_path / "rx")
    with pytest.raises(BadInput, match="several"):
        loading.load(tmp_path / "rx", tmp_path / "cache")
    # One file says which.
    assert loading.load(tmp_path / "rx" / "MRCONSO.RRF", tmp_path / "cache").description.kind is Kind.UMLS


def test_the_knowledge_version_says_what_is_loaded(tmp_path: Path) -> None:
    bare = knowledge_version()
    cache = loaded_from(tmp_path, Kind.RXNORM)
    one = knowledge_version()
    loaded_from(tmp_path, Kind.LOINC)
    both = knowledge_version()
    assert len({bare, one, both}) == 3
    assert [each.partition(" ")[0] for each in loaded.in_use()] == ["loinc", "rxnorm"]
    loading.unload(cache, Kind.LOINC)
    assert knowledge_version() == both  # what is open stays open
    loaded.use(loading.opened(cache))
    assert knowledge_version() == one
    loaded.use([])
    assert knowledge_version() == bare
    with pytest.raises(NotFound):
        loading.unload(cache, Kind.LOINC)


def test_a_set_that_is_damaged_or_of_another_format_is_not_used(tmp_path: Path) -> None:
    cache = loaded_from(tmp_path, Kind.RXNORM, Kind.LOINC)
    (cache / "rxnorm" / "set.json").write_text("{")
    manifest = cache / "loinc" / "set.json"
    manifest.write_text(manifest.read_text().replace('"format":1', '"format":0'))
    assert loading.listed(cache) == []
    assert loading.listed(tmp_path / "nowhere") == []


def test_rxnorm_gives_brands_salts_and_codes_to_drugs(tmp_path: Path) -> None:
    assert drugs.read(coded(RXNORM, "9999004")) is None
    loaded_from(tmp_path, Kind.RXNORM)
    generic, brand = drugs.read(coded(RXNORM, "9999004")), drugs.read(coded(RXNORM, "9999005"))
    assert generic is not None
    assert brand is not None
    assert (generic.ingredients, generic.route, generic.strength) == (frozenset({"zyxolamine"}), "oral", "5 mg")
    assert brand.brand == "zyxobrand"
    assert drugs.same(generic, brand) is drugs.Relation.SAME
    by_name = drugs.read(CodedText("Zyxobrand 5 mg oral tablet"))
    assert by_name is not None
    assert by_name.ingredients == {"zyxolamine"}
    salt = drugs.read(CodedText("zyxolamine maleate 5 mg oral tablet"))
    assert salt is not None
    assert salt.salts == {"zyxolamine maleate"}
    # Not read: what is suppressed, of another vocabulary, or a dose form.
    assert all(drugs.read(coded(RXNORM, code)) is None for code in ("9999006", "9999007", "9999008"))


@pytest.mark.parametrize("code", ["99999-0001-01", "99999000101", "99999-001-01", "99999-0001-1"])
def test_an_ndc_is_known_in_every_form(code: str, tmp_path: Path) -> None:
    loaded_from(tmp_path, Kind.RXNORM)
    found = drugs.read(coded(NDC, code))
    assert found is not None
    assert found.ingredients == {"zyxolamine"}


def test_a_loaded_rxnorm_wins_over_what_files_called_a_code_and_never_changes_a_name(tmp_path: Path) -> None:
    code = next(key for key in sorted(tables().codes) if key.startswith("rxnorm|"))
    aspirin = tables().ingredients["aspirin"]
    release = rxnorm(tmp_path / "release")
    with (release / "RXNCONSO.RRF").open("a") as file:
        file.write(atom(code.partition("|")[2], "SCD", "zyxolamine 9 MG Oral Tablet") + "\n")
        file.write(atom("9999010", "IN", "Aspirin") + "\n")
    loading.load(release, tmp_path / "cache")
    loaded.use(loading.opened(tmp_path / "cache"))
    assert tables().codes[code] == "zyxolamine 9 MG Oral Tablet"
    assert tables().ingredients["aspirin"] == aspirin


def test_snomed_gives_names_and_a_hierarchy_to_conditions(tmp_path: Path) -> None:
    child, parent = coded(SNOMED, "999902"), coded(SNOMED, "999901")
    assert conditions.relation(child, parent) is conditions.Relation.UNKNOWN
    loaded_from(tmp_path, Kind.SNOMED)
    assert conditions.relation(child, parent) is conditions.Relation.REFINES
    assert conditions.group(CodedText("sinister zyxitis")) == conditions.group(child) == "snomed|999902"
    assert conditions.name("snomed|999902") == "Left handed zyxitis"
    # Not read: another language, an inactive concept, an inactive relationship, what is no condition.
    assert [conditions.named(each) for each in ("Linkszyxitis", "Gone zyxitis", "Zyxotomy")] == ["", "", ""]
    assert conditions.relation(parent, coded(SNOMED, "99995")) is conditions.Relation.DIFFERENT


def test_a_snomed_concept_named_like_a_group_of_ours_is_that_group(tmp_path: Path) -> None:
    asthma = conditions.named("Asthma")
    assert asthma
    loaded_from(tmp_path, Kind.SNOMED)
    assert conditions.group(coded(SNOMED, "999903")) == asthma


def test_a_map_to_icd10cm_makes_a_kind_of_and_never_the_same(tmp_path: Path) -> None:
    loaded_from(tmp_path, Kind.SNOMED)
    mapped = coded(SNOMED, "99995")
    assert conditions.relation(mapped, coded(ICD10, "J45.909")) is conditions.Relation.REFINES
    assert conditions.relation(mapped, coded(ICD10, "E11.9")) is conditions.Relation.UNKNOWN
    # A rule with a condition is not followed.
    assert conditions.relation(coded(SNOMED, "999902"), coded(ICD10, "N40.0")) is conditions.Relation.UNKNOWN


def test_loinc_gives_tests_for_codes_that_we_do_not_have(tmp_path: Path) -> None:
    assert labs.test(coded(LOINC, "99990-1")) is None
    loaded_from(tmp_path, Kind.LOINC)
    serum, old, urine = (labs.test(coded(LOINC, code)) for code in ("99990-1", "99991-9", "99992-7"))
    assert serum is not None
    assert serum == old._replace(name=serum.name) if old else False
    assert urine is not None
    assert urine.id != serum.id
    assert (serum.component, serum.specimen, serum.timing, serum.kind) == ("Zyxate", "Ser/Plas", "", "lab")
    assert labs.test(CodedText("zyxate in serum")) == serum
    assert labs.test(CodedText("Zyxate, old")) is None
    assert labs.test(coded(LOINC, "99993-5")) is None
    assert labs.code_name("99993-5") == "Do you zyx?"


def test_a_loaded_code_joins_a_test_of_ours_by_another_method_but_not_by_calculation(tmp_path: Path) -> None:
    ours = labs.test(coded(LOINC, "2345-7"))
    loaded_from(tmp_path, Kind.LOINC)
    assert labs.test(coded(LOINC, "2345-7")) == ours
    assert labs.test(coded(LOINC, "99994-3")) == ours
    calculated = labs.test(coded(LOINC, "99995-0"))
    assert calculated is not None
    assert calculated != ours


def test_the_umls_joins_a_code_to_the_one_group_of_its_concept(tmp_path: Path) -> None:
    asthma = conditions.group(coded(ICD10, "J45"))
    loaded_from(tmp_path, Kind.UMLS)
    assert conditions.group(coded(SNOMED, "9999101")) == asthma
    assert conditions.group(CodedText("zyx airway disease")) == asthma
    # A concept whose codes are of two groups says nothing, nor does what is suppressed or of another vocabulary.
    assert conditions.group(coded(SNOMED, "9999102")) == ""
    assert conditions.named("Torn zyx") == ""
    assert conditions.group(coded(SNOMED, "9999104")) == ""
    drug = drugs.read(coded(RXNORM, "9999103"))
    assert drug is not None
    assert drug.ingredients == {"aspirin"}


def test_progress_ends_at_the_size_of_each_file(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    release = rxnorm(tmp_path / "release")

    def tell(file: str, done: int, size: int) -> None:
        told.append((file, done, size))

    loading.load(release, tmp_path / "cache", progress=tell)
    sizes = {name: (release / name).stat().st_size for name in ("RXNCONSO.RRF", "RXNREL.RRF", "RXNSAT.RRF")}
    assert told == [(name, size, size) for name, size in sizes.items()]


PAIRS = st.lists(st.tuples(st.text(max_size=6).filter(lambda key: "\t" not in key), st.text(max_size=6)), max_size=40)


def _plain(text: str, keep: Callable[[str], bool] = lambda char: False) -> str:
    return "".join(char if ord(char) >= 32 or keep(char) else " " for char in text)


@settings(max_examples=80, deadline=None)
@given(
    PAIRS.map(lambda pairs: [p for p in pairs if all(c < "\ud800" or c > "\udfff" for c in "".join(p))]),
    st.integers(1, 9),
)
def test_sorted_text_finds_what_was_written_and_nothing_else(pairs: list[tuple[str, str]], batch: int) -> None:
    wanted: dict[str, set[str]] = {}
    for key, value in pairs:
        wanted.setdefault(_plain(key), set()).add(_plain(value, lambda char: char == "\t"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.tsv"
        writer = SortedWriter(path, batch_lines=batch)
        for key, value in pairs:
            writer.add(key, value)
        count, digest = writer.finish()
        other = SortedWriter(Path(folder) / "u.tsv")
        for key, value in reversed(pairs):
            other.add(key, value)
        assert other.finish() == (count, digest)
        text = SortedText(path)
        assert count == sum(map(len, wanted.values()))
        for key, values in wanted.items():
            assert text.all(key) == tuple(sorted(values, key=str.encode))
            assert text.first(key) == text.all(key)[0]
        assert list(text.items()) == [
            (k, v) for k in sorted(wanted, key=lambda k: f"{k}\t".encode()) for v in text.all(k)
        ]
        for absent in ("", "zzzzzzz", "a b c"):
            if absent not in wanted:
                assert text.all(absent) == ()


def test_a_graph_is_formed_anew_when_what_is_loaded_changes(tmp_path: Path) -> None:
    """Two names of one drug are two facts, until an RxNorm says what the codes are; unloading parts them again."""
    sent = [
        {
            "resourceType": "MedicationStatement",
            "id": code,
            "status": "active",
            "subject": {"reference": "Patient/p"},
            "medicationCodeableConcept": {"coding": [{"system": RXNORM, "code": code}]},
        }
        for code in ("9999004", "9999005")
    ]
    entries = [{"resource": each} for each in ({"resourceType": "Patient", "id": "p"}, *sent)]
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()

    def medications(engine: Engine) -> int:
        return sum(fact.kind == "medication" for fact in engine.graph("p").facts.values())

    with Engine.open(":memory:") as engine:
        engine.ingest("p", body)
        before, version = medications(engine), engine.doctor()["knowledge"]
        cache = loaded_from(tmp_path, Kind.RXNORM)
        assert (before, medications(engine)) == (2, 1)
        assert engine.doctor()["knowledge"] != version
        loading.unload(cache, Kind.RXNORM)
        loaded.use(loading.opened(cache))
        assert medications(engine) == 2
        assert engine.doctor()["knowledge"] == version
