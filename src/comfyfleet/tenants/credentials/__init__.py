"""How people and programs prove who they are: passwords, keys, web sessions, one-time links."""

from comfyfleet.tenants.credentials.keys import (
    NewKey,
    RevokedKey,
    authenticate_key,
    count_made_with,
    create_key,
    get_key,
    list_keys,
    revoke_all_keys,
    revoke_key,
    touch_key,
)
from comfyfleet.tenants.credentials.links import LinkSigner, make_link, replace_password, require_live_link, spend_link
from comfyfleet.tenants.credentials.passwords import check_password, hash_password
from comfyfleet.tenants.credentials.sessions import (
    Login,
    authenticate_session,
    end_session,
    find_login,
    list_login_addresses,
    open_session,
    still_lives,
)

__all__ = [
    "LinkSigner",
    "Login",
    "NewKey",
    "RevokedKey",
    "authenticate_key",
    "authenticate_session",
    "check_password",
    "count_made_with",
    "create_key",
    "end_session",
    "find_login",
    "get_key",
    "hash_password",
    "list_keys",
    "list_login_addresses",
    "make_link",
    "open_session",
    "replace_password",
    "require_live_link",
    "revoke_all_keys",
    "revoke_key",
    "spend_link",
    "still_lives",
    "touch_key",
]
