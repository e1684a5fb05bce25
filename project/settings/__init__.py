"""The settings: `development` and `production` each take over what is in `base`. Nothing is read here."""
