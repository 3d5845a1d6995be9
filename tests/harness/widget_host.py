"""A host of widgets that has nothing else: it loads their modules, and carries their messages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, Route

from tests.harness.kernel import Kernel, Reply

ADDRESS = "http://host.test/"
VIEW = "application/vnd.jupyter.widget-view+json"

SCRIPT = """
const models = new Map();
const made = new Map();
globalThis.sent = [];

class Model {
  constructor(id, state) { Object.assign(this, {id, state, heard: new Map()}); }
  get(name) { return this.state[name]; }
  set(name, value) { this.update({[name]: value}); }
  save_changes() {}
  send(content) { sent.push([this.id, content]); }
  on(name, does) { this.heard.set(name, (this.heard.get(name) ?? new Set()).add(does)); }
  off(name, does) { this.heard.get(name)?.delete(does); }
  tell(name, ...values) { for (const does of this.heard.get(name) ?? []) does(...values); }
  update(state) {
    Object.assign(this.state, state);
    for (const name of Object.keys(state)) this.tell(`change:${name}`);
  }
}

/** What arrives from the kernel. */
globalThis.receive = ({type, comm_id: id, data}) => {
  if (type === 'comm_open') models.set(id, new Model(id, data.state));
  else if (data?.method === 'update') models.get(id)?.update(data.state);
  else if (data?.method === 'custom') models.get(id)?.tell('msg:custom', data.content, []);
};

/** Draws a model at the end of the page. */
globalThis.draw = async id => {
  const model = models.get(id);
  const source = model.get('_esm');
  if (!made.has(source)) {
    const url = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));
    made.set(source, (await import(url)).default);
    const style = document.createElement('style');
    style.textContent = model.get('_css');
    document.head.append(style);
  }
  const el = document.createElement('div');
  el.id = `view-${id}`;
  document.body.append(el);
  const widget = made.get(source);
  await widget.initialize?.({model});
  await widget.render({model, el});
};
"""


class WidgetHost:
    """A page beside a kernel."""

    def __init__(self, page: Page, kernel: Kernel) -> None:
        self.page = page
        self.kernel = kernel
        self.fetched: list[str] = []
        self.failures: list[str] = []
        page.on("pageerror", lambda error: self.failures.append(str(error)))
        page.route("**/*", self._answer)
        page.goto(ADDRESS)
        page.add_script_tag(content=SCRIPT)

    def _answer(self, route: Route) -> None:
        """The page itself is empty; anything else that is fetched is noted, and not there."""
        if route.request.url == ADDRESS:
            route.fulfill(content_type="text/html", body="<!doctype html><body>")
        else:
            self.fetched.append(route.request.url)
            route.abort()

    def run(self, code: str) -> Reply:
        """Runs a cell, and hands its messages to the page."""
        reply = self.kernel.run(code)
        for message in reply.comms:
            self.page.evaluate("message => receive(message)", message)
        return reply

    def show(self, code: str) -> Locator:
        """Runs a cell and draws the widget that it displays."""
        (data,) = [each["data"] for each in self.run(code).outputs if "data" in each]
        id_ = data[VIEW]["model_id"]
        self.page.evaluate("id => draw(id)", id_)
        return self.page.locator(f"#view-{id_}")

    def wait_for(self, seen: Locator, seconds: float = 60) -> None:
        """Carries what the page asks and the kernel answers, until something is seen."""
        end = time.monotonic() + seconds
        while not seen.count():
            assert time.monotonic() < end, self.page.locator("body").inner_text()
            for id_, content in self.page.evaluate("sent.splice(0)"):
                data = {"method": "custom", "content": content}
                self.kernel.send("comm_msg", comm_id=id_, data=data)
            self.run("pass")
            self.page.wait_for_timeout(50)


@contextmanager
def widget_host(browser: Browser, kernel: Kernel) -> Iterator[WidgetHost]:
    """A page that can reach nothing but a kernel."""
    context = browser.new_context()
    try:
        host = WidgetHost(context.new_page(), kernel)
        yield host
        assert host.failures == []
        assert host.fetched == []
    finally:
        context.close()
