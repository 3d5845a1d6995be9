"""The version, from the installed package, whose single source is ``labextension/package.json``."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("nbfn")
except PackageNotFoundError:
    __version__ = "0.0.0"
