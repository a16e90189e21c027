/** What every GPU does and did, over a day. */
import { Alert, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { adminGetTimeline, type TimelineView } from "@/client";
import { useConnection, useLive } from "@/app/live";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { keyOf } from "../parts/reading";
import { Blocks } from "./blocks";
import { Timeline } from "./Timeline";

const POLL_MS = 2_000;
// What is older than a day is let go of with the whole.
const RENEW_MS = 3_600_000;
const KEPT_MAX = 60;
// Two replicas do not look at quite the same moment.
const MARGIN_MS = 2_000;
// What the stream told lately, and perhaps while the whole was on its way. To merge a thing twice changes nothing.
const recent: TimelineView[] = [];

export function TimelinePage() {
  const live = useConnection() === "live";
  const first = useQuery({
    queryKey: keyOf("timeline"),
    queryFn: async () => {
      const told = (await adminGetTimeline({ throwOnError: true })).data;
      const blocks = new Blocks();
      const later = recent.filter((each) => each.at_ms > told.at_ms - MARGIN_MS);
      for (const each of [told, ...later]) blocks.merge(each);
      return { blocks, leftOut: told.left_out, aheadMs: told.at_ms - Date.now() };
    },
    structuralSharing: false,
    gcTime: 0,
    staleTime: Infinity,
    refetchInterval: live ? RENEW_MS : POLL_MS,
  });
  const [version, setVersion] = useState(0);
  useLive<TimelineView>("fleet", (told) => {
    if (recent.push(told) > KEPT_MAX) recent.shift();
    if (first.data?.blocks.merge(told)) setVersion((before) => before + 1);
  });
  return (
    <>
      <PageHead title="Timeline" text="One line a worker, one block an attempt, coloured by workflow. Gaps are idle time." />
      {first.data ? (
        <Stack gap="md">
          {first.data.leftOut && <Alert color="orange" variant="light">More than 50,000 attempts in this time: only the latest are shown.</Alert>}
          {first.data.blocks.lanes.length === 0 ? <Text className="quiet">No worker was there in the last 24 hours.</Text>
            : <Timeline blocks={first.data.blocks} version={version} aheadMs={first.data.aheadMs} />}
        </Stack>
      ) : <NotYet of={first} h={420} />}
    </>
  );
}
