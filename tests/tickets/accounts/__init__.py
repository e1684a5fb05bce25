"""The tests of accounts, mirroring `tickets/accounts`."""
