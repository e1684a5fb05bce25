"""The REST API: it translates between HTTP with JSON, and services and selectors.

A request passes these modules:

    urls             the addresses
    authentication   who sends the request
    permissions      who may do what: the meaning of the `needs` of each view
    views            validate, call, serialize, respond
    shapes           what all shapes of JSON have in common
    serializers      the shapes; the limits of the fields are in `tickets.validators`
    requests         what views read from a request, and pages in addresses
    exceptions       errors as JSON; their meanings are in `tickets.problems`
    schema           what the document of the API says about errors
    bodies           how they are read and written
    reference        the page of the API
"""
