"""`make bench-peers`: how fast we are beside other libraries, and beside a site on PostgreSQL.

    bench              the command: its options, and its result as Markdown or JSON
    libraries          numbers in process, by other libraries and by ours in turns
    library_process    the process of another library
    web                tickets over HTTP, on our site and on the peer's in turns
    site/              the peer's site: Django, Django REST framework, PostgreSQL, django-sequences
    load               the process of the clients, the same for both sites
    figures            what is made of the measurements: medians, ratios, faults
    environment        the peers' Python and its packages
    postgresql         a PostgreSQL for one comparison

The peers, as the others are called here, have a Python of their own under `.local/peers`: django-sequences has the same
package name as ours. `library_process` and the site run there, and must not find our packages.
"""
