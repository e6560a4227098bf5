"""CDA R2 and C-CDA: bytes in, statements, passages and an intake of every item out."""

from iamata.connectors.ccda.hints import patients_named
from iamata.connectors.ccda.naming import READER
from iamata.connectors.ccda.reader import FORMAT, at, custodian, is_cda, read

__all__ = ["FORMAT", "READER", "at", "custodian", "is_cda", "patients_named", "read"]
