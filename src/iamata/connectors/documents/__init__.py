"""Documents and images: bytes in, a document, its passages by section and an account of every page out."""

from iamata.connectors.documents.drafts import READER
from iamata.connectors.documents.formats import FORMATS, HTML, MEDIA_TYPES, by_signature, is_html, of_text
from iamata.connectors.documents.reader import at, read

__all__ = ["FORMATS", "HTML", "MEDIA_TYPES", "READER", "at", "by_signature", "is_html", "of_text", "read"]
