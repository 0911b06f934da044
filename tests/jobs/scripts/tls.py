"""Use a private authority and a client certificate: the service answers with both, and nothing is sent without either.

Needs: server + trustme.
"""

import http.server
import ssl
import threading

import trustme

import workbench as wb

authority = trustme.CA()
authority.cert_pem.write_to_path("authority.pem")
authority.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path("server.pem")
authority.issue_cert("client.example.com").private_key_and_cert_chain_pem.write_to_path("client.pem")

sandbox = wb.Sandbox()
with sandbox.serve(certfile="server.pem") as url:
    assert url.startswith("https://")
    with wb.connect(url, ca_file="authority.pem") as api:
        assert len(api.list_contracts()) == 3
    before = len(sandbox.requests())
    for unknown in ({}, {"ca_file": "client.pem"}):
        try:
            wb.Client(base_url=f"{url}/v1", api_key=sandbox.full_key, http={"retries": 0}, **unknown).list_contracts()
        except (wb.NotSent, wb.errors.NoAnswer) as error:
            assert sandbox.full_key not in str(error)
        else:
            raise AssertionError("an authority that nobody named was trusted")
    assert len(sandbox.requests()) == before


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # errors of connections without a client certificate are ignored
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem")
context.load_verify_locations("authority.pem")
context.verify_mode = ssl.CERT_REQUIRED
server = Server(("127.0.0.1", 0), Service)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
base_url = f"https://127.0.0.1:{server.server_address[1]}"
options = {"base_url": base_url, "api_key": "a-key-0123456789", "ca_file": "authority.pem"}
assert wb.Client(**options, http={"client_cert_file": "client.pem"}).list_contracts() == []
try:
    wb.Client(**options, http={"retries": 0}).list_contracts()
except (wb.NotSent, wb.errors.NoAnswer):
    pass
else:
    raise AssertionError("a call without a certificate was answered")
try:
    wb.Client(**options, http={"client_cert_file": "missing.pem"})
except wb.errors.UsageError as error:
    assert "client_cert_file" in str(error)
else:
    raise AssertionError("a missing certificate")
