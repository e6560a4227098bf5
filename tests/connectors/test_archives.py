"""Archives are opened within bounds, and everything else is a file as it is."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest
from fuzz.doors import archive
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors.archives import is_archive, opened
from iamata.errors import BadInput, TooLarge

FILES = {"Patient.ndjson": b'{"resourceType":"Patient"}\n', "deep/Condition.ndjson": b"{}\n"}


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]  # mode is a parameter here
        for name, body in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


@pytest.mark.parametrize("body", [zipped(FILES), tarred(FILES), tarred(FILES, "w:gz")], ids=["zip", "tar", "tar.gz"])
def test_the_files_of_an_archive_come_out_with_their_names(body: bytes) -> None:
    assert is_archive(body)
    assert list(opened([("all", body), ("plain.ndjson", b"x")])) == [
        ("all/Patient.ndjson", FILES["Patient.ndjson"]),
        ("all/deep/Condition.ndjson", FILES["deep/Condition.ndjson"]),
        ("plain.ndjson", b"x"),
    ]


def test_a_gzip_file_is_the_file_in_it() -> None:
    body = gzip.compress(b"one\n") + gzip.compress(b"two\n")
    assert list(opened([("Patient.ndjson.gz", body)])) == [("Patient.ndjson", b"one\ntwo\n")]


def test_hidden_files_are_passed_over() -> None:
    body = zipped({"__MACOSX/x": b"a", ".DS_Store": b"b", "Patient.ndjson": b"c"})
    assert [name for name, _ in opened([("z", body)])] == ["z/Patient.ndjson"]


def test_an_archive_in_an_archive_is_a_file() -> None:
    inner = zipped(FILES)
    assert list(opened([("z", zipped({"inner.zip": inner}))])) == [("z/inner.zip", inner)]


@pytest.mark.parametrize("pack", [lambda b: zipped({"x": b}), gzip.compress, lambda b: tarred({"x": b}, "w:gz")])
def test_a_bomb_is_refused_before_it_is_open(pack: object) -> None:
    assert callable(pack)
    bomb = pack(b"0" * 40_000_000)
    assert len(bomb) < 50_000
    with pytest.raises(TooLarge, match="far more"):
        list(opened([("bomb", bomb)]))


def test_what_comes_out_of_all_archives_is_bounded() -> None:
    one = zipped({"x": bytes(range(256)) * 40})
    with pytest.raises(TooLarge, match="20000 bytes"):
        list(opened([("a", one), ("b", one)], limit_bytes=20_000))
    with pytest.raises(TooLarge, match="2 files"):
        list(opened([("a", zipped({str(n): b"" for n in range(3)}))], limit_files=2))


def test_a_zip_that_lies_about_its_sizes_is_measured_by_what_comes_out() -> None:
    body = bytearray(zipped({"x": b"0" * 30_000_000}))
    lie = (30_000_000).to_bytes(4, "little")
    while (at := body.find(lie)) >= 0:
        body[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises((TooLarge, BadInput)):
        list(opened([("liar", bytes(body))]))


def test_a_damaged_archive_is_bad_input_with_its_name() -> None:
    for body in (zipped(FILES)[:60], gzip.compress(b"x" * 100)[:20], zipped(FILES).replace(b"Patient", b"Qatient", 1)):
        with pytest.raises(BadInput, match="at broken"):
            list(opened([("broken", body)]))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([zipped(FILES), tarred(FILES), tarred(FILES, "w:gz")]), st.data())
def test_a_mutated_archive_is_opened_or_refused_and_nothing_else(body: bytes, data: st.DataObject) -> None:
    changed = bytearray(body)
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert not archive(bytes(changed))
