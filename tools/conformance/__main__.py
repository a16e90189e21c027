"""Print what differs, what is not supported, and how much was compared."""

import asyncio
import sys

from tools.conformance.series import run_all


def main() -> int:
    found = asyncio.run(run_all(only=sys.argv[1:]))
    requests = sum(each.requests_compared for each in found.values())
    messages = sum(each.messages_compared for each in found.values())
    differences = [f"{name}: {line}" for name, each in found.items() for line in each.differences]
    skipped = {key: reason for each in found.values() for key, reason in each.skipped.items()}
    print(f"{requests} requests and {messages} messages of {len(found)} recordings compared.")
    print(f"\nNot supported: {len(skipped)}")
    for key, reason in skipped.items():
        print(f"  {key}: {reason}")
    print(f"\nDifferences: {len(differences)}")
    for line in differences:
        print(f"  {line}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
