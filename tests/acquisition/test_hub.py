"""Hub ids, against a small hub that runs here."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import socket
import sys
import threading
import time

import huggingface_hub
import pytest
from huggingface_hub import constants

from cospace.errors import AcquisitionError, MissingDependencyError, UnknownNameError
from cospace.models import hub
from cospace.models.weights import resolve_weights

COMMIT = "a" * 40
WEIGHTS = b"weights" * 1000
FILES = {
    "config.json": b'{"model_type": "bert", "quantization_config": {"quant_method": "gptq"}}',
    "model.safetensors": WEIGHTS,
    "tokenizer.json": b"{}",
    "README.md": b"---\ntags:\n- x\nlicense: apache-2.0\n---\n# Model\n",
    "pytorch_model.bin": b"pickle",
    "model.fp16.safetensors": b"other",
    "onnx/model.json": b"{}",
}


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers as the hub does, for the one model ``org/small`` (and ``small``)."""

    served: list[str]
    files: dict[str, bytes]

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        path = self.path.split("?")[0]
        for name in ("org/small", "small"):
            if path in (f"/api/models/{name}", f"/api/models/{name}/revision/main"):
                return self.reply(json.dumps({"id": name, "sha": COMMIT, "siblings": []}).encode())
            if path.startswith(f"/api/models/{name}/tree/"):
                rows = [
                    {"type": "file", "path": file, "size": len(content), "oid": sha1(content)}
                    for file, content in self.files.items()
                ]
                return self.reply(json.dumps(rows).encode())
            if path.startswith(f"/api/models/{name}/revision/"):
                return self.reply(b"{}", 404, {"X-Error-Code": "RevisionNotFound"})
            start = f"/{name}/resolve/{COMMIT}/"
            if path.startswith(start):
                content = self.files[path.removeprefix(start)]
                self.served.append(path.removeprefix(start))
                headers = {"ETag": f'"{sha1(content)}"', "X-Repo-Commit": COMMIT}
                return self.reply(content if body else None, 200, headers, len(content))
        code = "GatedRepo" if "gated" in path else "RepoNotFound"
        return self.reply(b"{}", 403 if "gated" in path else 404, {"X-Error-Code": code})

    def reply(self, content, status=200, headers=None, length=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if content is not None and self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def client(monkeypatch, tmp_path):
    """The hub's client with a cache of its own."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def use(endpoint):
        api = huggingface_hub.HfApi(endpoint=endpoint)
        monkeypatch.setattr(huggingface_hub, "HfApi", lambda: api)
        download = functools.partial(huggingface_hub.snapshot_download, endpoint=endpoint)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)

    return use


@pytest.fixture
def served(client):
    """The hub, running; a list of the files that were asked for."""
    handler = type("Handler", (Hub,), {"served": [], "files": dict(FILES)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        client(f"http://127.0.0.1:{server.server_port}")
        yield handler
        server.shutdown()
        thread.join()


def get(reference):
    return resolve_weights(reference, progress=False)


def test_hub_model_without_pickles_and_other_formats(served):
    weights = get("org/small")
    assert {path.name for path in weights.folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
    }
    assert set(served.served) == {path.name for path in weights.folder.iterdir()}
    assert (weights.reference, weights.name, weights.revision) == ("org/small", "small", COMMIT)
    assert weights.weights_hash == hashlib.sha256(WEIGHTS).hexdigest()
    assert (weights.licence, weights.quantisation, weights.source) == ("apache-2.0", "gptq", None)


def test_bare_name_and_revision(served):
    assert get("small@main").revision == COMMIT


def test_cache_serves_without_network(served, monkeypatch):
    online = get("org/small")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert get("org/small") == online


def test_model_that_is_not_there(served):
    with pytest.raises(
        AcquisitionError, match=r"The hub has no model 'org/none', or it is private"
    ):
        get("org/none")


def test_bare_name_that_is_not_there(served):
    with pytest.raises(UnknownNameError, match=r"'none' is not .*The hub has no such model either"):
        get("none")


def test_revision_that_is_not_there(served):
    with pytest.raises(AcquisitionError, match=r"The hub has 'org/small', but no revision 'v9'"):
        get("org/small@v9")


def test_gated_model(served):
    with pytest.raises(AcquisitionError, match=r"gives 'org/gated' only to users who accepted its"):
        get("org/gated")


def test_model_of_pickles_only(served):
    del served.files["model.safetensors"]
    with pytest.raises(
        AcquisitionError, match=r"org/small holds no model.safetensors and no .*index"
    ):
        get("org/small")


def test_no_network(client):
    client("http://127.0.0.1:9")
    with pytest.raises(
        AcquisitionError, match=r"gave no answer, .*packaged model \(minilm"
    ) as caught:
        get("org/small")
    assert "\n" not in str(caught.value)


def test_bare_name_without_network(client):
    client("http://127.0.0.1:9")
    with pytest.raises(UnknownNameError, match=r"Known: .*minilm.* The hub could not be asked"):
        get("gpt2")


def test_hub_that_never_answers_is_given_up(client, monkeypatch):
    monkeypatch.setattr(hub, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client(f"http://127.0.0.1:{silent.getsockname()[1]}")
        start = time.monotonic()
        with pytest.raises(AcquisitionError, match=r"gave no answer"):
            get("org/small")
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), r"not be fetched from the hub \(No space left"),
        (RuntimeError("odd\nwords"), r"gave no answer \(odd\), and 'org/small' is not in"),
    ],
)
def test_client_that_fails(monkeypatch, error, message):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    monkeypatch.setattr(hub, "_answers", lambda *arguments: True)
    with pytest.raises(AcquisitionError, match=message):
        get("org/small")


def test_missing_client(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(
        MissingDependencyError, match=r"Fetching from the hub needs huggingface_hub"
    ):
        get("org/small")
