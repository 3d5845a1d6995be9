"""Finds a browser for the browser tests, and installs one where none is found."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of a browser; None if there is none."""
    chosen = os.environ.get("NBFN_CHROMIUM")
    if chosen:
        return chosen
    return next((path for name in _NAMES if (path := shutil.which(name))), None) or _playwrights()


def _playwrights() -> str | None:
    """Playwright's own chromium, if it has been downloaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if os.path.exists(path) else None


def install() -> None:
    """Installs Playwright's chromium, or else Debian's, which needs to be root."""
    if find() is not None:
        return
    commands = [
        [sys.executable, "-m", "playwright", "install", "chromium"],
        ["apt-get", "update", "--quiet"],
        ["apt-get", "install", "--yes", "--quiet", "chromium"],
    ]
    for command in commands:
        if shutil.which(command[0]) is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(command, check=False, timeout=300)
        if find() is not None:
            return
    sys.exit(
        "no browser for the browser tests: install chromium, or set NBFN_CHROMIUM to a "
        "Chromium-based browser"
    )


if __name__ == "__main__":
    if "--install" in sys.argv:
        install()
    print(find())
