"""A context for processes that start with all modules imported, so that tests can kill and restart them quickly."""

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "tests.bulk.bulk_child", "tests.client.client_child", "tests.service.sandbox_child", "tests.webhooks.load",
        # The sandbox and the servers load these modules on first use.
        "Crypto.Hash.keccak", "Crypto.PublicKey.ECC", "Crypto.Signature.eddsa", "uvicorn.protocols.http.httptools_impl", "workbench.base.system.http_server",
        "workbench.service.interface.openapi", "workbench.sandbox.server",
    ]
)  # fmt: skip
