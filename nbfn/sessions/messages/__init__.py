"""The messages of the feed: rows of all that a page lists, and the changes of rows."""
