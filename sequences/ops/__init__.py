"""What an operator runs: checks, audits, the doctor, estimates, tables and deployment. Nothing below imports it."""
