"""Results that are read once, as pages: each file says what there is to say about one of them."""

from nbfn.views.pages.page import page_of as page_of
