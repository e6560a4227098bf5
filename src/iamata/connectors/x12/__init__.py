"""X12: claims (837), payments (835), enrollment (834), eligibility (270, 271), status (276, 277), review (278)."""

from iamata.connectors.x12.decoding import LIMIT_BYTES, LIMIT_SEGMENTS
from iamata.connectors.x12.excerpts import at, sender
from iamata.connectors.x12.hints import patients_named
from iamata.connectors.x12.reader import FORMAT, read
from iamata.connectors.x12.statements import READER

__all__ = ["FORMAT", "LIMIT_BYTES", "LIMIT_SEGMENTS", "READER", "at", "patients_named", "read", "sender"]
