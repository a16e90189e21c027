import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { revokeKey, type ListedKeyView } from "@/client";
import { getKeysInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { EmptyState } from "@/parts/EmptyState";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import classes from "./KeysPage.module.css";
import { NewKey } from "./NewKey";

const options = getKeysInfiniteOptions({ query: { limit: 50 } });

export function KeysPage() {
  const [making, { open, close }] = useDisclosure();
  const queries = useQueryClient();
  const found = useInfiniteQuery({
    ...options,
    initialPageParam: {},
    getNextPageParam: (page) => (page.next_cursor ? { query: { cursor: page.next_cursor } } : undefined),
  });
  const keys = found.data?.pages.flatMap((page) => page.keys) ?? [];
  const changed = () => void queries.invalidateQueries({ queryKey: options.queryKey });
  return (
    <>
      <PageHead title="API keys" text="For programs that order effects for you. See the API reference for what they can ask.">
        <Button component="a" href="/docs" variant="default">API reference</Button>
        <Button leftSection={<IconPlus size={16} />} onClick={open}>New key</Button>
      </PageHead>
      {found.isError && <Problem problem={found.error} again={() => void found.refetch()} />}
      {found.isPending && <Loading h={160} />}
      {found.data && keys.length === 0 && <EmptyState icon={IconKey} title="No keys yet" text="Make one for each program, so that each can be stopped alone." />}
      <Stack gap="sm" component="ul" p={0} m={0}>{keys.map((key) => <Row key={key.id} apiKey={key} changed={changed} />)}</Stack>
      {found.hasNextPage && <Group justify="center" mt="md"><Button variant="default" onClick={() => void found.fetchNextPage()}>Older ones</Button></Group>}
      <NewKey opened={making} close={close} made={changed} />
    </>
  );
}

function Row({ apiKey, changed }: { apiKey: ListedKeyView; changed: () => void }) {
  const revoked = apiKey.revoked_at !== null;
  return (
    <Group component="li" className={`surface ${classes.row}`} justify="space-between" data-revoked={revoked || undefined}>
      <div className={classes.words}>
        <Text fw={600}>{apiKey.name}</Text>
        <Text size="sm" className="quiet">
          <span className="mono">{apiKey.prefix}…</span> · {apiKey.last_used_at ? <>used <Ago at={apiKey.last_used_at} /></> : "never used"}
          {apiKey.made_via === "key" && " · made with another key"}
          {apiKey.expires_at && <> · ends <Ago at={apiKey.expires_at} /></>}
        </Text>
      </div>
      <Group gap="xs">
        {apiKey.scopes.map((each) => <Badge key={each} variant="light" color="gray" tt="none">{each}</Badge>)}
        {revoked ? <Badge variant="light" color="red" tt="none">revoked</Badge> : (
          <ConfirmAction
            label="Revoke"
            size="compact-sm"
            question={`Revoke “${apiKey.name}”?`}
            text={`Programs that use it are refused from now on${goWithIt(apiKey.made_with)}. This cannot be taken back.`}
            done="The key is revoked."
            act={async () => {
              await revokeKey({ path: { key_id: apiKey.id }, throwOnError: true });
              changed();
            }}
          />
        )}
      </Group>
    </Group>
  );
}

const goWithIt = (count: number) => (count === 0 ? "" : count === 1 ? ", and so is the one key that was made with it" : `, and so are the ${count} keys that were made with it`);
