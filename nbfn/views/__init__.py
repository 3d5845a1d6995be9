"""Views: live widgets, with HTML and text that say the same."""

from nbfn.views.bundle import bundle_of as bundle_of
from nbfn.views.bundle import graph_bundle as graph_bundle
from nbfn.views.bundle import metadata_of as metadata_of
from nbfn.views.bundle import outline_bundle as outline_bundle
from nbfn.views.bundle import times_bundle as times_bundle
