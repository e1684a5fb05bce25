"""The app's commands for `manage.py`."""
