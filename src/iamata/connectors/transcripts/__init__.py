"""Transcripts: JSON of the wire contract, text with labels, WebVTT, SubRip, CSV; bytes in, turns out."""

from iamata.connectors.transcripts.reader import FORMATS, Transcript, read

__all__ = ["FORMATS", "Transcript", "read"]
