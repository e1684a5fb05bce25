"""A lean client: botocore's credentials, endpoints, HTTP session and events, without its model and its slow signer.

botocore turns a request into JSON, and an answer into Python, member by member along the model of the service. That
takes a third of the time of a small request. Here a request is JSON already.

Everything that an application can set up for boto3 remains: roles and their refresh, endpoints, proxies, TLS,
time-outs, and handlers of the events from `provide-client-params` to `after-call`. `request-created` and `needs-retry`
are not emitted.
"""

import copy
import hmac
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SIGNED_HEADERS_BLACKLIST, SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest

from .connections import host_header

try:
    import orjson
except ImportError:
    import json

    def to_json(value: Any) -> bytes:
        """The JSON of a request."""
        return json.dumps(value, default=_base64, separators=(",", ":")).encode()

    from_json: Callable[[bytes], Any] = json.loads
else:

    def to_json(value: Any) -> bytes:
        """The JSON of a request."""
        return orjson.dumps(value, default=_base64)

    from_json = orjson.loads

_UNSIGNED = frozenset(SIGNED_HEADERS_BLACKLIST)
_SPECIAL = frozenset({"authorization", "date", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"})
_ALGORITHM, _END = "AWS4-HMAC-SHA256", "aws4_request"


def _base64(value: Any) -> str:
    """The JSON of bytes, which an attribute value of type B has."""
    return b64encode(value).decode()


@dataclass(frozen=True, slots=True)
class _Destination:
    """Where requests of an operation go: the address, headers, and what signing must know."""

    url: str
    headers: Mapping[str, str]
    context: Mapping[str, Any]


class LeanClient:
    """Sends requests of a botocore client in a lean way; the client itself still works.

    Only an answer with the right checksum is read as plain JSON. Every other answer and every error goes through
    botocore's parser. Bytes in an answer are base64 texts, which `values.unmarshal` decodes.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._events = client.meta.events
        self._signer = copy.copy(client._request_signer)  # so does its signer
        self._signer.get_auth_instance = with_day_key(client._request_signer.get_auth_instance)
        self._endpoint = copy.copy(client._endpoint)  # the client keeps its own, with its own parser
        self._endpoint._response_parser_factory = _parsers(client._endpoint._response_parser_factory)
        self._model = cache(self._find_model)
        self._destinations: dict[str, _Destination] = {}

    def _find_model(self, operation: str) -> Any:
        meta = self._client.meta
        return meta.service_model.operation_model(meta.method_to_api_mapping[operation])

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request, for example `call("put_item", {...})`, and return the answer.

        Raises what the client's method of that name raises, except for a request that the model would refuse.
        """
        model, client = self._model(operation), self._client
        context = {
            "client_region": client.meta.region_name,
            "client_config": client.meta.config,
            "auth_type": model.resolved_auth_type,
        }
        params = client._emit_api_params(api_params=request, operation_model=model, context=context)
        http, answer = self._exchange(model, params, context)
        self._events.emit(
            f"after-call.dynamodb.{model.name}", http_response=http, parsed=answer, model=model, context=context
        )
        if http.status_code >= 300:
            raise client.exceptions.from_code(answer.get("Error", {}).get("Code"))(answer, model.name)
        return answer

    def _exchange(self, model: Any, params: Mapping[str, Any], context: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The response, and what it says."""
        body = to_json(params)
        destination = self._destination(model, params, context, body)
        context.update((name, copy.copy(value)) for name, value in destination.context.items())
        call = {
            "method": "POST",
            "url": f"{destination.url.rstrip('/')}/",
            "headers": {
                "X-Amz-Target": f"{model.service_model.metadata['targetPrefix']}.{model.name}",
                "Content-Type": f"application/x-amz-json-{model.service_model.metadata['jsonVersion']}",
                "User-Agent": self._client.meta.config.user_agent,
                **destination.headers,
            },
            "body": body,
        }
        _, answered = self._events.emit_until_response(
            f"before-call.dynamodb.{model.name}", model=model, params=call, request_signer=self._signer, context=context
        )
        return answered or self._send(model, call, context)

    def _destination(self, model: Any, params: Any, context: dict[str, Any], body: bytes) -> _Destination:
        """Where an operation goes, and what botocore's rules add to the context for it.

        The rules look at the operation, and of its parameters only at ARNs. Asking them for each request takes longer
        than reading the answer for a whole group.
        """
        if "signing" in context or b'"arn:' in body:
            return self._find_destination(model, params, context)
        if model.name not in self._destinations:
            self._destinations[model.name] = self._find_destination(model, params, context)
        return self._destinations[model.name]

    def _find_destination(self, model: Any, params: Any, context: dict[str, Any]) -> _Destination:
        learned = dict(context)
        url, headers, properties = self._client._resolve_endpoint_ruleset(model, params, learned)
        learned["endpoint_properties"] = properties
        added = {name: value for name, value in learned.items() if context.get(name) is not value}
        return _Destination(url, headers, added)

    def _send(self, model: Any, call: Mapping[str, Any], context: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        request = AWSRequest(call["method"], call["url"], call["headers"], call["body"])
        request.context = context
        self._signer.sign(model.name, request)
        answered: tuple[Any, dict[str, Any]]
        answered, failure = self._endpoint._get_response(self._endpoint.prepare_request(request), model, context)
        if failure:
            raise failure
        return answered


def _parsers(factory: Any) -> Any:
    """In the place of botocore's factory of parsers."""

    @cache
    def create_parser(protocol: str) -> Any:
        return SimpleNamespace(parse=partial(_parse, factory.create_parser(protocol)))

    return SimpleNamespace(create_parser=create_parser)


def _parse(parser: Any, response: Mapping[str, Any], shape: Any) -> dict[str, Any]:
    """Read an answer with the right checksum as JSON, and leave all others to botocore's parser."""
    body, checksum = response["body"], response["headers"].get("x-amz-crc32")
    if response["status_code"] != 200 or checksum != str(zlib.crc32(body)):
        parsed: dict[str, Any] = parser.parse(response, shape)
        return parsed
    answer: dict[str, Any] = from_json(body)
    answer["ResponseMetadata"] = {"HTTPStatusCode": 200, "HTTPHeaders": response["headers"]}
    return answer


class DayKeyAuth:
    """Signs as botocore's `auth` does, by AWS Signature Version 4, with the key of a day kept.

    Four of the five keyed hashes of a signature make the same key all day; botocore makes them for each request, and
    reads each header by the parser for e-mails several times. That takes a fifth of the time of a small request.
    The algorithm: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """

    def __init__(self, auth: Any) -> None:
        self._auth = auth

    def add_auth(self, request: Any) -> None:
        """Sign a request of botocore's. Raises NoCredentialsError."""
        headers = _plain_headers(request) if self._auth.credentials else None
        if headers is None:
            self._auth.add_auth(request)
            return
        stamp = request.context["timestamp"] = time.strftime(SIGV4_TIMESTAMP, time.gmtime())
        added = {"X-Amz-Date": stamp}
        if token := self._auth.credentials.token:
            added["X-Amz-Security-Token"] = token
        signed = headers | {name.lower(): value for name, value in added.items()}
        added["Authorization"] = self._authorization(stamp, signed, request.data)
        for name, value in added.items():
            request.headers[name] = value

    def _authorization(self, stamp: str, headers: Mapping[str, str], body: bytes) -> str:
        auth, names = self._auth, sorted(headers)
        lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
        canonical = f"POST\n/\n\n{lines}\n{';'.join(names)}\n{sha256(body).hexdigest()}"
        scope = (stamp[:8], auth._region_name, auth._service_name, _END)
        signed = "\n".join((_ALGORITHM, stamp, "/".join(scope), sha256(canonical.encode()).hexdigest()))
        signature = hmac.digest(_key(auth.credentials.secret_key, scope), signed.encode(), "sha256").hex()
        credential = "/".join((auth.credentials.access_key, *scope))
        return f"{_ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"


def with_day_key(get_auth: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of a signer's `get_auth_instance`: the same, but for botocore's own Signature Version 4."""

    def get(**given: Any) -> Any:
        auth = get_auth(**given)
        return DayKeyAuth(auth) if type(auth) is SigV4Auth else auth

    return get


def _plain_headers(request: Any) -> dict[str, str] | None:
    """The headers to sign, in lower case; None if an event's handler made the request a special one."""
    pairs = [(name.lower(), value) for name, value in request.headers.items()]
    headers, context, host = dict(pairs), request.context, _host(request.url)
    plain = (
        len(headers) == len(pairs)
        and _SPECIAL.isdisjoint(headers)
        and all(isinstance(value, str) for value in headers.values())
        and (request.method, request.params, type(request.data)) == ("POST", {}, bytes)
        and context.get("payload_signing_enabled", True)
        and "checksum" not in context
        and host
    )
    return {"host": host} | {name: value for name, value in pairs if name not in _UNSIGNED} if plain else None


@lru_cache(64)
def _host(url: str) -> str:
    """The Host of a request to this address; empty if it has another path than "/", or a query."""
    parts = urlsplit(url)
    return host_header(parts.scheme, parts.hostname or "", parts.port) if (parts.path, parts.query) == ("/", "") else ""


@lru_cache(16)
def _key(secret: str, scope: tuple[str, ...]) -> bytes:
    """The key of a day, a Region and a service."""
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return key
