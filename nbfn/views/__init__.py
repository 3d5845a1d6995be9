"""Views: live widgets, with HTML and text that say the same."""

from nbfn.views.bundle import cell_bundle as cell_bundle
from nbfn.views.bundle import export_bundle as export_bundle
from nbfn.views.bundle import function_bundle as function_bundle
from nbfn.views.bundle import graph_bundle as graph_bundle
from nbfn.views.bundle import loaded_bundle as loaded_bundle
from nbfn.views.bundle import metadata_of as metadata_of
from nbfn.views.bundle import model_bundle as model_bundle
from nbfn.views.bundle import module_bundle as module_bundle
from nbfn.views.bundle import outline_bundle as outline_bundle
from nbfn.views.bundle import result_bundle as result_bundle
from nbfn.views.bundle import session_bundle as session_bundle
from nbfn.views.bundle import times_bundle as times_bundle
from nbfn.views.bundle import trace_bundle as trace_bundle
