import { IconShieldCheck } from "@tabler/icons-react";
import { adminGetBlocks } from "@/client";
import { useLive } from "@/app/live";
import { EmptyState } from "@/parts/EmptyState";
import { PageHead } from "@/parts/PageHead";
import { moreOf } from "@/parts/Listing";
import { refresh, usePages } from "../parts/reading";
import { BlockList } from "./BlockList";

export function BlocksPage() {
  const found = usePages(["blocks"], async (cursor) => {
    const { data } = await adminGetBlocks({ query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.blocks, next: data.next_cursor };
  });
  useLive("block", () => void refresh());
  return (
    <>
      <PageHead title="Blocks" text="After a failure a worker leaves a workflow alone for a while; then one job goes through as a probe." />
      <BlockList rows={found.rows} problem={found.error} again={() => void found.refetch()} more={moreOf(found)}
        empty={<EmptyState icon={IconShieldCheck} title="No blocks" text="No worker keeps away from anything." />} />
    </>
  );
}
