"""A lean client: botocore's credentials, endpoints, HTTP session and events, without its model and its slow signer.

botocore turns a request into JSON, and an answer into Python, member by member along the model of the service. That
takes a third of the time of a small request. Here a request is JSON already.

Everything that an application can set up for boto3 remains, but `request-created` and `needs-retry` are not emitted.
"""

import copy
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSRequest

from .signing import with_day_key

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
        """Where an operation goes, kept: botocore's rules look at the operation, and of its parameters only at ARNs."""
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
