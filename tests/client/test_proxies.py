"""Proxy addresses in all usual forms, from options or the environment. A proxy's refusal is final."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.client.doubles import KEY
from tests.each import each
from workbench.base.errors import NotSent, UsageError
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.options import HttpOptions
from workbench.client.calls.proxies import read_proxy

URL = "https://api.example.com/v1"
SECRET = "s3cret-of-the-proxy"


@each(
    "text, url, auth",
    [
        ("proxy.example.com:3128", "http://proxy.example.com:3128", None),
        ("proxy.example.com", "http://proxy.example.com", None),
        ("http://proxy.example.com:3128/", "http://proxy.example.com:3128", None),
        ("https://proxy.example.com:3128", "https://proxy.example.com:3128", None),
        ("HTTP://PROXY.example.com:3128", "http://proxy.example.com:3128", None),
        ("me:a%40b@proxy.example.com:3128", "http://proxy.example.com:3128", (b"me", b"a@b")),
        ("http://me@proxy.example.com:3128", "http://proxy.example.com:3128", (b"me", b"")),
        ("http://[::1]:3128", "http://[::1]:3128", None),
        ("[::1]:3128", "http://[::1]:3128", None),
    ],
)
def test_a_proxy_in_any_form(text: str, url: str, auth: tuple[bytes, bytes] | None) -> None:
    """Without a scheme, http:// is assumed. User and password are separated from the address, and not shown."""
    proxy = read_proxy(text, "http.proxy")

    assert (url, auth) == (proxy.url, proxy.auth)
    assert "a@b" not in repr(proxy)


WRONG = {
    "socks5": (f"socks5://me:{SECRET}@proxy.example.com:1080", "SOCKS"),
    "socks5h": (f"socks5h://me:{SECRET}@proxy.example.com:1080", "SOCKS"),
    "socks4": (f"SOCKS4://{SECRET}:1080", "SOCKS"),
    "another scheme": (f"ftp://me:{SECRET}@proxy.example.com", "must be the address"),
    "no host": (f"http://me:{SECRET}@", "must be the address"),
    "a port in words": (f"http://me:{SECRET}@proxy.example.com:many", "must be the address"),
    "a port too large": (f"me:{SECRET}@proxy.example.com:99999", "must be the address"),
    "a line end": (f"http://me:{SECRET}@proxy.example.com\n", "must be the address"),
    "a space": (f"http://me:{SECRET}@proxy example", "must be the address"),
    "other letters": (f"http://me:{SECRET}@pröxy.example.com", "must be the address"),
}


@pytest.mark.parametrize("text, words", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("of", [Client, AsyncClient])
def test_a_wrong_proxy_is_named_when_the_client_is_made(
    text: str, words: str, of: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong proxy is named as option and as environment variable, without its user and password."""
    with pytest.raises(UsageError, match=words) as caught:
        of(base_url=URL, api_key=KEY, http={"proxy": text})
    assert SECRET not in str(caught.value)
    for variable in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, text)
            with pytest.raises(UsageError, match=rf"{variable} .*{words}") as caught:
                of(base_url=URL, api_key=KEY, http={"trust_env": True})
        assert SECRET not in repr(caught.value)


def test_a_proxy_is_not_shown() -> None:
    """Neither options nor clients show the proxy's password."""
    http = {"proxy": f"http://me:{SECRET}@127.0.0.1:9"}
    client = Client(base_url=URL, api_key=KEY, http=http)

    assert SECRET not in f"{HttpOptions(**http)} {client} {client.info()}"


@contextmanager
def answering(status: str) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a proxy that answers each request with a status, and the list of its requests."""
    asked: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"me:{SECRET}@127.0.0.1:{listening.getsockname()[1]}", asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def sync_call(**how: Any) -> None:
    with Client(base_url=URL, api_key=KEY, **how) as client:
        client.list_contracts()


def async_call(**how: Any) -> None:
    async def call() -> None:
        async with AsyncClient(base_url=URL, api_key=KEY, **how) as client:
            await client.list_contracts()

    asyncio.run(call())


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"])
@pytest.mark.parametrize("call", [sync_call, async_call])
@pytest.mark.parametrize("how", ["given", "environment"])
def test_what_a_proxy_answers_is_named_and_final(
    call: Callable[..., None], how: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused proxy request is not repeated, because repeats may lock the account, and never reaches the service."""
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # while this variable is set, the client refuses to send to real hosts
    refused = pytest.raises(NotSent, match=f"the proxy answered {status[:3]}")
    with answering(status) as (proxy, asked), refused as caught:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        call(http={"proxy": proxy} if how == "given" else {"trust_env": True})
    assert len(asked) == 1
    assert KEY.encode() not in asked[0]
    assert asked[0].startswith(b"CONNECT api.example.com:443 ")
    assert b"proxy-authorization: basic " in asked[0].lower()
    assert SECRET not in str(caught.value)
