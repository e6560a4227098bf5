"""A server of iamata, used from another program as the embedded engine is: sync and async."""

from iamata.client.clients import AsyncClient, Client
from iamata.client.steps import Retries

__all__ = ["AsyncClient", "Client", "Retries"]
