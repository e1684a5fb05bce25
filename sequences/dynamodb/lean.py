"""A lean client: requests without botocore's model, signer and session, where nobody needs them.

botocore turns a request into JSON, and an answer into Python, member by member along the model of the service, and
carries both through objects for each header, request and answer. That takes two thirds of the time of a small request.
Here a request is JSON already, and one text from its first line to its last byte.

Everything that an application can set up for boto3 remains: roles and their refresh, endpoints, TLS, time-outs.
Credentials, addresses and connections are botocore's, and so is the reading of errors. What is special goes through
boto3's own client: a proxy, an address with a path, another signature, and a client whose events somebody handles.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from .connections import exchange
from .errors import refuse_damaged, tables_in
from .http1 import Answer
from .signing import Template, host_of, is_plain
from .values import from_json, to_json

EVENTS = (
    "provide-client-params", "before-parameter-build", "before-call", "request-created", "choose-signer", "before-sign",
    "before-send", "response-received", "before-parse", "needs-retry", "after-call", "after-call-error",
)  # fmt: skip
"""What boto3's own client says while it sends a request."""
INERT = frozenset({
    "MaxAttemptsSeeder.seed_max_attempts", "RequestSigner.handler", "RetryHandler.needs_retry",
    "RetryQuotaChecker.release_retry_quota", "UserAgentString.rebuild_and_replace_user_agent_handler",
    "_handle_request_validation_mode_member", "_set_auth_scheme_preference_signer", "add_query_compatibility_header",
    "add_recursion_detection_header", "add_retry_headers", "block_endpoint_discovery_required_operations",
    "generate_idempotent_uuid", "inject_api_version_header_if_needed", "refuse_damaged",
    "set_operation_specific_signer",
})  # fmt: skip
"""The handlers of every client of botocore, and ours: they do nothing to our requests that is not done here, too."""


@dataclass(frozen=True, slots=True)
class _Route:
    """Where requests of an operation go, in whose name they are signed, and what they have in common."""

    url: str
    signing: Mapping[str, Any]
    template: Template


class LeanClient:
    """Sends requests of a botocore client in a lean way; the client itself still works.

    Only an answer with the right checksum is read as plain JSON. Every other answer and every error goes through
    botocore's parser. Bytes in an answer are base64 texts, which `values.unmarshal` decodes.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._session = client._endpoint.http_session
        self._emitter = client.meta.events._emitter
        self._model = cache(self._find_model)
        self._handlers: tuple[object, dict[str, list[Any]]] = (None, {})
        self._routes: dict[tuple[str, ...], _Route | None] = {}
        self._pools: dict[str, Any] = {}

    def _find_model(self, operation: str) -> Any:
        meta = self._client.meta
        return meta.service_model.operation_model(meta.method_to_api_mapping[operation])

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request, for example `call("put_item", {...})`, and return the answer.

        Raises what the client's method of that name raises, except for a request that the model would refuse.
        """
        if not self._is_heard(operation):
            body = to_json(request)
            route = self._route(operation, request, body)
            if route and (auth := self._auth(route)):
                answer = exchange(self._pool(route.url), route.template.request(auth, body), route.url)
                return self._read(operation, answer)
        own: dict[str, Any] = getattr(self._client, operation)(**request)
        return own

    def _is_heard(self, operation: str) -> bool:
        """Whether somebody handles events of this operation.

        botocore begins another `_lookup_cache` when a handler comes or goes. Where moto is imported, each client has a
        handler of its, which is `enabled` while moto stands in for AWS.
        """
        registered, handlers = self._handlers
        if registered is not self._emitter._lookup_cache:
            registered, handlers = self._handlers = self._emitter._lookup_cache, {}
        if operation not in handlers:
            handlers[operation] = self._find_handlers(self._model(operation).name)
        return bool([handler for handler in handlers[operation] if getattr(handler, "enabled", True)])

    def _find_handlers(self, name: str) -> list[Any]:
        found = [each for event in EVENTS for each in self._emitter._handlers.prefix_search(f"{event}.dynamodb.{name}")]
        return [handler for handler in found if not _is_inert(handler)]

    def _route(self, operation: str, request: Mapping[str, Any], body: bytes) -> _Route | None:
        """The lean way of a request; None if there is none.

        botocore's rules look at the operation, and of its parameters only at ARNs of tables. Asking them for each
        request takes longer than reading the answer for a whole group.
        """
        arns = sorted({name for name in tables_in(request) if name.startswith("arn:")}) if b'"arn:' in body else ()
        key = (operation, *arns)
        if key not in self._routes:
            self._routes[key] = self._find_route(self._model(operation), request)
        return self._routes[key]

    def _find_route(self, model: Any, request: Mapping[str, Any]) -> _Route | None:
        meta, of_service = self._client.meta, model.service_model.metadata
        context = {
            "client_region": meta.region_name,
            "client_config": meta.config,
            "auth_type": model.resolved_auth_type,
        }
        url, headers, _ = self._client._resolve_endpoint_ruleset(model, request, context)
        host, signing = host_of(url), self._signing(model.name, url, context)
        if headers or not host or not signing or self._session._proxy_config.proxy_url_for(url):
            return None
        template = Template(
            host=host,
            target=f"{of_service['targetPrefix']}.{model.name}",
            content_type=f"application/x-amz-json-{of_service['jsonVersion']}",
            user_agent=meta.config.user_agent,
        )
        return _Route(f"{url.rstrip('/')}/", signing, template)

    def _signing(self, operation: str, url: str, context: dict[str, Any]) -> dict[str, Any]:
        """What botocore's signer asks of who signs; empty if nobody does."""
        asked: dict[str, Any] = {}
        signer = copy.copy(self._client._request_signer)
        signer.get_auth_instance = lambda **given: asked.update(given) or SimpleNamespace(add_auth=lambda request: None)
        request = AWSRequest("POST", url)
        request.context = context
        signer.sign(operation, request)
        return asked

    def _auth(self, route: _Route) -> Any:
        """botocore's signature of now, with credentials that are valid; None for any but a plain Version 4."""
        auth = self._client._request_signer.get_auth_instance(**route.signing)
        keys = auth.credentials if type(auth) is SigV4Auth else None
        return auth if keys and is_plain(f"{keys.access_key}{keys.token or ''}{route.signing['region_name']}") else None

    def _pool(self, url: str) -> Any:
        pool = self._pools.get(url)
        if pool is None or pool.pool is None:  # somebody has closed it
            pool = self._session._get_connection_manager(url).connection_from_url(url)
            self._session._setup_ssl_cert(pool, url, self._session._verify)
            self._pools[url] = pool
        return pool

    def _read(self, operation: str, answer: Answer) -> dict[str, Any]:
        if answer.status == 200 and answer.headers.get("x-amz-crc32") == str(zlib.crc32(answer.body)):
            found: dict[str, Any] = from_json(answer.body)
            found["ResponseMetadata"] = {"HTTPStatusCode": 200, "HTTPHeaders": answer.headers}
            return found
        return self._judged(self._model(operation), answer)

    def _judged(self, model: Any, answer: Answer) -> dict[str, Any]:
        """What botocore reads in an answer. Raises its errors."""
        endpoint, exceptions = self._client._endpoint, self._client.exceptions
        context = {"operation_name": model.name}
        response = {"status_code": answer.status, "headers": answer.headers, "body": answer.body, "context": context}
        refuse_damaged(response)
        parser = endpoint._response_parser_factory.create_parser("json")
        parsed: dict[str, Any] = parser.parse(response, model.output_shape)
        if answer.status < 300:
            return parsed
        endpoint._add_modeled_error_fields(response, parsed, model, parser)
        raise exceptions.from_code(parsed.get("Error", {}).get("Code"))(parsed, model.name)


def _is_inert(handler: Any) -> bool:
    module, name = getattr(handler, "__module__", "") or "", getattr(handler, "__qualname__", "")
    return module.startswith(("botocore.", __package__)) and name in INERT
