"""The programs that prove what the README says; production runs none of them."""
