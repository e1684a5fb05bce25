"""A Django project of somebody else, in which the installed package is used."""
