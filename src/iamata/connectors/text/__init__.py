"""The text of a file that is no record: pages of characters, with what could not be read. Below every connector."""

from iamata.connectors.text import html
from iamata.connectors.text.attachments import Attached, attached, named, reads
from iamata.connectors.text.pages import Extract, Heading, Limits, Page, Unread

__all__ = ["Attached", "Extract", "Heading", "Limits", "Page", "Unread", "attached", "html", "named", "reads"]
