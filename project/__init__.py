"""The site: its settings, its addresses, the programs that set it up and run it, and the proofs of its promises.

Everything about numbers and tickets is in the two apps, `sequences` and `tickets`.
"""
