"""A real browser for what is measured in one."""

from tests.browser.conftest import browser as browser
from tests.browser.conftest import context as context
from tests.browser.conftest import lab as lab
from tests.browser.conftest import server as server
