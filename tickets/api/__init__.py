"""The REST API: HTTP and JSON on one side, services and selectors on the other.

The way of a request:

    urls          the addresses
    views         validate, call, serialize, respond
    serializers   the shapes of JSON; what may stand in it is said in `tickets.validators`
    pagination    cursors in addresses
    exceptions    errors as JSON; what they mean is in `tickets.problems`
"""
