"""Read the OpenAPI document, the page and the health of a served sandbox.

Needs: server.
"""

import httpx

import workbench as wb

with wb.Sandbox().serve() as url:
    document = httpx.get(f"{url}/openapi.json").json()
    assert len([row for path in document["paths"].values() for row in path]) >= 12
    assert "Event" in document["components"]["schemas"]
    assert httpx.get(f"{url}/docs/").status_code == 200
    assert httpx.get(f"{url}/_sandbox/health").status_code == 200
    refused = httpx.delete(f"{url}/v1/issuing/tenants/contracts")
    assert refused.status_code == 405 and "Served" in refused.text
