"""The settings: `development` and `production` both extend `base`. This file has no settings itself."""
