import { Anchor, type SkeletonProps } from "@mantine/core";
import { IconMoodEmpty } from "@tabler/icons-react";
import { Link, type LinkProps } from "@tanstack/react-router";
import { faultOf } from "@/app/errors";
import { EmptyState } from "./EmptyState";
import { Loading } from "./Loading";
import { Problem } from "./Problem";

type Asked = { isError: boolean; error: unknown; refetch: () => unknown };
/** What is said where the address names nothing, and where all there are can be found. */
type Missing = { title: string; to: LinkProps["to"]; all: string };

/** Where the answer will stand: it is on its way, or this is why it did not come. Nobody waits for one that failed. */
export function NotYet({ of, missing, ...shape }: { of: Asked; missing?: Missing } & SkeletonProps) {
  if (!of.isError) return <Loading {...shape} />;
  // An id that is none at all is mistyped, as one that nothing has.
  if (missing && ["not_found", "invalid_request"].includes(faultOf(of.error).code)) {
    return <EmptyState icon={IconMoodEmpty} title={missing.title}><Anchor component={Link} to={missing.to}>{missing.all}</Anchor></EmptyState>;
  }
  return <Problem problem={of.error} again={() => void of.refetch()} />;
}
