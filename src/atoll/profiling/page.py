"""A profile as a page."""


def page(profile):
    return ""
