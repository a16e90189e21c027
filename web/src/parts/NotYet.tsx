import type { SkeletonProps } from "@mantine/core";
import { Loading } from "./Loading";
import { Problem } from "./Problem";

type Asked = { isError: boolean; error: unknown; refetch: () => unknown };

/** Where the answer will stand: it is on its way, or this is why it did not come. Nobody waits for one that failed. */
export function NotYet({ of, ...shape }: { of: Asked } & SkeletonProps) {
  return of.isError ? <Problem problem={of.error} again={() => void of.refetch()} /> : <Loading {...shape} />;
}
