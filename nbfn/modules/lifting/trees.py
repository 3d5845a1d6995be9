"""The variables of transformed modules as nested dicts, as user code gets and returns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbfn.modules.errors import TransformError
from nbfn.modules.lifecycle.fields import field_values, is_module, modules_in
from nbfn.modules.lifting.arguments import has_place, map_places, scope_of
from nbfn.modules.lifting.lifting import Leaf
from nbfn.modules.variables.store import Path
from nbfn.modules.variables.tree import grown, leaves


class Trees:
    """``{collection: {module: {name: value}}}`` for each module in a structure of modules.

    Names are relative to the module. A module from elsewhere in one of its fields appears under the
    field's name. A variable that belongs to several of the modules appears once: with the module
    that contains the others, or else with the first.
    """

    def __init__(self, label: str, modules: Any) -> None:
        self._label = label
        self._modules = modules
        self._owners: list[Any] = []
        map_places(self._note, modules)
        # The places of each module and of those in its fields, with their names in the trees.
        self._places = [list(_places(owner, ())) for owner in self._owners]

    def build(self, values: Mapping[Leaf, Any]) -> Any:
        """Builds the trees, in the structure of the modules."""
        trees: list[dict[str, Any]] = [{} for _ in self._owners]
        for (collection, path), value in values.items():
            index, inside = self._home(path)
            grown(trees[index], (collection, *inside[:-1]))[inside[-1]] = value
        return self.filled(trees)

    def filled(self, trees: Iterable[Any]) -> Any:
        """Returns the structure of the modules with a tree instead of each."""
        rest = iter(trees)
        return map_places(lambda _: next(rest), self._modules)

    def flat(self, trees: Any, what: str) -> dict[Leaf, Any]:
        """Returns the variables in trees of this structure; raises `TransformError` for others."""
        found: dict[Leaf, Any] = {}
        for index, tree in enumerate(self.each(trees, what)):
            if not isinstance(tree, Mapping) or not all(
                isinstance(node, Mapping) for node in tree.values()
            ):
                raise TransformError(
                    f"{self._label}: {what} must be collections of variables, such as "
                    f'{{"params": {{"kernel": ...}}}}; found {tree!r}.'
                )
            for collection, node in tree.items():
                for inside, value in leaves(node):
                    found[collection, self._path(index, inside)] = value
        return found

    def each(self, trees: Any, what: str) -> list[Any]:
        """Returns the trees one by one; raises `TransformError` for another structure."""
        found: list[Any] = []

        def walk(modules: Any, trees: Any) -> None:
            if has_place(modules):
                found.append(trees)
            elif isinstance(modules, Mapping):
                for key, item in modules.items():
                    walk(item, trees[key])
            elif isinstance(modules, (list, tuple)):
                for item, tree in zip(modules, trees, strict=True):
                    walk(item, tree)

        try:
            walk(self._modules, trees)
        except (KeyError, IndexError, TypeError, ValueError):
            raise TransformError(
                f"{self._label}: {what} must have the structure of the modules, with a dict of "
                f"collections for each; found {trees!r}."
            ) from None
        return found

    def text(self, leaf: Leaf) -> str:
        """Returns the name of a variable in the trees."""
        return "/".join(self._home(leaf[1])[1])

    def _note(self, owner: Any) -> Any:
        self._owners.append(owner)
        return owner

    def _home(self, path: Path) -> tuple[int, Path]:
        found = [
            (len(place), index, (*names, *path[len(place) :]))
            for index, places in enumerate(self._places)
            for place, names in places
            if path[: len(place)] == place
        ]
        _, index, inside = min(found, key=lambda each: each[:2])
        return index, inside

    def _path(self, index: int, inside: Path) -> Path:
        (own, _), *others = self._places[index]
        for place, names in others:
            if inside[: len(names)] == names and place[: len(own)] != own:
                return (*place, *inside[len(names) :])
        return (*own, *inside)


def _places(owner: Any, names: Path) -> Iterator[tuple[Path, Path]]:
    yield scope_of(owner).path, names
    if is_module(owner):
        for field, value in field_values(owner).items():
            for module, name in modules_in(value, field):
                if has_place(module):
                    yield from _places(module, (*names, name))
