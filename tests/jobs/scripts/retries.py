"""Set how often reads are retried.

Needs: base.
"""

import workbench as wb

sandbox = wb.Sandbox()
for retries, tries in ((2, 3), (0, 1)):
    with wb.Client(
        base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport(), http={"retries": retries}
    ) as api:
        sandbox.add_fault(kind="lost", of="list_contracts", times=5)
        before = len(sandbox.requests())
        try:
            api.list_contracts()
        except wb.errors.NoAnswer:
            assert len(sandbox.requests()) - before == tries
        else:
            raise AssertionError("no fault")
        sandbox.clear_faults()
