"""Outgoing connections: pull from a FHIR server. To configured hosts only; nothing named in data is ever fetched."""

from iamata.reach.exporting import export
from iamata.reach.fetching import Fetcher
from iamata.reach.searching import everything, search
from iamata.reach.servers import BackendService, Bearer, FhirServer, Limits

__all__ = ["BackendService", "Bearer", "Fetcher", "FhirServer", "Limits", "everything", "export", "search"]
