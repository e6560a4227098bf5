"""HL7 v2 (2.1 to 2.9) in its delimited form: messages, batches and MLLP frames of one patient."""

from iamata.connectors.hl7v2.decoding import LIMIT_BYTES, LIMIT_SEGMENTS
from iamata.connectors.hl7v2.excerpts import at
from iamata.connectors.hl7v2.hints import patients_named
from iamata.connectors.hl7v2.reader import FORMAT, READER, read
from iamata.connectors.hl7v2.sending import source_of

__all__ = ["FORMAT", "LIMIT_BYTES", "LIMIT_SEGMENTS", "READER", "at", "patients_named", "read", "source_of"]
