"""A graph as FHIR R4: every fact a resource with its Provenance and labels, conflicts with both sides, a summary.

Pure: a graph in, JSON values out. What a reader may not see is not in the graph and so in no resource.
"""

from iamata.assembly.fhir.bundle import collection, encode
from iamata.assembly.fhir.summary import summary

__all__ = ["collection", "encode", "summary"]
