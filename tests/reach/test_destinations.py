"""Where a call may go: one rule for FHIR servers, token servers and language models."""

from __future__ import annotations

import pytest

from iamata.destinations import check_base_url, may_be_private, may_connect
from iamata.errors import InvalidValue
from iamata.language.servers import ModelServer
from iamata.reach.servers import FhirServer


@pytest.mark.parametrize(
    ("host", "address", "private", "allowed"),
    [
        ("a.example", "93.184.216.34", (), True),
        ("a.example", "2606:4700::1111", (), True),
        ("a.example", "10.0.0.7", (), False),
        ("a.example", "127.0.0.1", (), False),
        ("a.example", "169.254.169.254", (), False),
        ("a.example", "::1", (), False),
        ("a.example", "::ffff:10.0.0.7", (), False),
        ("a.example", "fe80::1%eth0", (), False),
        ("a.example", "10.0.0.7", ("a.example",), True),
        ("A.Example", "10.0.0.7", ("a.exAMPLE",), True),
        ("a.example", "10.0.0.7", ("10.0.0.0/24",), True),
        ("a.example", "::ffff:10.0.0.7", ("10.0.0.0/24",), True),
        ("a.example", "10.0.1.7", ("10.0.0.0/24", "no network"), False),
        ("localhost", "127.0.0.1", (), False),
        ("127.0.0.1", "127.0.0.1", (), False),
    ],
)
def test_a_connection_goes_to_public_addresses_and_to_listed_ones(
    host: str, address: str, private: tuple[str, ...], allowed: bool
) -> None:
    assert may_connect(host, private, address) is allowed


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("localhost", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("localhost", "10.0.0.7", False),
        ("a.example", "127.0.0.1", False),
        ("10.0.0.7", "127.0.0.1", False),
        ("10.0.0.7", "10.0.0.7", False),
    ],
)
def test_this_machine_is_allowed_only_by_its_own_name_or_address(host: str, address: str, allowed: bool) -> None:
    assert may_connect(host, (), address, this_machine=True) is allowed


def test_a_network_that_is_listed_counts_for_the_address_a_name_leads_to() -> None:
    networks = ("10.1.0.0/16",)
    assert may_be_private("gpu.hospital", networks, "10.1.9.9")
    assert not may_be_private("gpu.hospital", networks, "10.2.9.9")
    assert not may_be_private("gpu.hospital", networks, "127.0.0.1", this_machine=True)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://a.example/x", "here is https"),
        ("ftp://listed.example/x", "here is https"),
        ("https://a.example:x/", "here is no URL"),
        ("https:///x", "here is scheme, host and path"),
        ("https://me@a.example/", "without credentials"),
        ("https://a.example/?a=1", "without credentials and query"),
        ("http://localhost/", "http only to a host listed"),
    ],
)
def test_a_base_url_is_https_with_host_and_path_alone(url: str, complaint: str) -> None:
    with pytest.raises(InvalidValue, match=complaint):
        check_base_url(url, "here", ("listed.example",))


def test_http_is_for_listed_hosts_and_a_model_on_this_machine() -> None:
    check_base_url("http://listed.example/x", "here", ("listed.example",))
    assert ModelServer(name="m", base_url="http://127.0.0.1:8000/v1").url == "http://127.0.0.1:8000/v1"
    assert ModelServer(name="m", base_url="http://localhost:8000/v1").url == "http://localhost:8000/v1"
    with pytest.raises(InvalidValue, match="base_url is https"):
        FhirServer(name="f", base_url="http://127.0.0.1:8000/fhir")
