"""FHIR R4 (4.0.1) and R5 (5.0.0) as JSON: bundles, single resources and NDJSON of one patient."""

from iamata.connectors.fhir.decoding import LIMIT_BYTES, LIMIT_DEPTH
from iamata.connectors.fhir.excerpts import at
from iamata.connectors.fhir.hints import is_lines, patients_named
from iamata.connectors.fhir.reader import FORMAT, R5_FORMAT, is_r5, read, read_r5
from iamata.connectors.fhir.statements import R5_READER, READER

__all__ = [
    "FORMAT",
    "LIMIT_BYTES",
    "LIMIT_DEPTH",
    "R5_FORMAT",
    "R5_READER",
    "READER",
    "at",
    "is_lines",
    "is_r5",
    "patients_named",
    "read",
    "read_r5",
]
