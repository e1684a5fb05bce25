"""What templates can do beside what Django can."""
