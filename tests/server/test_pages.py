"""The pages by plain HTTP: what each may be asked, by whom, and what nobody can put into them."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from fractions import Fraction
from html import unescape
from http.client import HTTPException
from pathlib import Path

import pytest

from dpdb.policy.budget import Budget
from dpdb.policy.catalog import Policy
from dpdb.policy.reading.reader import read_policy
from dpdb.server.http import guard
from dpdb.server.http.pages.help import PAGES
from dpdb.server.http.pages.html import table_view
from dpdb.session.connect import policy_of
from tests.server.served import Known, Response, Served, hidden
from tests.support.command_line import PEOPLE

COUNT = "SELECT COUNT(*) FROM people"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def policy() -> Policy:
    return replace(policy_of(PEOPLE), budget=Budget(Fraction(100), Fraction(0), 1000))


@pytest.fixture(scope="module")
def served(policy: Policy) -> Iterator[Served]:
    with Served(policy, passing=True) as server:
        yield server


@pytest.fixture(scope="module")
def known(policy: Policy) -> Iterator[Served]:
    with Served(policy, Known({"alice": "hunter2 hunter2", "bob": "swordfish again"})) as server:
        yield server


def opened(server: Served) -> tuple[Response, str, str]:
    """The first page, its cookie, and the token of its forms."""
    page = server.get("/")
    return page, page.cookie, hidden(page.text, "csrf")


def login(server: Served, name: str, password: str) -> str:
    response = server.post("/login", {"name": name, "password": password})
    assert response.status == 303
    return response.cookie


def asked(server: Served, statement: str, do: str = "run", **fields: str) -> Response:
    page, cookie, csrf = opened(server)
    given = {"csrf": csrf, "form": hidden(page.text, "form"), "statement": statement, "do": do}
    return server.post("/ask", given | fields, cookie)


def test_every_response_has_the_headers(served: Served) -> None:
    for path in ("/", "/login", "/static/page.css", "/nothing", "/api", "/healthz"):
        response = served.get(path)
        assert {name: response.headers.get(name) for name in HEADERS} == HEADERS
    refused = served.ask("GET", "/", headers={"Host": "evil.example"})
    assert {name: refused.headers.get(name) for name in HEADERS} == HEADERS
    with socket.create_connection(("127.0.0.1", served.port)) as raw:
        raw.sendall(b"GET / nonsense\r\n\r\n")
        malformed = raw.makefile("rb").read().decode()
    assert malformed.startswith("HTTP/1.1 400")
    assert all(f"{name}: {value}\r\n" in malformed for name, value in HEADERS.items())


def test_another_name_of_the_host_is_refused(served: Served) -> None:
    """A page of evil.example, whose name is made to point here, would be of the same origin."""
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", ""):
        assert served.ask("GET", "/", headers={"Host": host}).status == 403
    assert served.ask("GET", "/", headers={"Host": f"LOCALHOST:{served.port}"}).status == 200


def test_a_form_of_another_site_is_refused(served: Served) -> None:
    _page, cookie, csrf = opened(served)
    form = {"csrf": csrf, "form": "a" * 16, "statement": f"{COUNT} WHERE age > 31", "do": "run"}
    before = len(served.desk.executed())
    for site in ("cross-site", "same-site", "none"):
        assert served.post("/ask", form, cookie, Sec_Fetch_Site=site).status == 403
    for origin in ("null", "https://evil.example", f"https://127.0.0.1:{served.port}", ""):
        sent = served.post("/ask", form, cookie, Sec_Fetch_Site="", Origin=origin)
        assert sent.status == 403
    for wrong in ("", "x" * len(csrf)):
        assert served.post("/ask", form | {"csrf": wrong}, cookie).status == 403
    assert served.post("/ask", form).status == 403
    assert len(served.desk.executed()) == before
    own = served.post("/ask", form, cookie, Sec_Fetch_Site="", Origin=served.origin)
    assert own.status == 200, own.text
    assert len(served.desk.executed()) == before + 1


def test_the_same_form_twice_is_one_answer(served: Served) -> None:
    page, cookie, csrf = opened(served)
    statement = f"{COUNT} WHERE age > 32"
    form = {"csrf": csrf, "form": hidden(page.text, "form"), "statement": statement, "do": "run"}
    first, second = (served.post("/ask", form, cookie) for _ in range(2))
    assert served.desk.executed().count(statement) == 1
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", each.text) for each in (first, second)]
    assert len(cells[0]) == 1
    assert cells[0] == cells[1]
    # Without the script a browser goes back to the same form, whose statement is then another.
    changed = served.post("/ask", form | {"statement": f"{COUNT} WHERE age > 33"}, cookie)
    assert changed.status == 200
    assert served.desk.executed()[-1] == f"{COUNT} WHERE age > 33"


def test_price_and_explain_cost_nothing(served: Served) -> None:
    before = len(served.desk.executed())
    price = asked(served, "SELECT AVG(age) FROM people;", "price")
    assert "costs ε 0.1 ·" in price.text
    explained = asked(served, "-- a comment\nSELECT AVG(age) FROM people;", "explain")
    assert "<dt>AVG(age)</dt>" in explained.text
    assert "Laplace noise" in explained.text
    assert len(served.desk.executed()) == before
    # The script is sent the price alone.
    _page, cookie, csrf = opened(served)
    form = {"csrf": csrf, "statement": COUNT, "do": "price"}
    part = served.post("/ask", form, cookie, Dpdb_Part="1").text
    assert "costs ε 0.1" in part
    assert "<html" not in part


def test_a_refusal_marks_the_word(served: Served) -> None:
    response = asked(served, "SELECT AVG(incme) FROM people")
    assert response.status == 400
    assert "<mark>incme</mark>" in response.text
    assert "did you mean income?" in response.text


def test_the_csv_has_the_ends_of_intervals(served: Served) -> None:
    _page, cookie, csrf = opened(served)
    statement = "SELECT zip, COUNT(*) FROM people WHERE zip IN (10025, 11215) GROUP BY zip"
    given = served.post("/ask", {"csrf": csrf, "statement": statement, "do": "run"}, cookie)
    address = re.search(r'href="(/answer/[^"]+/csv)"', given.text)
    assert address is not None
    response = served.get(address[1], cookie)
    header, *rows = csv.reader(io.StringIO(response.text))
    assert header == ["zip", "COUNT(*)", "COUNT(*)_low", "COUNT(*)_high"]
    assert [row[0] for row in rows] == ["10025", "11215"]
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert all(int(low) <= int(value) <= int(high) for _, value, low, high in rows)


def test_nothing_typed_or_named_becomes_html(served: Served) -> None:
    evil = "<img src=x onerror=alert(1)>\"'</textarea><script>alert(1)</script>"
    for statement in (
        f'SELECT COUNT(*) AS "{evil.replace(chr(34), "")}" FROM people',
        f"SELECT '{evil.replace(chr(39), '')}' AS x, COUNT(*) FROM people",
        evil,
    ):
        for do in ("run", "price", "explain"):
            page = asked(served, statement, do).text
            assert "<img" not in page
            assert page.count("<script") == 1
            assert unescape(page).count(evil[:20]) >= 1
    inserted = asked(served, "SELECT", insert=evil).text
    assert "<img" not in inserted


def test_the_budget_of_a_process_is_said_in_red(served: Served, known: Served) -> None:
    assert '<p class="notice"><strong>This budget ends with the server.' in served.get("/").text
    cookie = login(known, "alice", "hunter2 hunter2")
    assert "ends with the server" not in known.get("/", cookie).text


def test_login_and_logout(known: Served) -> None:
    assert known.get("/").headers["location"] == "/login"
    assert known.post("/ask", {"statement": COUNT, "do": "run"}).headers["location"] == "/login"
    form = known.post("/login", {"name": "alice", "password": "hunter2 hunter2"})
    page = known.get("/", form.cookie)
    assert "alice" in page.text
    again = known.post("/login", {"name": "alice", "password": "hunter2 hunter2"}, form.cookie)
    assert again.cookie != form.cookie  # a session is new at login, and the old one ends
    assert known.get("/", form.cookie).status == 303
    csrf = hidden(known.get("/", again.cookie).text, "csrf")
    assert known.post("/logout", {"csrf": "x"}, again.cookie).status == 303
    assert known.get("/", again.cookie).status == 200
    known.post("/logout", {"csrf": csrf}, again.cookie)
    assert known.get("/", again.cookie).status == 303


def test_nobody_sees_the_answers_of_another(known: Served) -> None:
    alice, bob = login(known, "alice", "hunter2 hunter2"), login(known, "bob", "swordfish again")
    csrf = hidden(known.get("/", alice).text, "csrf")
    fields = {"csrf": csrf, "statement": f"{COUNT} WHERE age > 40", "do": "run"}
    given = known.post("/ask", fields, alice)
    address = re.search(r'href="(/answer/[^"]+/csv)"', given.text)
    assert address is not None
    for path in (address[1], address[1].removesuffix("/csv")):
        assert known.get(path, alice).status == 200
        assert known.get(path, bob).status == 404
    assert "age &gt; 40" in known.get("/", alice).text
    assert "age &gt; 40" not in known.get("/", bob).text
    assert known.post("/ask", fields, bob).status == 403  # with the form of another


def test_too_much_is_refused(known: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = login(known, "alice", "hunter2 hunter2")
    csrf = hidden(known.get("/", cookie).text, "csrf")
    fields = {"csrf": csrf, "do": "price", "statement": "x" * (guard.MOST_BODY_OF_STRANGERS)}
    assert known.post("/ask", fields, cookie).status == 200
    assert known.post("/ask", fields).status == 413
    assert known.post("/login", {"name": "x" * guard.MOST_BODY_OF_STRANGERS}).status == 413
    assert known.post("/ask", fields | {"x": "x" * guard.MOST_BODY}, cookie).status == 413
    with socket.create_connection(("127.0.0.1", known.port), timeout=20) as endless:
        endless.sendall(b"GET / HTTP/1.1\r\nx: ")
        with pytest.raises(ConnectionError):
            endlessly(endless)
    monkeypatch.setattr(guard, "ARRIVAL", 0.2)
    with socket.create_connection(("127.0.0.1", known.port), timeout=20) as slow:
        host = f"Host: 127.0.0.1:{known.port}\r\nSec-Fetch-Site: same-origin"
        slow.sendall(f"POST /login HTTP/1.1\r\n{host}\r\nContent-Length: 9\r\n\r\n123".encode())
        assert is_closed(slow)


def test_an_address_has_so_many_connections(served: Served) -> None:
    with ExitStack() as opened:
        held = [
            opened.enter_context(socket.create_connection(("127.0.0.1", served.port), 20))
            for _ in range(guard.MOST_OF_ADDRESS)
        ]
        held[-1].sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
        assert held[-1].recv(12) == b"HTTP/1.1 200"
        with socket.create_connection(("127.0.0.1", served.port), 20) as crowded:
            assert is_closed(crowded)
    for _ in range(100):  # until the server has noticed that they have left
        with suppress(OSError, HTTPException):
            assert served.get("/healthz").status == 200
            return
        time.sleep(0.05)
    pytest.fail("the places of connections that have ended are not given back")


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_an_answer_that_nobody_takes_is_dropped(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "ARRIVAL", 0.2)
    request = f"GET /static/page.css HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    with socket.socket() as idle:
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.connect(("127.0.0.1", served.port))
        idle.sendall(request * 2000)
        for connections in (1, 0):
            ends = time.monotonic() + 20
            while served.connections != connections:
                assert time.monotonic() < ends
                time.sleep(0.001)


def test_a_handshake_has_a_place_and_arrives_in_time(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever begins many keeps all others out."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost"
    files = ["-keyout", "key.pem", "-out", "chain.pem"]
    subprocess.run(
        ["openssl", *words.split(), *files], cwd=tmp_path, check=True, capture_output=True
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "chain.pem", tmp_path / "key.pem")
    trusting = ssl.create_default_context(cafile=tmp_path / "chain.pem")
    monkeypatch.setattr(guard, "ARRIVAL", 1.0)
    monkeypatch.setattr(guard, "MOST_OF_ADDRESS", 3)
    with Served(policy, tls=tls) as server, ExitStack() as held:
        began = time.monotonic()
        for _ in range(4):
            last = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            held.enter_context(last)
        assert last.recv(1) == b""
        while True:
            with (
                suppress(ConnectionError, ssl.SSLError),
                socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain,
                trusting.wrap_socket(plain, server_hostname="localhost") as own,
            ):
                own.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
                assert own.recv(15) == b"HTTP/1.1 200 OK"
                break
            assert time.monotonic() < began + 20


def endlessly(connection: socket.socket) -> None:
    """Send a header that does not end."""
    for _ in range(100):
        connection.sendall(b"x" * guard.MOST_HEAD)
        time.sleep(0.01)


def test_an_earlier_answer_is_shown_beside_what_is_left_now(policy: Policy) -> None:
    with Served(policy) as server:
        page, cookie, csrf = opened(server)
        for age in (41, 42):
            form = {"csrf": csrf, "statement": f"{COUNT} WHERE age > {age}", "do": "run"}
            page = server.post("/ask", form, cookie)
        first = re.findall(r'href="(/answer/[^"/]+)"', page.text)[-1]
        shown = server.get(first, cookie).text
        assert "age &gt; 41</textarea>" in shown
        assert "<strong>ε 99.8</strong> of 100 left · 998 queries left" in shown


def test_only_a_declared_proxy_says_whose_request_it_is(policy: Policy) -> None:
    """The last address is the proxy's word, those before it are the client's."""
    wrong = {"name": "alice", "password": "wrong"}
    claimed = {"X_Forwarded_For": "10.9.9.9, 10.1.1.1"}
    for proxy, address in (
        ("127.0.0.1", "10.1.1.1"),
        (None, "127.0.0.1"),
        ("10.0.0.9", "127.0.0.1"),
    ):
        with Served(policy, Known({"alice": "hunter2 hunter2"}), proxy=proxy) as server:
            server.post("/login", wrong, **claimed)
            assert json.loads(server.log.getvalue())["address"] == address
            # A proxy has TLS, so that the cookie is sent by TLS alone, and set by nobody else.
            name, ends = (
                (f"dpdb{server.port}", "") if proxy is None else ("__Host-dpdb", "; Secure")
            )
            given = server.post("/login", wrong | {"password": "hunter2 hunter2"})
            cookie = rf"{name}=[\w-]{{43}}; HttpOnly; Path=/; SameSite=strict{ends}"
            assert re.fullmatch(cookie, given.headers["set-cookie"])


def test_the_manual_is_a_link_away(served: Served) -> None:
    noisy = asked(served, "SELECT zip, COUNT(*) FROM people WHERE age = 18 GROUP BY zip").text
    assert '<a href="/help?topic=less-noise">.help less-noise</a>' in noisy
    page = served.get("/help?topic=less-noise").text
    assert "<h2>less-noise: How do I make ± smaller?</h2>" in page
    for name in PAGES:
        text = served.get(f"/help?topic={name}").text
        assert "style=" not in text
        for link in re.findall(r'href="([^"]*)"', text):
            assert link == "/" or link.startswith(("/help?topic=", "/static/", "https://"))
    unknown = served.get("/help?topic=%3Cb%3Ezzzzqqq")
    assert unknown.status == 404
    assert "no help on &lt;b&gt;zzzzqqq" in unknown.text


def test_busy_is_told(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _page, cookie, csrf = opened(served)
    monkeypatch.setattr(served.desk, "busy", True)
    form = {"csrf": csrf, "statement": f"{COUNT} WHERE age > 50", "do": "run"}
    assert served.post("/ask", form, cookie).status == 429


def test_every_refused_login_is_told_alike(known: Served) -> None:
    """The last test here: from then on this address has to wait."""
    pages = {
        known.post("/login", {"name": name, "password": word}).text
        for name, word in (("alice", "wrong"), ("nobody", "wrong"), ("<b>", ""), ("", ""))
    }
    assert len(pages) == 1
    assert known.post("/login", {"name": "x", "password": "y"}).status == 403
    stranger = {"name": "alice", "password": "hunter2 hunter2"}
    assert known.post("/login", stranger, Sec_Fetch_Site="cross-site").status == 403


def test_a_table_says_whose_its_rows_are() -> None:
    policy = read_policy(PEOPLE.parent / "shop" / "suppliers.toml")
    about = {each.name: table_view(each).table.about for each in policy.tables}
    assert about["suppliers"] == "a person is a supplier"
    assert about["deliveries"] == "a row is about a customer and a supplier"
    assert about["regions"] == "public"
