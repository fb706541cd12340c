"""Perspective, against a server on this machine."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cospace.errors import AcquisitionError, InputError
from cospace.steering import Perspective
from cospace.steering.perspective import ATTRIBUTES, KEY

SECRET = "secret-0123456789"


@pytest.fixture
def service(monkeypatch):
    """A server that gives one answer after the other, and what it was asked."""
    monkeypatch.setenv(KEY, SECRET)
    seen, answers = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, dict(self.headers), body))
            status, headers, content = answers.pop(0) if answers else (200, {}, scores(body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/analyze", seen, answers
    server.shutdown()
    thread.join()
    server.server_close()


def scores(body):
    text = body["comment"]["text"]
    names = body["requestedAttributes"]
    return {
        "attributeScores": {
            name: {"summaryScore": {"value": 0.1 * len(text.split()) + 0.01 * i}}
            for i, name in enumerate(names)
        }
    }


def scorer(url, **options):
    return Perspective(url=url, **{"pause": 0.0, **options})


def test_a_text_has_the_largest_of_the_scores(service):
    url, seen, _ = service
    found = scorer(url)(["one two", "", "one two three"])
    assert found == [pytest.approx(0.26), None, pytest.approx(0.36)]
    assert len(seen) == 2
    assert seen[0][2] == {
        "comment": {"text": "one two"},
        "languages": ["en"],
        "requestedAttributes": {name: {} for name in ATTRIBUTES},
        "doNotStore": True,
    }
    only = scorer(url, attributes=["TOXICITY"])
    assert only(["one two"]) == [pytest.approx(0.2)]
    assert only.name == "Perspective, TOXICITY"


def test_the_key_is_sent_in_a_header_alone(service, caplog, capsys):
    """Fault: a key in an address, which logs and messages repeat."""
    url, seen, answers = service
    made = scorer(url)
    made(["one"])
    path, headers, body = seen[0]
    assert headers["X-Goog-Api-Key"] == SECRET
    assert SECRET not in path + json.dumps(body)
    assert SECRET not in repr(made) + made.name
    answers.append((400, {}, {"error": {"message": f"API key {SECRET} is\nnot valid"}}))
    with pytest.raises(AcquisitionError) as told:
        made(["one"])
    assert str(told.value) == (
        "127.0.0.1 refused a text with status 400 (API key [key] is not valid): check the key in "
        f"{KEY}, its quota, and the attributes."
    )
    assert SECRET not in caplog.text + "".join(capsys.readouterr())


def test_too_many_requests_are_made_again(service, monkeypatch):
    url, _, answers = service
    waits = []
    monkeypatch.setattr("cospace.steering.perspective.time.sleep", waits.append)
    answers += [(429, {"Retry-After": "7"}, {}), (503, {}, {}), (429, {"Retry-After": "x"}, {})]
    assert scorer(url, pause=1.0)(["one", "two"]) == [pytest.approx(0.16), pytest.approx(0.16)]
    assert waits == [7.0, 14.0, 28.0, 1.0]
    answers += [(429, {}, {})] * 2
    with pytest.raises(AcquisitionError, match="refused a text with status 429: check the key"):
        scorer(url, tries=2)(["one"])


def test_redirections_are_not_followed(service):
    """Fault: the key handed to whoever a redirection names."""
    url, seen, answers = service
    answers.append((302, {"Location": url}, {}))
    with pytest.raises(AcquisitionError, match="status 302"):
        scorer(url)(["one"])
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "127.0.0.1 answered without the scores TOXICITY"),
        ([], "answered without the scores"),
        (
            {"attributeScores": {"TOXICITY": {"summaryScore": {"value": 1.5}}}},
            r"gave the scores \[1\.5\]: numbers from 0 to 1",
        ),
    ],
)
def test_answers_that_are_no_scores_are_refused(service, content, message):
    url, _, answers = service
    answers.append((200, {}, content))
    with pytest.raises(AcquisitionError, match=message):
        scorer(url, attributes=["TOXICITY"])(["one"])


def test_a_service_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setenv(KEY, SECRET)
    with pytest.raises(AcquisitionError, match=r"127\.0\.0\.1 cannot be reached \("):
        scorer("http://127.0.0.1:9/analyze", tries=1)(["one"])
    with pytest.raises(InputError, match="tries=0: a number from 1"):
        scorer("http://127.0.0.1:9/analyze", tries=0)(["one"])


def test_what_cannot_ask_is_refused(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(InputError, match=f"the environment has no {KEY}: set it, or take another"):
        Perspective()
    monkeypatch.setenv(KEY, SECRET)
    with pytest.raises(
        InputError, match=r"http://example\.org/a would be sent the key in the open"
    ):
        Perspective(url="http://example.org/a")
    with pytest.raises(InputError, match="attributes='TOXICITY': a list"):
        Perspective(attributes="TOXICITY")
