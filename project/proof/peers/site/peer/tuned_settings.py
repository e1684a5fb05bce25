"""The settings of the tuned peer, where they differ from the peer's."""

from .settings import *  # noqa: F403
from .settings import REST_FRAMEWORK

MIDDLEWARE = list[str]()
ROOT_URLCONF = "peer.tuned_urls"
REST_FRAMEWORK = {
    **REST_FRAMEWORK,
    "DEFAULT_AUTHENTICATION_CLASSES": ["peer.tuned_rest.KnownTokens"],
    "DEFAULT_RENDERER_CLASSES": ["peer.tuned_rest.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["peer.tuned_rest.OrjsonParser"],
}
