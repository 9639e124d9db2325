"""A profile as a page with pictures, in one file without any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .profiles import Profile


def page(profile: Profile) -> str:
    """The text of the page."""
    return ""
