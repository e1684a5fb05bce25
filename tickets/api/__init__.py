"""The REST API: it translates between HTTP with JSON, and services and selectors.

A request passes these modules:

    urls             the addresses
    authentication   who sends the request
    views            validate, call, serialize, respond
    serializers      the shapes of JSON; the limits of the fields are in `tickets.validators`
    pagination       cursors in addresses
    exceptions       errors as JSON; their meanings are in `tickets.problems`
    renderers        JSON as bytes
"""
