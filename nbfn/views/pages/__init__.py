"""Outlines of results that do not change."""

from nbfn.views.pages.page import page_of as page_of
