"""Who may ask the laboratory, and for what."""

import http.client
import json
import os
import stat

import pytest

from accion.lab import serve
from accion.lab.room import Room
from accion.lab.server import doorway

CHANGING = """'first'
import accion as ac

system = ac.System(lambda t, q, v, params: v @ v / 2, ac.Euclidean(1))
h, start = 0.1, {"q0": [0.0], "v0": [1.0]}
"""


@pytest.fixture(scope="module")
def lab():
    one = serve()
    yield one
    one.close()


def ask(lab, what="", method="GET", token=None, body=None, **headers):
    """(status, text, headers) of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=60)
    token = lab.token if token is None else token
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    connection.request(method, f"/{token}/{what}", body=body, headers=named)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.getheaders())
    connection.close()
    return found


def test_it_listens_on_this_machine_alone(lab):
    assert lab.server.server_address[0] == "127.0.0.1"
    assert lab.address == f"http://127.0.0.1:{lab.port}/{lab.token}/"
    assert len(lab.token) >= 32


def test_who_knows_the_address_is_answered(lab):
    status, text, headers = ask(lab)
    assert status == 200
    assert "accion lab" in text
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    names = {each["name"] for each in json.loads(ask(lab, "systems")[1])}
    assert {"kepler", "cart_pole"} <= names
    assert ask(lab, Origin=f"http://127.0.0.1:{lab.port}")[0] == 200


@pytest.mark.parametrize(
    ("why", "headers"),
    [
        ("another name that leads here", {"Host": "evil.example"}),
        ("that name with our port", {"Host": "evil.example:PORT"}),
        ("another port", {"Host": "127.0.0.1:1"}),
        ("another page", {"Origin": "http://evil.example"}),
        ("a page without origin", {"Origin": "null"}),
        ("another page's script element", {"Sec_Fetch_Site": "cross-site"}),
        ("a page of another port", {"Sec_Fetch_Site": "same-site"}),
    ],
)
def test_who_comes_from_elsewhere_is_refused_even_with_the_token(lab, why, headers):
    headers = {key: value.replace("PORT", str(lab.port)) for key, value in headers.items()}
    for what in ("", "systems", "model.js?name=kepler"):
        status, text, _ = ask(lab, what, **headers)
        assert status == 403, why
        assert lab.token not in text


def test_who_lacks_the_token_is_refused(lab):
    for token in ("", "x", lab.token[:-1], lab.token + "x"):
        assert ask(lab, token=token)[0] == 403
    assert ask(lab, "systems", token="..")[0] == 403


def test_names_are_looked_up_and_nothing_is_run(lab, tmp_path):
    trap = tmp_path / "trap.py"
    mark = tmp_path / "mark"
    trap.write_text(f"open({str(mark)!r}, 'w')")
    for name in (str(trap), "trap.py", "../../etc/passwd", "kepler.py", "os", ""):
        for what in ("about", "model.js", "page"):
            status, text, headers = ask(lab, f"{what}?name={name}")
            assert status == 400
            assert "there is no system" in text
            assert headers["Content-Type"].startswith("text/plain")
    for method in ("__import__('os')", "Adaptive(print)", "Galerkin(10**9)"):
        status, text, _ = ask(lab, f"model.js?name=kepler&method={method}")
        assert status == 400
        assert "is not stepped by" in text
    assert not mark.exists()
    for what in ("../app.js", "parts/app.js", "app.py", "server.py", "three.LICENSE"):
        assert ask(lab, what)[0] == 404


def test_nothing_can_be_sent(lab):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(lab, method=method, body="x" if method == "POST" else None)[0] == 501


def test_models_and_what_is_said_of_them(lab):
    status, text, headers = ask(lab, "model.js?name=kepler&method=Trapezoid")
    assert status == 200
    assert headers["Content-Type"].startswith("text/javascript")
    assert text.startswith("export default ")
    about = json.loads(ask(lab, "about?name=kepler")[1])
    assert {"Midpoint", "Trapezoid"} <= set(about["methods"])
    assert about["compared"]
    assert json.loads(ask(lab, "about?name=block_move")[1])["methods"] == ["Midpoint"]
    assert "EnergyEntropyConsistent" not in about["methods"]  # which is of thermal systems
    assert "<math" in about["equations"]


def test_the_door_is_for_the_own_user(lab):
    with doorway(lab.address) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert lab.address in path.read_text()
    assert not path.exists()


def test_a_file_that_was_changed_is_run_again(tmp_path):
    path = tmp_path / "changing_system.py"
    path.write_text(CHANGING)
    room = Room([str(path)])
    assert room.about(path.name)["title"] == "first"
    first = room.entry(path.name)
    assert room.entry(path.name).system is first.system  # it is run once
    path.write_text(path.read_text().replace("'first'", "'the second'"))
    os.utime(path, ns=(1, room.seen[0] + 10**10))
    assert room.about(path.name)["title"] == "the second"
    assert "export default" in room.module(path.name, "Midpoint")
