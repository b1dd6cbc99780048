"""A stand-in for the Hugging Face Hub's HTTP interface: keeps what it is sent, and serves it again."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_stand_in"


@dataclass
class Hub:
    """Repositories, and a list of the requests.

    Attributes:
        commits: by repository, each a path's bytes by path, and the commit's message.
        tags: by repository, tag to number of the commit.
        blobs: uploaded large files by hash.
        requests: method and path of each request.
        broken: a path's piece; requests whose path holds it get the answer of something that is broken.
        answer: of what is broken: status and body.
    """

    url: str = ""
    commits: dict[str, list[tuple[dict[str, bytes], str]]] = field(default_factory=dict)
    tags: dict[str, dict[str, int]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    broken: str | None = None
    answer: tuple[int, bytes] = (500, b'{"error": "out of order"}')

    def sha(self, number: int) -> str:
        return f"{number:040x}"

    def files(self, repository: str, revision: str) -> tuple[dict[str, bytes], str] | None:
        count = len(self.commits[repository])
        number = self.tags[repository].get(revision)
        if revision == "main" and not count:
            return {}, self.sha(0)
        if revision == "main":
            number = count - 1
        for k in range(count):
            if revision == self.sha(k):
                number = k
        return None if number is None else (self.commits[repository][number][0], self.sha(number))


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self, code: int, body: Any = None, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if self.hub.broken and self.hub.broken in path:
            self._answer(*self.hub.answer)
        elif self.command in ("POST", "PUT") and not path.startswith("/upload/") and not self._known():
            self._answer(401, {"error": "who are you?"})
        else:
            words = path.strip("/").split("/")
            getattr(self, f"_{self.command.lower()}")(words, body)

    do_GET = do_HEAD = do_POST = do_PUT = _serve

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _post(self, words: list[str], body: bytes) -> None:
        hub = self.hub
        if words == ["api", "repos", "create"]:
            asked = json.loads(body)
            assert asked["type"] == "dataset"
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            if name in hub.commits:
                return self._answer(409, {"error": "exists", "url": f"{hub.url}/datasets/{name}"})
            hub.commits[name], hub.tags[name] = [], {}
            return self._answer(200, {"url": f"{hub.url}/datasets/{name}"})
        if words == ["api", "validate-yaml"]:
            assert json.loads(body)["repoType"] == "dataset"
            return self._answer(200, {"errors": [], "warnings": []})
        if words[-3:] == ["lfs", "objects", "batch"]:
            objects = [
                {**one, "actions": {"upload": {"href": f"{hub.url}/upload/{one['oid']}", "header": {}}}}
                for one in json.loads(body)["objects"]
            ]
            return self._answer(200, {"transfer": "basic", "objects": objects})
        repository, what = "/".join(words[2:4]), words[4]
        if repository not in hub.commits:
            return self._answer(404, {"error": "none"}, X_Error_Code="RepoNotFound")
        if what == "preupload":
            paths = [one["path"] for one in json.loads(body)["files"]]
            modes = {path: "lfs" if path.endswith(".parquet") else "regular" for path in paths}
            same = {"shouldIgnore": False, "oid": None}
            files = [{"path": path, "uploadMode": mode, **same} for path, mode in modes.items()]
            return self._answer(200, {"files": files})
        if what == "commit":
            return self._commit(repository, [json.loads(line) for line in body.splitlines()])
        assert what == "tag", words
        tag = json.loads(body)["tag"]
        if tag in hub.tags[repository]:
            return self._answer(409, {"error": "tag exists"})
        numbers = range(len(hub.commits[repository]))
        hub.tags[repository][tag] = next(k for k in numbers if words[5] in (hub.sha(k), "main"))
        return self._answer(200, {})

    def _commit(self, repository: str, lines: list[dict[str, Any]]) -> None:
        commits = self.hub.commits[repository]
        files, message = dict(commits[-1][0]) if commits else {}, ""
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.blobs[value["oid"]]
            else:
                assert line["key"] == "deletedFile", line
                del files[value["path"]]
        commits.append((files, message))
        sha = self.hub.sha(len(commits) - 1)
        url = f"{self.hub.url}/datasets/{repository}/commit/{sha}"
        self._answer(200, {"success": True, "commitOid": sha, "commitUrl": url})

    def _put(self, words: list[str], body: bytes) -> None:
        assert words[0] == "upload" and hashlib.sha256(body).hexdigest() == words[1]
        self.hub.blobs[words[1]] = body
        self._answer(200, {})

    def _get(self, words: list[str], body: bytes) -> None:
        hub = self.hub
        if words[:2] == ["api", "datasets"]:
            repository, what, *rest = "/".join(words[2:4]), *(words[4:] or ["revision", "main"])
        else:
            repository, what, *rest = "/".join(words[1:3]), *words[3:]
        if repository not in hub.commits:
            return self._answer(404, {"error": "none"}, X_Error_Code="RepoNotFound")
        if what == "refs":
            tags = [
                {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": hub.sha(k)}
                for tag, k in hub.tags[repository].items()
            ]
            return self._answer(200, {"branches": [], "converts": [], "tags": tags})
        found = hub.files(repository, rest[0])
        if found is None:
            return self._answer(404, {"error": "none"}, X_Error_Code="RevisionNotFound")
        files, sha = found
        if what == "revision":
            siblings = [{"rfilename": path} for path in files]
            return self._answer(200, {"id": repository, "sha": sha, "siblings": siblings})
        if what == "tree":
            entries = [
                {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for path, data in files.items()
            ]
            return self._answer(200, entries)
        assert what == "resolve", words
        data = files.get("/".join(rest[1:]))
        if data is None:
            return self._answer(404, {"error": "none"}, X_Error_Code="EntryNotFound")
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        return self._answer(200, data, ETag=etag, X_Repo_Commit=sha, Accept_Ranges="none")

    _head = _get


@contextmanager
def running() -> Iterator[Hub]:
    """A stand-in that serves on a free port of this machine."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
