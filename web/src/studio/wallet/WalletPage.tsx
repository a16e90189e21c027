import { Anchor, Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconCoin, IconReceipt } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { EntryView } from "@/client";
import { getEntriesInfiniteOptions } from "@/client/@tanstack/react-query.gen";
import { Ago } from "@/parts/Ago";
import { EmptyState } from "@/parts/EmptyState";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Tokens } from "@/parts/Tokens";
import { useInstallation } from "../installation";
import { useFreshWallet, useWallet } from "./useWallet";
import classes from "./WalletPage.module.css";

const WORDS: Record<EntryView["state"], string> = {
  added: "Tokens added",
  reserved: "set aside while it runs",
  spent: "spent",
  refunded: "given back",
};

export function WalletPage() {
  const wallet = useWallet();
  const installation = useInstallation();
  return (
    <>
      <PageHead title="Wallet" text="What you have, and where every token went." />
      <Group className={`surface ${classes.balance}`} justify="space-between">
        <div>
          <Text size="sm" className="quiet">You can spend</Text>
          {wallet.data ? <Title order={2} className={classes.amount}><Tokens amount={wallet.data.balance} /></Title> : <NotYet of={wallet} w={140} h={40} />}
        </div>
        <Stack gap={4} maw={360}>
          {installation?.get_tokens_text && <Text size="sm">{installation.get_tokens_text}</Text>}
          {installation?.get_tokens_url && (
            <Button component="a" href={installation.get_tokens_url} target="_blank" rel="noreferrer" leftSection={<IconCoin size={17} />}>Get tokens</Button>
          )}
        </Stack>
      </Group>
      <Ledger />
    </>
  );
}

function Ledger() {
  const ledger = useInfiniteQuery({
    ...getEntriesInfiniteOptions({ query: { limit: 50 } }),
    ...useFreshWallet(),
    initialPageParam: {},
    getNextPageParam: (page) => (page.next_cursor ? { query: { cursor: page.next_cursor } } : undefined),
  });
  if (!ledger.data) return <NotYet of={ledger} h={300} />;
  const rows = ledger.data.pages.flatMap((page) => page.entries);
  if (rows.length === 0) return <EmptyState icon={IconReceipt} title="Nothing has moved yet" />;
  return (
    <>
      <Title order={2} mb="sm">Ledger</Title>
      <div className={`surface ${classes.ledger}`}>
        <Table verticalSpacing="sm" horizontalSpacing="md" aria-label="Ledger">
          <Table.Thead>
            <Table.Tr><Table.Th>What</Table.Th><Table.Th ta="right">Tokens</Table.Th><Table.Th ta="right">Balance</Table.Th><Table.Th ta="right" visibleFrom="xs">When</Table.Th></Table.Tr>
          </Table.Thead>
          <Table.Tbody>{rows.map((row) => <Row key={row.id} row={row} />)}</Table.Tbody>
        </Table>
      </div>
      {ledger.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={ledger.isFetchingNextPage} onClick={() => void ledger.fetchNextPage()}>Older ones</Button>
        </Group>
      )}
    </>
  );
}

function Row({ row }: { row: EntryView }) {
  const aside = row.state === "refunded" ? ` (${row.price.toLocaleString("en")})` : "";
  return (
    <Table.Tr>
      <Table.Td>
        {row.job_id ? (
          <>
            <Anchor size="sm" component={Link} to={`/jobs/${row.job_id}`}>{row.effect ?? "A job"}</Anchor>
            <Text size="xs" className="quiet">{WORDS[row.state]}{aside}</Text>
          </>
        ) : <Text size="sm">{WORDS[row.state]}</Text>}
        <Text size="xs" className="quiet" hiddenFrom="xs"><Ago at={row.created_at} /></Text>
      </Table.Td>
      <Table.Td ta="right" className="numbers" c={row.amount > 0 ? "light-dark(#2b6a30, #8ce99a)" : undefined}>
        {row.amount === 0 ? "0" : `${row.amount > 0 ? "+" : "−"}${Math.abs(row.amount).toLocaleString("en")}`}
      </Table.Td>
      <Table.Td ta="right" className="numbers">{row.balance_after.toLocaleString("en")}</Table.Td>
      <Table.Td ta="right" visibleFrom="xs"><Text size="sm" className="quiet"><Ago at={row.created_at} /></Text></Table.Td>
    </Table.Tr>
  );
}
