"""FHIR R4 (4.0.1) as JSON: bundles, single resources and NDJSON of one patient."""

from iamata.connectors.fhir.decoding import LIMIT_BYTES, LIMIT_DEPTH
from iamata.connectors.fhir.excerpts import at
from iamata.connectors.fhir.reader import FORMAT, read
from iamata.connectors.fhir.statements import READER

__all__ = ["FORMAT", "LIMIT_BYTES", "LIMIT_DEPTH", "READER", "at", "read"]
