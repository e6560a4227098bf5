"""A real HTTP server on this machine that speaks two wire formats of language models, from a script."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from iamata.language.servers import ModelServer, Wire


@dataclass
class Sent:
    """What one request was answered with. `slow_s` waits before the answer, `drip_s` before each byte of it; `reset`
    breaks the connection; `cut` sends only so many bytes of what was announced."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    slow_s: float = 0.0
    drip_s: float = 0.0
    reset: bool = False
    cut: int | None = None


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def material(self) -> str:
        """What the user's turn holds, on either wire."""
        return str(self.body["messages"][-1]["content"])

    @property
    def instructions(self) -> str:
        return str(self.body.get("system") or self.body["messages"][0]["content"])


def openai(value: object, *, finish: str = "stop", refusal: str | None = None, text: str | None = None) -> Sent:
    """A chat completion whose content is this value as JSON, or this text."""
    content = json.dumps(value) if text is None else text
    message = {"role": "assistant", "content": None if refusal else content, "refusal": refusal}
    return Sent(
        json.dumps(
            {
                "id": "c1",
                "object": "chat.completion",
                "created": 1,
                "model": "served-1",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            }
        ).encode()
    )


def anthropic(value: object, *, stop: str = "tool_use", tool: str = "answer", text: str | None = None) -> Sent:
    """A message that uses the tool with this value, or says this text."""
    block: dict[str, object] = {"type": "tool_use", "id": "t1", "name": tool, "input": value}
    if text is not None:
        block = {"type": "text", "text": text}
    return Sent(
        json.dumps(
            {
                "id": "m1",
                "type": "message",
                "role": "assistant",
                "model": "served-1",
                "content": [block],
                "stop_reason": stop,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        ).encode()
    )


Script = Iterable[Sent | Callable[[Asked], Sent]]


@contextmanager
def model_server(script: Script) -> Iterator[tuple[str, list[Asked]]]:
    """The server's address, and what it was asked so far. After the script it answers 404."""
    asked: list[Asked] = []
    answers = iter(script)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            one = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(raw))
            with lock:
                asked.append(one)
                found = next(answers, Sent(b"{}", 404))
            answer = found(one) if callable(found) else found
            with suppress(OSError):  # the caller may have hung up
                self._send(answer)
            self.close_connection = True

        def _send(self, answer: Sent) -> None:
            if answer.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return
            time.sleep(answer.slow_s)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            if answer.drip_s:
                for at in range(len(answer.body)):
                    self.wfile.write(answer.body[at : at + 1])
                    self.wfile.flush()
                    time.sleep(answer.drip_s)
                return
            self.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serving(url: str, wire: Wire, **given: Any) -> ModelServer:
    """The configuration of a model on this server."""
    base = f"{url}/v1" if wire == "openai" else url
    return ModelServer(name="small-1", wire=wire, base_url=base, key="sk-secret-4711", pause_s=0.001, **given)
