"""The site: its settings, its addresses, and the programs that set it up, run it and keep it running.

What it is about lives in the two apps, ``sequences`` and ``tickets``.
"""
