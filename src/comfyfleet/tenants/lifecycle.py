"""What may happen to tenants and users."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class TenantStatus(StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"


class TenantEvent(StrEnum):
    SUSPEND = "suspend"
    RESUME = "resume"


TENANT = Lifecycle(
    "tenant",
    initial=TenantStatus.ACTIVE,
    moves={
        (TenantStatus.ACTIVE, TenantEvent.SUSPEND): TenantStatus.SUSPENDED,
        (TenantStatus.SUSPENDED, TenantEvent.RESUME): TenantStatus.ACTIVE,
    },
)


class UserStatus(StrEnum):
    INVITED = "invited"
    ACTIVE = "active"
    DISABLED = "disabled"


class UserEvent(StrEnum):
    ACCEPT = "accept"
    DISABLE = "disable"
    ENABLE = "enable"
    REINVITE = "reinvite"


USER = Lifecycle(
    "user",
    initial=UserStatus.INVITED,
    moves={
        (UserStatus.INVITED, UserEvent.ACCEPT): UserStatus.ACTIVE,
        (UserStatus.INVITED, UserEvent.DISABLE): UserStatus.DISABLED,
        (UserStatus.ACTIVE, UserEvent.DISABLE): UserStatus.DISABLED,
        (UserStatus.DISABLED, UserEvent.ENABLE): UserStatus.ACTIVE,
        # Let in again without ever having chosen a password.
        (UserStatus.DISABLED, UserEvent.REINVITE): UserStatus.INVITED,
    },
)
