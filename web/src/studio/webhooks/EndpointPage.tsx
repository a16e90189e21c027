import { Alert, Anchor, Button, Group } from "@mantine/core";
import { IconMoodEmpty } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { faultOf } from "@/app/errors";
import { changeWebhook, deleteWebhook, rotateWebhookSecret, sendTestEvent, type EndpointView } from "@/client";
import { getDeliveriesQueryKey, getWebhookOptions, getWebhookQueryKey, getWebhooksQueryKey } from "@/client/@tanstack/react-query.gen";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { BackLink } from "@/parts/BackLink";
import { EmptyState } from "@/parts/EmptyState";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { Secret } from "@/parts/Secret";
import { AdminsOnly } from "./AdminsOnly";
import { Deliveries } from "./Deliveries";
import { Standing } from "./WebhooksPage";

export function EndpointPage() {
  const { endpointId = "" } = useParams({ strict: false });
  return <AdminsOnly><Found endpointId={endpointId} /></AdminsOnly>;
}

function Found({ endpointId }: { endpointId: string }) {
  const found = useQuery(getWebhookOptions({ path: { endpoint_id: endpointId } }));
  if (found.data) return <Endpoint endpoint={found.data} />;
  if (found.isError && ["not_found", "invalid_request"].includes(faultOf(found.error).code)) {
    return <EmptyState icon={IconMoodEmpty} title="There is no such address"><Anchor component={Link} to="/webhooks">See all addresses</Anchor></EmptyState>;
  }
  return <NotYet of={found} h={240} />;
}

function Endpoint({ endpoint }: { endpoint: EndpointView }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const path = { endpoint_id: endpoint.id };
  const changed = () => {
    void queries.invalidateQueries({ queryKey: getWebhookQueryKey({ path }) });
    void queries.invalidateQueries({ queryKey: getWebhooksQueryKey() });
    void queries.invalidateQueries({ queryKey: getDeliveriesQueryKey({ path }) });
  };
  const test = useMutation({ mutationFn: () => sendTestEvent({ path, throwOnError: true }), onSuccess: () => { changed(); tellDone("A test is on its way."); } });
  const rotate = useMutation({ mutationFn: async () => (await rotateWebhookSecret({ path, throwOnError: true })).data });
  const turn = (is_active: boolean) => changeWebhook({ path, body: { is_active }, throwOnError: true }).then(changed);
  const resume = useMutation({ mutationFn: () => turn(true) });
  return (
    <>
      <BackLink to="/webhooks">Webhooks</BackLink>
      <PageHead title={endpoint.url} text={<Group gap="xs" component="span"><Standing endpoint={endpoint} />{endpoint.description || "No description"}</Group>}>
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>Send a test</Button>
        {endpoint.is_active ? (
          <ConfirmAction label="Pause" question="Pause this address?" text="Events of the meantime are not sent to it later." done="Paused." act={() => turn(false)} undo={() => turn(true)} />
        ) : (
          <Button loading={resume.isPending} onClick={() => resume.mutate()}>Resume</Button>
        )}
        <ConfirmAction label="New secret" question="Make a new secret?" text="Deliveries are signed with it from now on. Give it to your program at once." done="There is a new secret." act={() => rotate.mutateAsync()} />
        <ConfirmAction
          label="Delete"
          question="Delete this address?"
          text="It is told nothing any more, and its deliveries are forgotten."
          done="Deleted."
          act={async () => {
            await deleteWebhook({ path, throwOnError: true });
            await queries.invalidateQueries({ queryKey: getWebhooksQueryKey() });
            void navigate({ to: "/webhooks" });
          }}
        />
      </PageHead>
      {endpoint.disabled_reason && <Alert color="orange" mb="md" title="It was paused for you">{endpoint.disabled_reason}</Alert>}
      {resume.isError && !endpoint.is_active && <Problem problem={resume.error} />}
      {test.isError && <Problem problem={test.error} />}
      {rotate.data && <Secret value={rotate.data.secret} text="The new secret" />}
      <Deliveries endpointId={endpoint.id} />
    </>
  );
}
