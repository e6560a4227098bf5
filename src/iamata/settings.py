"""How is this installation set up? Read once, at the edge, from arguments or the environment; the core never looks."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zoneinfo import available_timezones

import msgspec

from iamata.errors import InvalidValue, NotAllowed

_PREFIX = "IAMATA_"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the data is and how the server listens. Each setting is read from `IAMATA_` and its name in capitals.

    - `db` (IAMATA_DB): a path (SQLite; the key store lies beside it) or a `postgresql://` URL.
    - `host` (IAMATA_HOST): the address to listen on. Without authentication (`auth_issuer`) only a loopback address is
      accepted.
    - `hosts` (IAMATA_HOSTS): the names, separated by commas, under which others reach this server (`host` or
      `host:port`); requests that name another host are refused, but for localhost. Needs tokens.
    - `port` (IAMATA_PORT): the TCP port, 0..65535; 0 lets the system choose.
    - `max_body_mb` (IAMATA_MAX_BODY_MB): the largest request body, in MiB (1,048,576 bytes); larger ones are refused
      while they arrive.
    - `max_wait_s` (IAMATA_MAX_WAIT_S): how long `?wait=` may hold an answer back, in seconds.
    - `idle_s` (IAMATA_IDLE_S): how long the forming worker rests when there is nothing to form, in seconds. It is woken
      by every submission; the rest only bounds how soon the work of a lost worker is taken over.
    - `log_level` (IAMATA_LOG_LEVEL): debug, info, warning or error. Logs hold route templates and ids at any level.
    - `terminology` (IAMATA_TERMINOLOGY): the folder of terminologies that `iamata terminology load` compiled. Default:
      beside an SQLite database, named like it with `.terminology`; for PostgreSQL none, until it is given.
    - `retention` (IAMATA_RETENTION): the file of the retention policy (TOML). Empty: nothing has a period.
    - `audit_checkpoint_s` (IAMATA_AUDIT_CHECKPOINT_S): how often the audit log signs a checkpoint of itself while
      records come, in seconds; so much of it could be cut off unseen. 0: never.
    - `policy` (IAMATA_POLICY): the file of this installation's access policy, in place of the packaged one.
    - `auth_issuer` (IAMATA_AUTH_ISSUER): who issues tokens, exactly as their `iss` says. With it every request needs a
      token, also from this machine; without it there are none. Needs `iamata[auth]`, and the next two.
    - `auth_audience` (IAMATA_AUTH_AUDIENCE): what this server is called in the `aud` of tokens, separated by commas.
    - `auth_jwks_url` (IAMATA_AUTH_JWKS_URL): where the issuer publishes its keys: https, or http to a host listed in
      `auth_private`. Nothing that a token names is ever fetched.
    - `auth_private` (IAMATA_AUTH_PRIVATE): host names or networks, separated by commas, that may be private.
    - `auth_algorithms` (IAMATA_AUTH_ALGORITHMS): the signatures that are taken, separated by commas; asymmetric only.
    - `auth_skew_s` (IAMATA_AUTH_SKEW_S): by how much the issuer's clock may differ, in seconds, at most 300.
    - `auth_once` (IAMATA_AUTH_ONCE): `true`: a token is good for one request (by its `jti`), within one process.
    - `auth_roles_claim` (IAMATA_AUTH_ROLES_CLAIM): the claim that names roles. Default: `roles`.
    - `auth_purpose_claim` (IAMATA_AUTH_PURPOSE_CLAIM): the claim that names the purpose of use. Default:
      `purpose_of_use`.
    - `model_name` (IAMATA_MODEL_NAME): the language model to ask, as its server calls it. Empty: none is asked, nothing
      leaves. Needs `iamata[model]`.
    - `model_wire` (IAMATA_MODEL_WIRE): the format its server speaks: `openai` (and servers compatible with it) or
      `anthropic`.
    - `model_shape` (IAMATA_MODEL_SHAPE): how an OpenAI-compatible server is told the shape of an answer: `json_schema`,
      or `json_object` for servers that know no schemas.
    - `model_base_url` (IAMATA_MODEL_BASE_URL): where it is: https, or http to this machine or a host listed in
      `model_private`. Default: where the format is at home.
    - `model_key` (IAMATA_MODEL_KEY): its key, if it wants one. Never shown or logged.
    - `model_for` (IAMATA_MODEL_FOR): what it is asked for, separated by commas: `learning` (from talk, after the
      offline extractor) and `adjudication` (of uncertain pairs, on `iamata adjudicate` only).
    - `model_private` (IAMATA_MODEL_PRIVATE): host names or networks, separated by commas, that may be private.
    - `model_timeout_s` (IAMATA_MODEL_TIMEOUT_S): how long one request may take, in seconds.
    - `model_attempts` (IAMATA_MODEL_ATTEMPTS): how often a request is tried that another attempt may mend.
    - `consent_sources` (IAMATA_CONSENT_SOURCES): the sources, separated by commas, that are trusted for consents: what
      theirs permit counts. A consent of any other source can only narrow, until an operator verifies it.
    - `part2_sources` (IAMATA_PART2_SOURCES): the sources that are programs of 42 CFR Part 2: all that they send is
      labelled so.
    - `jurisdiction` (IAMATA_JURISDICTION): where this is (`US-CA`), for the rules on proxies of the young.
    - `time_zone` (IAMATA_TIME_ZONE): the local time (`Europe/Zurich`) in which the dates of a consent begin and end.
    - `build_sha`, `build_date` (IAMATA_BUILD_SHA, IAMATA_BUILD_DATE): what `GET /` says of the running build.

    Not a field here, because it names no behaviour of the server: the command line reads IAMATA_KEYS, the folder of the
    key store. PostgreSQL needs it; SQLite's lies beside the database file unless it is given. And IAMATA_ERASURES, the
    file of the ledger of erasures, which no backup may bring back to an older state: beside the database or the keys.
    Not fields here, because they name no behaviour of the server: the command line reads IAMATA_KEYS, the folder of the
    key store (PostgreSQL needs it; SQLite's lies beside the database file unless it is given), and IAMATA_AS, as whom
    it acts (`--as`).
    """

    db: str = "iamata.db"
    host: str = "127.0.0.1"
    hosts: str = ""
    port: int = 8321
    max_body_mb: int = 64
    max_wait_s: float = 60.0
    idle_s: float = 2.0
    log_level: str = "info"
    terminology: str = ""
    retention: str = ""
    audit_checkpoint_s: float = 60.0
    policy: str = ""
    auth_issuer: str = ""
    auth_audience: str = ""
    auth_jwks_url: str = ""
    auth_private: str = ""
    auth_algorithms: str = "RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA"
    auth_skew_s: float = 60.0
    auth_once: bool = False
    auth_roles_claim: str = ""
    auth_purpose_claim: str = ""
    model_name: str = ""
    model_wire: Literal["openai", "anthropic"] = "openai"
    model_shape: Literal["json_schema", "json_object"] = "json_schema"
    model_base_url: str = ""
    model_key: str = ""
    model_for: str = "learning,adjudication"
    model_private: str = ""
    model_timeout_s: float = 30.0
    model_attempts: int = 3
    consent_sources: str = ""
    part2_sources: str = ""
    jurisdiction: str = ""
    time_zone: str = ""
    build_sha: str = "unknown"
    build_date: str = "unknown"

    def __post_init__(self) -> None:
        if not self.db:
            raise InvalidValue("db (IAMATA_DB) is empty")
        if not 0 <= self.port <= 65_535:
            raise InvalidValue("port (IAMATA_PORT) is 0 to 65535")
        if self.max_body_mb < 1:
            raise InvalidValue("max_body_mb (IAMATA_MAX_BODY_MB) is 1 or more")
        if self.max_wait_s < 0 or self.idle_s <= 0:
            raise InvalidValue("max_wait_s (IAMATA_MAX_WAIT_S) is 0 or more, idle_s (IAMATA_IDLE_S) more than 0")
        if self.audit_checkpoint_s < 0:
            raise InvalidValue("audit_checkpoint_s (IAMATA_AUDIT_CHECKPOINT_S) is 0 or more")
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise InvalidValue("log_level (IAMATA_LOG_LEVEL) is debug, info, warning or error")
        named = [bool(each) for each in (self.auth_issuer, self.listed("auth_audience"), self.auth_jwks_url)]
        if any(named) and not all(named):
            raise InvalidValue(
                "auth_issuer (IAMATA_AUTH_ISSUER), auth_audience (IAMATA_AUTH_AUDIENCE) and auth_jwks_url "
                "(IAMATA_AUTH_JWKS_URL) go together: all of them or none"
            )
        if not 0 <= self.auth_skew_s <= 300:
            raise InvalidValue("auth_skew_s (IAMATA_AUTH_SKEW_S) is 0 to 300")
        if self.hosts and not self.tokens:
            raise InvalidValue("hosts (IAMATA_HOSTS) needs tokens: set auth_issuer (IAMATA_AUTH_ISSUER)")

        if self.time_zone and self.time_zone not in available_timezones():
            raise InvalidValue("time_zone (IAMATA_TIME_ZONE) is no time zone of the IANA database")
        if self.model_timeout_s <= 0 or self.model_attempts < 1:
            raise InvalidValue(
                "model_timeout_s (IAMATA_MODEL_TIMEOUT_S) is more than 0, "
                "model_attempts (IAMATA_MODEL_ATTEMPTS) 1 or more"
            )

    def __repr__(self) -> str:
        """Without what may hold a secret: the address of the database and the key of the language model."""
        shown = ", ".join(
            f"{field}={getattr(self, field)!r}" for field in self.__struct_fields__ if field not in ("db", "model_key")
        )
        return f"Settings({shown})"

    def listed(self, name: str) -> tuple[str, ...]:
        """A setting that is several, separated by commas."""
        return tuple(filter(None, (each.strip() for each in getattr(self, name).split(","))))

    @property
    def tokens(self) -> bool:
        """Does every request need a token?"""
        return bool(self.auth_issuer)

    @property
    def max_body_bytes(self) -> int:
        return self.max_body_mb * 1024 * 1024

    @classmethod
    def read(cls, environ: Mapping[str, str], **given: object) -> Settings:
        """Arguments that are not None, else the environment, else the defaults.

        Raises InvalidValue naming the setting (never its value, which may hold a password). Unknown IAMATA_ variables
        are ignored, because other tools share the prefix.
        """
        values: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            argument = given.get(field.name)
            if argument is not None:
                values[field.name] = argument
            elif (text := environ.get(_PREFIX + field.name.upper())) is not None:
                values[field.name] = text
        try:
            return msgspec.convert(values, cls, strict=False)
        except msgspec.ValidationError as error:
            name = str(error).rpartition("$.")[2].rstrip("`") or "a setting"
            cause = error.__cause__
            raise InvalidValue(
                str(cause) if isinstance(cause, InvalidValue) else f"{name} ({_PREFIX}{name.upper()}) has a wrong form"
            ) from None


def terminology_folder(settings: Settings) -> Path | None:
    """Where compiled terminologies lie for this database; None if nothing says where (PostgreSQL, `:memory:`)."""
    if settings.terminology:
        return Path(settings.terminology)
    if settings.db == ":memory:" or settings.db.startswith(("postgresql://", "postgres://")):
        return None
    return Path(f"{settings.db}.terminology")


def is_loopback(host: str) -> bool:
    """Does this address reach only programs on this machine? `localhost` counts; any other name does not, because a
    name may resolve to anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_listening(settings: Settings) -> None:
    """Raise NotAllowed unless the server may listen there (design 08: never beyond loopback unauthenticated)."""
    if not is_loopback(settings.host) and not settings.tokens:
        raise NotAllowed(
            "will not listen beyond this machine without authentication, and none is configured: "
            "set the host (IAMATA_HOST) to 127.0.0.1, ::1 or localhost, or an issuer of tokens (IAMATA_AUTH_ISSUER)",
            reasons=("no authentication is configured",),
        )
