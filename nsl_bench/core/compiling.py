"""numba that compiles a function again where its cached code is damaged or was changed."""

import hashlib
from pathlib import Path
from typing import Any

import numba as numba
from numba.core import caching

_DIGEST_BYTES = 32


_Files: Any = caching.IndexDataCacheFile


class _Checked(_Files):  # type: ignore[misc]
    """The files of a cached function; each ends with a hash of the rest, which numba does not see."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # unpickling what is damaged may raise anything
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        super()._save_data(name, data)
        with Path(self._data_path(name)).open("rb+") as file:
            content = file.read()
            file.write(hashlib.sha256(content).digest())

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
            raise OSError("damaged")  # numba then compiles
        return super()._load_data(name)


vars(caching)["IndexDataCacheFile"] = _Checked
