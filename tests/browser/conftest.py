"""A real JupyterLab with this checkout's front end, and a real browser that looks at it."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from tests.harness import forked_kernels, notebooks
from tests.programs.wheel import without_node

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "nbfn" / "labextension"
TIMEOUT = 45_000
"""Milliseconds after which something hangs, whatever else the machine does meanwhile."""


_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not (EXTENSION / "package.json").exists():
        pytest.fail("the front end is not built: npm --prefix labextension run build:prod")
    home = tmp_path_factory.mktemp("jupyter")
    server = Server(home)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """What all pages share; its profile keeps JupyterLab's scripts, compiled."""
    find = [sys.executable, str(ROOT / "tests" / "harness" / "chromium.py")]
    path = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
    if path == "None":
        pytest.fail("no chromium: python tests/harness/chromium.py --install")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=path,
            args=[*arguments, "--disable-background-networking"],
            viewport={"width": 1400, "height": 1000},
        )
        context.set_default_timeout(TIMEOUT)
        yield context
        context.close()


@pytest.fixture(scope="session")
def browser(context: BrowserContext) -> Browser:
    assert context.browser is not None
    return context.browser


@pytest.fixture
def lab(server: Server, context: BrowserContext) -> Iterator[Lab]:
    with _lab(server, context) as made:
        yield made


@pytest.fixture(scope="module")
def shared_lab(server: Server, context: BrowserContext) -> Iterator[Lab]:
    """One for tests that leave to the others what they look at."""
    with _lab(server, context) as made:
        yield made


@contextmanager
def _lab(server: Server, context: BrowserContext) -> Iterator[Lab]:
    kernels, pages = server.kernels(), list(context.pages)
    lab = Lab(context.new_page(), server)
    yield lab
    for page in context.pages:
        if page not in pages:
            page.close()
    server.stop_kernels(but=kernels)
    assert lab.failures == []


def _specify(name: str, command: list[str], folder: Path) -> None:
    """Writes the specification of a kernel to a folder of ``JUPYTER_PATH``."""
    file = folder / "kernels" / name / "kernel.json"
    file.parent.mkdir(parents=True)
    specification = {
        "argv": command,
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "metadata": {"debugger": True},
    }
    file.write_text(json.dumps(specification))


def _configure(folder: Path) -> None:
    """Writes the configuration of JupyterLab.

    Else each page asks whether JupyterLab is to be built again, which starts Node each time, and
    whether it is to fetch news.
    """
    of_pages = {"buildAvailable": False, "buildCheck": False}
    settings = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
    folder.mkdir(parents=True)
    (folder / "page_config.json").write_text(json.dumps(of_pages))
    (folder / "default_setting_overrides.json").write_text(json.dumps(settings))


class Server:
    """JupyterLab on loopback, with no settings of the user's."""

    def __init__(
        self,
        home: Path,
        python: Path | None = None,
        app: str = "jupyterlab",
    ) -> None:
        """Starts the server.

        Args:
            home: An empty folder for all that JupyterLab writes.
            python: Interpreter of an environment that has nbfn installed; the checkout by default.
            app: The program that serves: ``jupyterlab`` or ``notebook``.
        """
        self.notebooks = home / "notebooks"
        self.notebooks.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        _configure(home / "config" / "labconfig")
        environment = {name: text for name, text in os.environ.items() if "JUPYTER" not in name}
        environment |= {
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "IPYTHONDIR": str(home / "ipython"),
        }
        if python is None:
            extensions = home / "share" / "labextensions"
            # A copy: another build meanwhile would take away the files of open pages.
            shutil.copytree(EXTENSION, extensions / "nbfn-labextension")
            environment |= {"JUPYTER_PATH": str(extensions.parent), "PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            _specify("without-tensorflow", command, extensions.parent)
            _specify("python3", forked_kernels.command() or command, extensions.parent)
        else:
            environment |= without_node()
            environment["PATH"] = os.pathsep.join([str(python.parent), environment["PATH"]])
        self.environment = environment
        self._stopping = ThreadPoolExecutor()
        self._log = (home / "server.log").open("w")
        self._process = subprocess.Popen(
            [
                *(
                    str(python or sys.executable),
                    "-m",
                    app,
                    "--no-browser",
                    "--allow-root",
                ),
                *("--ServerApp.token=", "--ServerApp.password="),
                *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
                "--ServerApp.disable_check_xsrf=True",
                "--LabApp.news_url=",
                f"--ServerApp.root_dir={self.notebooks}",
            ],
            env=environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + TIMEOUT / 1000
        while time.monotonic() < end:
            try:
                self._request("/api")
            except OSError:
                time.sleep(0.2)
            else:
                return
        self.stop()
        pytest.fail(f"JupyterLab did not start:\n{Path(self._log.name).read_text()}")

    def _request(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    def kernels(self) -> set[str]:
        """Ids of the kernels that run."""
        return {kernel["id"] for kernel in json.loads(self._request("/api/kernels"))}

    def stop_kernels(self, but: set[str]) -> None:
        """Ends the others; with TensorFlow that takes seconds, for which nobody waits."""
        for kernel in self.kernels() - but:
            self._stopping.submit(self._request, f"/api/kernels/{kernel}", "DELETE")

    def stop(self) -> None:
        is_covered = "COVERAGE_PROCESS_CONFIG" in os.environ  # what is killed tells no coverage
        self._stopping.shutdown(wait=is_covered, cancel_futures=not is_covered)
        if is_covered:
            self._process.terminate()
        else:
            self._process.kill()  # its kernels end with it
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # a kernel that was just starting keeps it for ever
            self._process.kill()
            self._process.wait()
        self._log.close()


class Lab:
    """What a user does in JupyterLab, and sees there."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.workspace = f"page-{next(_numbers)}"
        self.failures: list[str] = []
        page.on("pageerror", lambda error: self.failures.append(str(error)))

    def write(self, name: str, *cells: str, kernel: str = "python3") -> None:
        """Writes a notebook; its cells have the ids cell-0, cell-1, and so on."""
        notebooks.write(self.server.notebooks / name, *cells, kernel=kernel)

    def open(self, name: str, *cells: str, kernel: str = "python3") -> None:
        """Opens a notebook of these cells, alone, with the panel beside it.

        The kernel ``without-tensorflow`` has not imported it when it starts.
        """
        self.write(name, *cells, kernel=kernel)
        self.load(name)
        self.wait_for_kernel()
        self.open_panel()

    def load(self, name: str) -> None:
        """Loads JupyterLab with a notebook, which stands alone in a workspace of the page's own."""
        self.page.goto(f"{self.server.url}/lab/workspaces/{self.workspace}/tree/{name}?reset")

    def save(self, name: str) -> dict[str, Any]:
        """Saves the notebook that is seen, and reads what its file holds."""
        self.page.keyboard.press("Control+s")
        expect(self.tab(name)).not_to_have_class(re.compile("jp-mod-dirty"))
        document: dict[str, Any] = json.loads((self.server.notebooks / name).read_text())
        return document

    def open_without_kernel(self, document: dict[str, Any]) -> Lab:
        """Opens what a notebook's file holds in a page of its own, where no kernel can run it."""
        document["metadata"]["kernelspec"] = {"name": "none", "display_name": "None"}
        (self.server.notebooks / "gone.ipynb").write_text(json.dumps(document))
        lab = Lab(self.page.context.new_page(), self.server)
        lab.failures = self.failures
        lab.load("gone.ipynb")
        lab.page.locator(".jp-Dialog-button", has_text="No Kernel").click()
        return lab

    def open_as_html(self, name: str, folder: Path) -> Page:
        """Opens the page that nbconvert makes of a saved notebook, where no script runs."""
        from nbconvert import HTMLExporter

        html, _ = HTMLExporter().from_filename(str(self.server.notebooks / name))
        (folder / name).with_suffix(".html").write_text(html, encoding="utf-8")
        browser = self.page.context.browser
        assert browser is not None
        page = browser.new_context(java_script_enabled=False, offline=True).new_page()
        page.goto((folder / name).with_suffix(".html").as_uri())
        return page

    def open_panel(self) -> None:
        self.page.locator('[data-id="nbfn-session-panel"]').first.click()
        expect(self.panel).to_be_visible()

    def open_too(self, name: str, *cells: str) -> None:
        """Opens another notebook in the same window."""
        self.write(name, *cells)
        self.page.locator('[data-command="filebrowser:refresh"]').first.click()
        self.page.locator(".jp-DirListing-item", has_text=name).dblclick()
        expect(self.tab(name)).to_have_class(re.compile("lm-mod-current"))
        self.wait_for_kernel()

    def open_console(self, name: str) -> None:
        """Opens a console with the kernel of the notebook that is seen."""
        self.notebook.locator(".jp-Cell").first.click(button="right")
        self.page.locator('.lm-Menu-itemLabel:text-is("New Console for Notebook")').click()
        expect(self.page.locator(".jp-CodeConsole-promptCell")).to_be_visible()

    def share_kernel(self, owner: str) -> None:
        """Gives the notebook that is seen the kernel of another one."""
        self.notebook.locator(".jp-KernelName").click()
        dialog = self.page.locator(".jp-Dialog")
        options = dialog.locator("select option")
        label = next(text for text in options.all_inner_texts() if owner in text)
        dialog.locator("select").select_option(label=label)
        dialog.locator(".jp-mod-accept").click()

    def tab(self, name: str) -> Locator:
        return self.page.locator("#jp-main-dock-panel .lm-TabBar-tab", has_text=name)

    def close(self, name: str) -> None:
        self.tab(name).locator(".lm-TabBar-tabCloseIcon").click()
        self.answer("Discard")

    def answer(self, button: str) -> None:
        """Presses a button of the dialog, if one is open or opens now."""
        dialog = self.page.locator(".jp-Dialog-button", has_text=button).first
        try:
            dialog.click(timeout=1500)
        except Exception as error:
            if "Timeout" not in type(error).__name__:
                raise

    @property
    def notebook(self) -> Locator:
        """The notebook that is seen."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    @property
    def panel(self) -> Locator:
        return self.page.locator("#nbfn-session-panel")

    def section(self, title: str) -> Locator:
        """A section of the view that is seen: the panel keeps those of other sessions, hidden."""
        return self.panel.locator(
            ".nbfn-Panel-view:not([hidden]) .nbfn-Section",
            has=self.page.locator(f'.nbfn-Section-title:text-is("{title}")'),
        )

    def open_section(self, title: str) -> Locator:
        """Opens a section of the panel, unless it is open; a toast may lie over it."""
        section = self.section(title)
        closed = section.locator("xpath=self::details[not(@open)]")
        if closed.count():
            section.locator("summary").first.evaluate("summary => summary.click()")
        return section

    def cell(self, index: int) -> Locator:
        return self.notebook.locator(".jp-Cell").nth(index)

    def source(self, index: int) -> str:
        return self.cell(index).locator(".cm-content").inner_text().strip()

    def expect_source(self, index: int, text: str) -> None:
        """Waits until a cell has this text; its editor draws a change a moment later."""
        content = self.cell(index).locator(".cm-content")
        expect(content).to_have_text(text, use_inner_text=True)

    def wait_for_kernel(self) -> None:
        """Waits until cells can be run; the notebook's own indicator says so too early."""
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def start(self, index: int) -> None:
        """Starts a cell."""
        self.cell(index).locator(".jp-InputPrompt").click()
        expect(self.cell(index)).to_have_class(re.compile("jp-mod-active"))
        self.page.keyboard.press("Control+Enter")

    def run(self, index: int, timeout: int = TIMEOUT) -> None:
        """Runs a cell to its end, for which it has some milliseconds."""
        self.start(index)
        prompt = self.cell(index).locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=timeout)

    def menu(self, *names: str) -> None:
        """Chooses an item of the menus."""
        self.page.locator(".lm-MenuBar-itemLabel", has_text=names[0]).first.click()
        for name in names[1:]:
            self.page.locator(f'.lm-Menu-itemLabel:text-is("{name}")').click()
