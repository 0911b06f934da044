"""Seeded world: tenants of each kind, and the card program of the first tenant, all derived from the seed."""

import os
from collections.abc import Mapping
from functools import lru_cache

from workbench.sandbox import rewards
from workbench.sandbox.context import NEVER, Seeds
from workbench.sandbox.program_members import Users, add_listed
from workbench.sandbox.store import Members, Store
from workbench.sandbox.tenants import KEYS, PRIMARY, TENANTS, TenantBuilder, add_key, tenant_id


def new_world() -> str:
    """Return a random world id, which distinguishes the data of this world from the data of other worlds."""
    return os.urandom(6).hex()


def world(settings: Members, program: Members | None) -> Store:
    """Return the contents of a sandbox's world.

    Args:
        settings: Arguments of the world: `seed`, and `start`, the time of its clock in milliseconds since 1970.
        program: Card program of the first tenant, as `programs.read_world` returns it.
    """
    seeds, store = Seeds.of(settings), Store()
    for kind, values in _base(seeds, settings["start"]).items():
        store.fill(kind, values)
    if program is not None:
        tenant = tenant_id(seeds, PRIMARY)
        store.put("meta", "program", program)
        store.put("meta", "categories", rewards.categories_of(program))
        Users(store, seeds, tenant, settings["start"], program).live()
        for member in program.get("users", ()):
            add_listed(store, seeds, tenant, settings["start"], member)
    return store


@lru_cache(maxsize=8)
def _base(seeds: Seeds, start: int) -> Mapping[str, Members]:
    """Return the records that all worlds have. They are cached by seed, because deriving keys takes milliseconds."""
    store = Store()
    store.put("meta", "clock", start)
    store.put("meta", "next_due", NEVER)
    for name, (tenant, roles) in KEYS.items():
        add_key(store, seeds, name, tenant_id(seeds, tenant), roles)
    for name, kind in TENANTS.items():
        TenantBuilder(store, seeds, name, kind, start).populate()
    return store.copy()
