"""How do the text sources of the labelled documents become the bytes of their formats?

Text, RTF and HTML are sent as they stand, in UTF-8. A `.docx.txt`, `.pdf.txt` or `.dicom.txt` says in plain lines what
the file holds (gold/documents/README.md describes them); the bytes are made here, the same on every run. Knows nothing
of the labels and nothing of any reader: only the standard library writes DOCX and PDF, pydicom writes DICOM.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape


def made(source: Path) -> tuple[str, bytes]:
    """The name and the bytes of the document that the source describes. ImportError for DICOM without pydicom."""
    name = source.name
    if not name.endswith((".docx.txt", ".pdf.txt", ".dicom.txt")):
        return name, source.read_bytes()
    text = source.read_text(encoding="utf-8")
    plain = name.removesuffix(".txt")
    if plain.endswith(".docx"):
        return plain, docx(text)
    if plain.endswith(".pdf"):
        return plain, pdf(text)
    return f"{plain.removesuffix('.dicom')}.dcm", dicom(text)


def _head(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """`name: value` lines up to the first empty line, and the lines after it."""
    head, _, body = text.partition("\n\n")
    return [_pair(line) for line in head.splitlines()], body.rstrip("\n").split("\n")


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


# DOCX: the smallest package of ECMA-376 that carries core properties, a page header and footer, headings and tables.

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORDML = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def docx(text: str) -> bytes:
    head, body = _head(text)
    properties = [(n.removeprefix("property "), v) for n, v in head if n.startswith("property ")]
    margins = [(name, value) for name, value in head if name in ("header", "footer")]
    parts = {"_rels/.rels": _relations([("officeDocument", "word/document.xml")], core=bool(properties))}
    links = [("styles", "styles.xml"), *((name, f"{name}1.xml") for name, _ in margins)]
    parts["word/_rels/document.xml.rels"] = _relations(links)
    references = "".join(
        f'<w:{name}Reference w:type="default" r:id="rId{2 + index}"/>' for index, (name, _) in enumerate(margins)
    )
    parts["word/document.xml"] = (
        f'<w:document xmlns:w="{_W}" xmlns:r="{_R}"><w:body>{"".join(_blocks(body))}'
        f"<w:sectPr>{references}</w:sectPr></w:body></w:document>"
    )
    parts["word/styles.xml"] = (
        f'<w:styles xmlns:w="{_W}"><w:style w:type="paragraph" w:default="1" w:styleId="Normal">'
        '<w:name w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="Heading1">'
        '<w:name w:val="heading 1"/><w:basedOn w:val="Normal"/></w:style></w:styles>'
    )
    for name, value in margins:
        tag = "hdr" if name == "header" else "ftr"
        parts[f"word/{name}1.xml"] = f'<w:{tag} xmlns:w="{_W}">{_paragraph(value)}</w:{tag}>'
    if properties:
        parts["docProps/core.xml"] = _core(properties)
    parts = {"[Content_Types].xml": _content_types(parts), **parts}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, xml in parts.items():
            package.writestr(zipfile.ZipInfo(name), _DECLARED + xml)
    return file.getvalue()


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    rows: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            cells = "".join(f"<w:tc>{_paragraph(cell.strip())}</w:tc>" for cell in line.strip().strip("|").split("|"))
            rows.append(f"<w:tr>{cells}</w:tr>")
            continue
        if rows:
            yield f"<w:tbl><w:tblPr/><w:tblGrid/>{''.join(rows)}</w:tbl>"
            rows = []
        yield _paragraph(line.removeprefix("# "), heading=line.startswith("# "))


def _paragraph(text: str, *, heading: bool = False) -> str:
    style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if heading else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>' if text else ""
    return f"<w:p>{style}{run}</w:p>"


def _core(properties: Iterable[tuple[str, str]]) -> str:
    spaces = {"title": "dc", "creator": "dc", "lastModifiedBy": "cp"}
    told = "".join(f"<{spaces[n]}:{n}>{escape(value)}</{spaces[n]}:{n}>" for n, value in properties)
    return (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
        f' xmlns:dc="http://purl.org/dc/elements/1.1/">{told}</cp:coreProperties>'
    )


def _relations(links: Sequence[tuple[str, str]], *, core: bool = False) -> str:
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    told = [f'<Relationship Id="rId{i}" Type="{_R}/{type}" Target="{t}"/>' for i, (type, t) in enumerate(links, 1)]
    if core:
        told.append(
            f'<Relationship Id="rIdCore" Type="{package}/metadata/core-properties" Target="docProps/core.xml"/>'
        )
    return f'<Relationships xmlns="{package}">{"".join(told)}</Relationships>'


def _content_types(parts: Iterable[str]) -> str:
    types = {
        "word/document.xml": f"{_WORDML}.document.main+xml",
        "word/styles.xml": f"{_WORDML}.styles+xml",
        "word/header1.xml": f"{_WORDML}.header+xml",
        "word/footer1.xml": f"{_WORDML}.footer+xml",
        "docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
    }
    told = "".join(f'<Override PartName="/{p}" ContentType="{types[p]}"/>' for p in parts if p in types)
    return (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{told}</Types>'
    )


# PDF: one text layer in Helvetica (WinAnsi, so Western European letters only), one line of the source a line.


def pdf(text: str) -> bytes:
    head, body = _head(text)
    pages = "\n".join(body).split("\n---page---\n")
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{5 + 2 * index} 0 R" for index in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    info = b"".join(b"/%s %s " % (name.removeprefix("info ").encode(), _quoted(value)) for name, value in head)
    objects.append(b"<< " + info + b">>")
    for index, page in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 842] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (6 + 2 * index)
        )
        drawn = b"BT /F1 11 Tf 14 TL 50 800 Td\n" + b"".join(_quoted(x) + b" Tj T*\n" for x in page.split("\n")) + b"ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body_of in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body_of)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _quoted(text: str) -> bytes:
    """A literal string; the letters used are the same in WinAnsi and in PDFDocEncoding."""
    return b"(" + re.sub(rb"([\\()])", rb"\\\1", text.encode("cp1252")) + b")"


# DICOM: a header without pixels, or a structured report with a flat content sequence.

_STORAGE = {
    "CT": "1.2.840.10008.5.1.4.1.1.2",
    "US": "1.2.840.10008.5.1.4.1.1.6.1",
    "SC": "1.2.840.10008.5.1.4.1.1.7",
    "SR": "1.2.840.10008.5.1.4.1.1.88.11",
    "CHEST-CAD-SR": "1.2.840.10008.5.1.4.1.1.88.65",
}
_CODE = r"(\S+) (\S+) ([^:]+)"


def dicom(text: str) -> bytes:
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.sequence import Sequence as Items
    from pydicom.uid import ExplicitVRLittleEndian

    def coded(value: str, scheme: str, meaning: str) -> Dataset:
        code = Dataset()
        code.CodeValue, code.CodingSchemeDesignator, code.CodeMeaning = value, scheme, meaning.strip()
        return code

    data, content = Dataset(), []
    data.SpecificCharacterSet = "ISO_IR 192"
    authors, verifiers = [], []
    storage = ""
    for line in text.splitlines():
        name, value = _pair(line)
        found = re.fullmatch(rf"(TEXT|CODE|PNAME) {_CODE}: (.*)", line)
        if found:
            item = Dataset()
            item.RelationshipType = "CONTAINS" if found[2] in ("121071", "121077") else "HAS OBS CONTEXT"
            item.ValueType = found[1]
            item.ConceptNameCodeSequence = Items([coded(found[2], found[3], found[4])])
            if found[1] == "TEXT":
                item.TextValue = found[5]
            elif found[1] == "PNAME":
                item.PersonName = found[5]
            else:
                item.ConceptCodeSequence = Items([coded(*found[5].split(" ", 2))])
            content.append(item)
        elif line.startswith("container "):
            data.ValueType, data.ContinuityOfContent = "CONTAINER", "SEPARATE"
            data.ConceptNameCodeSequence = Items([coded(*line.removeprefix("container ").split(" ", 2))])
        elif name.startswith("author "):
            observer = Dataset()
            observer.ObserverType = name.removeprefix("author ")
            if observer.ObserverType == "PSN":
                observer.PersonName = value
            else:
                observer.DeviceUID, observer.ManufacturerModelName = _uid(value), value
            observer.InstitutionName = ""
            authors.append(observer)
        elif name == "verifier":
            verifier = Dataset()
            verifier.VerifyingObserverName, verifier.VerifyingOrganization = value, ""
            verifier.VerificationDateTime = data.StudyDate + "120000"
            verifiers.append(verifier)
        elif name == "SOPClass":
            storage = _STORAGE[value]
        else:
            setattr(data, name, value)
    data.SOPClassUID, data.SOPInstanceUID = storage, _uid(text)
    data.StudyInstanceUID, data.SeriesInstanceUID = _uid(f"study {text}"), _uid(f"series {text}")
    if "ValueType" in data:
        data.CompletionFlag = "COMPLETE"
        data.VerificationFlag = "VERIFIED" if verifiers else "UNVERIFIED"
        data.ContentSequence = Items(content)
    if authors:
        data.AuthorObserverSequence = Items(authors)
    if verifiers:
        data.VerifyingObserverSequence = Items(verifiers)
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.file_meta.MediaStorageSOPClassUID, data.file_meta.MediaStorageSOPInstanceUID = storage, data.SOPInstanceUID
    file = io.BytesIO()
    data.save_as(file, enforce_file_format=True)
    return file.getvalue()


def _uid(text: str) -> str:
    """A UID of the 2.25 arc from the words that name the thing, so that every run makes the same file."""
    return f"2.25.{int(hashlib.sha256(text.encode()).hexdigest()[:24], 16)}"
