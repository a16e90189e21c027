/** Is it healthy, is it full, who waits. */
import { Alert, Anchor, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconServerOff } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { adminAcknowledgeAuditAlarm, adminGetOverview, type OverviewView } from "@/client";
import { useLive } from "@/app/live";
import { queries } from "@/app/queries";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { FiringAlerts } from "../notifications/FiringAlerts";
import { Panel } from "../parts/Panel";
import { numberText } from "../parts/numbers";
import { keyOf, then, useRead } from "../parts/reading";
import { Headlines } from "./Headlines";
import { Throughput } from "./Throughput";
import { WaitingTenants, WaitingWorkflows } from "./Waiting";
import { WorkerTiles } from "./WorkerTiles";

export function OverviewPage() {
  const overview = useRead(["overview"], () => adminGetOverview({ throwOnError: true }));
  useLive<OverviewView>("overview", (told) => queries.setQueryData(keyOf("overview"), told));
  return (
    <>
      <PageHead title="Overview" />
      {overview.data ? <Overview found={overview.data} /> : overview.isError ? (
        <Problem problem={overview.error} again={() => void overview.refetch()} />
      ) : <Waiting />}
    </>
  );
}

function Overview({ found }: { found: OverviewView }) {
  const empty = Object.keys(found.worker_counts).length === 0;
  return (
    <Stack gap="lg">
      <FiringAlerts alerts={found.firing_alerts} />
      <Headlines found={found} />
      {found.audit_alarms.map((alarm) => (
        <Alert key={alarm.id} color="red" icon={<IconAlertTriangle size={18} />} title="An audit chain does not hold: credits are stopped">
          <Stack gap="xs" align="start">
            <Text size="sm">Chain <span className="mono">{alarm.chain}</span> of {alarm.pool || "the central database"}, row {alarm.seq}: {alarm.problem}. Jobs go on. <code className="mono">comfyfleet audit-log verify</code> shows more.</Text>
            <ConfirmAction label="Acknowledge" size="compact-sm" question="Acknowledge this alarm?"
              text="Credits go on when no other alarm is open, and the chain is watched from where it stands now."
              act={then(() => adminAcknowledgeAuditAlarm({ path: { alarm_id: alarm.id }, throwOnError: true }))} done="The alarm is acknowledged." />
          </Stack>
        </Alert>
      ))}
      {found.parked_settlements > 0 && (
        <Alert color="red" variant="light" icon={<IconAlertTriangle size={18} />}>
          {numberText(found.parked_settlements)} settlements could not be applied and were set aside. Run <code className="mono">comfyfleet settlements list</code> to see why.
        </Alert>
      )}
      {empty && (
        <Alert color="orange" variant="light" icon={<IconServerOff size={18} />}>
          <Text size="sm">No worker has registered yet: jobs wait. <Anchor inherit renderRoot={(props) => <Link to="/console/add-worker" {...props} />}>Add a worker</Anchor></Text>
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Panel title="Queue by workflow"><WaitingWorkflows rows={found.workflows} /></Panel>
        <Panel title="Who waits"><WaitingTenants rows={found.tenants} /></Panel>
      </SimpleGrid>
      <Throughput hour={found.last_hour} day={found.last_day} />
      <Panel title="Workers" text="How much of the last hour each had something to run.">
        <WorkerTiles workers={found.workers} />
      </Panel>
    </Stack>
  );
}

function Waiting() {
  return (
    <Loading>
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }}>{[0, 1, 2, 3].map((each) => <Skeleton key={each} h={132} />)}</SimpleGrid>
        <SimpleGrid cols={{ base: 1, lg: 2 }}><Skeleton h={200} /><Skeleton h={200} /></SimpleGrid>
      </Stack>
    </Loading>
  );
}
