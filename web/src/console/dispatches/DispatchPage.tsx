import { Accordion, Alert, Anchor, Group, Stack, Text } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { adminCancelDispatch, adminGetDispatch, adminGetRanGraph, adminGetResult, adminRetryDispatch, adminSetPriority, type ComfyfleetApiOperatorViewsAttemptView as AttemptView, type DispatchDetailView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { rangeProblem, type Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Copy } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { FormAction } from "../parts/Fields";
import { Listing, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { asSentence } from "@/parts/sentences";
import { secondsText } from "@/parts/times";
import { Panel } from "../parts/Panel";
import { endText } from "../parts/numbers";
import { then, useFresh, useRead } from "../parts/reading";

export function DispatchPage() {
  const { dispatchId = "" } = useParams({ strict: false });
  const found = useRead(["dispatch", dispatchId], () => adminGetDispatch({ path: { dispatch_id: dispatchId }, throwOnError: true }));
  useFresh("dispatch", dispatchId);
  return (
    <>
      <PageHead title={found.data?.dispatch.workflow ?? "Job"} text={<Group gap={4}><span className="mono">{dispatchId}</span><Copy value={dispatchId} label="Copy the id" /></Group>}>
        {found.data && <Actions found={found.data} />}
      </PageHead>
      {found.data ? <Dispatch found={found.data} /> : <NotYet of={found} missing={{ title: "There is no such job", to: "/console/dispatches", all: "See all jobs" }} h={320} />}
    </>
  );
}

function Actions({ found: { dispatch } }: { found: DispatchDetailView }) {
  const [priority, setPriority] = useState<Entered>(dispatch.priority);
  const wrong = rangeProblem(priority, { least: -100, most: 100, isWhole: true });
  const navigate = useNavigate();
  const named = { path: { dispatch_id: dispatch.id }, throwOnError: true } as const;
  const prioritise = (value: number) => adminSetPriority({ ...named, body: { priority: value } });
  const waits = dispatch.status === "queued" || dispatch.status === "delayed";
  const over = dispatch.finished_at !== null;
  const retry = async () => {
    const { data } = await adminRetryDispatch(named);
    await navigate({ to: "/console/dispatches/$dispatchId", params: { dispatchId: data.job_id } });
  };
  return (
    <>
      {waits && (
        <FormAction label="Priority" title="Another place in the queue" send="Set" disabled={priority === null || wrong !== null} act={() => prioritise(Number(priority))}
          onDone={() => tellDone(`Its priority is ${priority}.`, then(() => prioritise(dispatch.priority)))}>
          <NumberEntry label="Priority" description="Higher goes first; −100 to 100." value={priority} change={setPriority} error={wrong} min={-100} max={100} data-autofocus />
        </FormAction>
      )}
      {!over && (
        <ConfirmAction label="Cancel job" confirm="Cancel it" color="red" variant="light" question="Cancel this job?"
          text={waits ? "It is taken out of the queue, and its tokens are given back." : "Its worker is told to stop; it may finish first. If it is cancelled, its tokens are given back."}
          act={then(() => adminCancelDispatch(named))} done="It is being cancelled." />
      )}
      {over && (
        <ConfirmAction label="Retry" confirm="Make a new job" question="Run it once more?" text="A new job like this one is made for the same user, and its tokens are reserved anew." act={then(retry)} done="A new job is in the queue." />
      )}
    </>
  );
}

function Dispatch({ found: { dispatch, attempts, waits_because, lacks, trace_url } }: { found: DispatchDetailView }) {
  return (
    <Stack gap="lg">
      {waits_because && <Alert color="orange" variant="light" title="Why nobody takes it">{waits_because}{lacks && <Text size="sm" mt={4}>{asSentence(lacks)}</Text>}</Alert>}
      {dispatch.cancel_requested_at && !dispatch.finished_at && <Alert color="orange" variant="light">Somebody asked for its end; its worker is told with its next report or heartbeat.</Alert>}
      {dispatch.last_error && <Alert color={dispatch.status === "completed" ? "gray" : "red"} variant="light" title={dispatch.error_class ? endText(dispatch.error_class) : "Last error"}><span className="mono" style={{ whiteSpace: "pre-wrap" }}>{dispatch.last_error}</span></Alert>}
      <Panel title="What is known of it">
        <Facts facts={{
          State: <StatusBadge status={dispatch.status} />,
          Tenant: <Anchor inherit underline="hover" renderRoot={(props) => <Link to="/console/tenants/$tenantId" params={{ tenantId: dispatch.tenant_id }} {...props} />}>{dispatch.tenant ?? "one that is gone"}</Anchor>,
          Workflow: dispatch.workflow && <Anchor inherit underline="hover" renderRoot={(props) => <Link to="/console/workflows/$slug" params={{ slug: dispatch.workflow ?? "" }} {...props} />}>{dispatch.workflow}</Anchor>,
          Worker: dispatch.worker && <Anchor inherit underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: dispatch.worker ?? "" }} {...props} />}>{dispatch.worker}</Anchor>,
          Priority: dispatch.priority,
          Attempts: `${dispatch.attempts} of ${dispatch.max_attempts}`,
          "Given back": dispatch.releases || null,
          Queued: <Ago at={dispatch.queued_at} />,
          "Tried again": dispatch.run_at && <Ago at={dispatch.run_at} />,
          Ended: dispatch.finished_at && <Ago at={dispatch.finished_at} />,
          Took: dispatch.duration_seconds === null ? null : secondsText(dispatch.duration_seconds),
          Settled: dispatch.settled_at && <Ago at={dispatch.settled_at} />,
          Submitted: dispatch.service_submitted_at && <Ago at={dispatch.service_submitted_at} />,
          "Last health check": dispatch.last_service_check && <Ago at={dispatch.last_service_check} />,
          "Stage on its worker": dispatch.finished_at === null ? dispatch.service_status : null,
          "Prompt": dispatch.provider_job_id && <span className="mono">{dispatch.provider_job_id}</span>,
          Trace: trace_url ? <Anchor inherit underline="hover" href={trace_url} target="_blank" rel="noreferrer">Trace</Anchor> : dispatch.trace_id && <span className="mono">{dispatch.trace_id}</span>,
        }} />
      </Panel>
      <Panel title="Attempts"><Listing label="Attempts" columns={ATTEMPTS} rows={attempts} keyOf={(row) => String(row.epoch)} empty={<Text size="sm" className="quiet">No worker has had it yet.</Text>} /></Panel>
      <Payload dispatchId={dispatch.id} />
      {attempts.some((row) => row.has_result) && <Responses attempts={attempts.filter((row) => row.has_result)} />}
    </Stack>
  );
}

const ATTEMPTS: Column<AttemptView>[] = [
  { name: "Attempt", cell: (row) => `No. ${row.epoch}` },
  { name: "Worker", cell: (row) => row.worker === null ? "one that is gone" : <Anchor inherit underline="hover" renderRoot={(props) => <Link to="/console/workers/$workerId" params={{ workerId: row.worker ?? "" }} {...props} />}>{row.worker}</Anchor> },
  { name: "Leased", cell: (row) => <Ago at={row.granted_at} /> },
  { name: "Took", end: true, cell: (row) => (row.ended_at ? secondsText((Date.parse(row.ended_at) - Date.parse(row.granted_at)) / 1000) : "runs") },
  { name: "Ended", cell: (row) => (row.reason ? endText(row.reason) : "–") },
  { name: "Server's part", cell: (row) => (row.service_reason ? <span className="mono">{row.service_reason}</span> : "–") },
  { name: "Prompt", cell: (row) => (row.provider_job_id ? <span className="mono">{row.provider_job_id}</span> : "–") },
];

function Responses({ attempts }: { attempts: AttemptView[] }) {
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <Accordion variant="contained" value={opened} onChange={setOpened}>
      {attempts.map((row) => (
        <Accordion.Item key={row.epoch} value={String(row.epoch)}>
          <Accordion.Control>ComfyUI's response to attempt {row.epoch}</Accordion.Control>
          <Accordion.Panel>{opened === String(row.epoch) && <Response dispatchId={row.dispatch_id} epoch={row.epoch} />}</Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  );
}

function Response({ dispatchId, epoch }: { dispatchId: string; epoch: number }) {
  const found = useRead(["result", dispatchId, String(epoch)], () => adminGetResult({ path: { dispatch_id: dispatchId }, query: { epoch }, throwOnError: true }));
  if (!found.data) return <NotYet of={found} h={120} />;
  return <pre className="mono" tabIndex={0} role="region" aria-label={`Response to attempt ${epoch}`} style={{ margin: 0, maxHeight: 480, overflow: "auto", whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{JSON.stringify(found.data.result_metadata, null, 2)}</pre>;
}

function Payload({ dispatchId }: { dispatchId: string }) {
  const [opened, setOpened] = useState<string | null>(null);
  const found = useRead(["payload", dispatchId], () => adminGetRanGraph({ path: { dispatch_id: dispatchId }, throwOnError: true }), { enabled: opened !== null });
  const text = found.data ? JSON.stringify(found.data, null, 2) : "";
  return (
    <Accordion variant="contained" value={opened} onChange={setOpened}>
      <Accordion.Item value="payload">
        <Accordion.Control>Payload: what its worker gets</Accordion.Control>
        <Accordion.Panel>
          {found.data ? (
            <pre className="mono" tabIndex={0} role="region" aria-label="Payload" style={{ margin: 0, maxHeight: 480, overflow: "auto", whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{text}</pre>
          ) : opened !== null && <NotYet of={found} h={120} />}
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
