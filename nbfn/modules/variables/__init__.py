"""Variables outside and inside of modules: stores, scopes, random keys."""
