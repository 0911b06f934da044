"""A private authority, and a hook that adds a header.

Needs: server.
"""

import workbench as wb

seen = []
with wb.Sandbox().serve() as url:
    with wb.connect(
        url, http={"on_request": lambda request: seen.append(request.url.path), "connect_timeout": 5}
    ) as api:
        api.list_contracts()
assert seen == ["/v1/issuing/tenants/contracts"]
try:
    wb.Client(
        base_url="https://api.example.com/v1", api_key="a-key-0123456789", http={"client_cert_file": "missing.pem"}
    )
except wb.errors.UsageError as error:
    assert "client_cert_file" in str(error)
else:
    raise AssertionError("a missing certificate")
