"""The files of a store while it is written."""

import threading
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any


class Written(MutableMapping[str, Any]):
    """The files of a new folder, by name, as Zarr wants them: written one after the other, and
    after the first that cannot be, no other. (Zarr's own threads go on with theirs after an error,
    and bring back a folder that was already removed.)
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.names = folder, dict[str, None]()
        self.failed, self.lock = False, threading.Lock()

    def __setitem__(self, name: str, content: Any) -> None:
        with self.lock:
            if self.failed:
                raise OSError(f"{self.folder} is written no further, after an error")
            self.failed = True
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as opened:
                opened.write(content.as_numpy_array())
            self.names[name] = None
            self.failed = False

    def __getitem__(self, name: str) -> Any:
        from zarr.core.buffer import default_buffer_prototype

        if name not in self.names:
            raise KeyError(name)
        return default_buffer_prototype().buffer.from_bytes((self.folder / name).read_bytes())

    def __delitem__(self, name: str) -> None:
        with self.lock:
            del self.names[name]
            (self.folder / name).unlink()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self.names))

    def __len__(self) -> int:
        return len(self.names)

    # By identity: to compare what is in them everything would be read.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]
