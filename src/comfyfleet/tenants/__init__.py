"""Tenants, users and their credentials. Central: these rows say in which pool everything else lives."""

from comfyfleet.tenants.change import disable_user, enable_user, limit_priority, limit_storage, move_tenant
from comfyfleet.tenants.create import create_tenant, create_user, normal_email
from comfyfleet.tenants.letters import Postbox
from comfyfleet.tenants.model import ApiKey, Caller, Home, OneTimeLink, Role, Scope, Tenant, User
from comfyfleet.tenants.read import (
    find_tenant,
    find_user,
    get_tenant,
    get_user,
    get_user_of,
    list_tenants,
    list_users,
    slugs_of,
    suspended_of,
    weights_of,
)

__all__ = [
    "ApiKey",
    "Caller",
    "Home",
    "OneTimeLink",
    "Postbox",
    "Role",
    "Scope",
    "Tenant",
    "User",
    "create_tenant",
    "create_user",
    "disable_user",
    "enable_user",
    "find_tenant",
    "find_user",
    "get_tenant",
    "get_user",
    "get_user_of",
    "limit_priority",
    "limit_storage",
    "list_tenants",
    "list_users",
    "move_tenant",
    "normal_email",
    "slugs_of",
    "suspended_of",
    "weights_of",
]
