"""What lists of tickets have beside their pages: filters, and the export as CSV."""
