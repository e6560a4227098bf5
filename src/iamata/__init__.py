"""A context engine for agents in healthcare: forms memory from records and talk, assembles context from it."""

from iamata.engine import Engine
from iamata.errors import (
    BadInput,
    Bug,
    Conflict,
    Gone,
    IamataError,
    InvalidValue,
    NotAllowed,
    NotFound,
    TooLarge,
    Unavailable,
    UnknownFormat,
)
from iamata.model.access import Access
from iamata.model.context import Context, ContextRequest
from iamata.model.document import Receipt
from iamata.model.reading import Format
from iamata.model.scope import Scope, Subject, patient
from iamata.model.session import Speaker, Turn

__all__ = [
    "Access",
    "BadInput",
    "Bug",
    "Conflict",
    "Context",
    "ContextRequest",
    "Engine",
    "Format",
    "Gone",
    "IamataError",
    "InvalidValue",
    "NotAllowed",
    "NotFound",
    "Receipt",
    "Scope",
    "Speaker",
    "Subject",
    "TooLarge",
    "Turn",
    "Unavailable",
    "UnknownFormat",
    "patient",
]
