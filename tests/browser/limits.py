"""Things whose every field is as long as it may be: names, numbers, texts and amounts."""

from typing import Any

from tests.project.site import Program, Site

PROJECT, PERSON, FAR = "LIMITLIMIT", "W" * 150, 10**15 - 100
# An account with the longest name, and sequences whose numbers are as long as they become.
LONGEST = f"""
from django.contrib.auth.models import User
from sequences import changes
User.objects.create_superuser({PERSON!r}, password={{password!r}})
for sequence, scope, to in (("tickets", {PROJECT!r}, {FAR}), ("orders", None, {FAR}), ("invoices", None, 10**6)):
    changes.advance(sequence, scope=scope, to=to, by={PERSON!r}, reason="W" * 500)
"""


def fill(site: Site, program: Program) -> str:
    """Store a project with a ticket, an order with invoices, and a token of PERSON. Returns the key of the ticket."""
    wide = "W" * 200
    about = {"name": wide[:100], "description": f"{'W' * 1_000}\n{'W ' * 400}"}
    assert program.post("/api/projects/", key=PROJECT, **about).status == 201
    site.manage("shell", "-c", LONGEST.format(password=site.password))
    person = Program(site, PERSON)
    markdown = (
        f"# {wide}\n\n|{'a|' * 30}\n|{'-|' * 30}\n|{wide}|\n\n```\n{wide * 3}\n```\n\n- {wide}\n\n> SHOP-2 {wide}"
    )

    def put(path: str, **content: Any) -> Any:
        answer = person.post(path, **content)
        assert answer.status in {200, 201}, answer.text[:300]
        return answer.content

    labels, tickets = [f"{n:02}{'L' * 38}" for n in range(20)], f"/api/projects/{PROJECT}/tickets/"
    key = str(put(tickets, title=wide, description=markdown, assignee="a" * 150, labels=labels)["key"])
    put(tickets, title="Void")
    moved = put(tickets, title="Moved")["key"]
    put(f"/api/tickets/{moved}/move/", project="SHOP")
    put(f"/api/tickets/{key}/comments/", text=markdown)
    put("/api/auth/tokens/", name=wide[:100], password=site.password)
    order = put("/api/orders/", customer=wide, lines=[{"text": wide, "quantity": 10_000, "price": "1000000.00"}] * 50)
    for is_first in (True, False):
        drafted = put(f"/api/orders/{order['number']}/invoice/")
        issued = put(f"/api/orders/{order['number']}/invoice/issue/", version=drafted["version"])
        if is_first:
            put(f"/api/invoices/{issued['text']}/void/", reason=wide)
    return key
