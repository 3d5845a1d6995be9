"""The tests mirror the package; `kernel` and `chromium` are shared by several of them."""
