import { Box, Skeleton, type SkeletonProps } from "@mantine/core";

/** Where something is on its way: a grey shape of its size, or several. Whoever cannot see it is told. */
export function Loading({ what = "Loading", children, ...shape }: SkeletonProps & { what?: string }) {
  const told = { role: "status", "aria-busy": true, "aria-label": what } as const;
  return children ? <Box {...told} {...shape}>{children}</Box> : <Skeleton {...told} {...shape} />;
}
