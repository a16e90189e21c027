import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { adminCreditWallet, adminGetUserWallet, type TransactionView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction } from "@/parts/ConfirmAction";
import { rangeProblem, type Entered } from "@/parts/entered";
import { newId } from "@/parts/newId";
import { NumberEntry } from "@/parts/NumberEntry";
import { Tokens, tokensText } from "@/parts/Tokens";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { then, useFreshTenants, usePages } from "../parts/reading";

/** As its user reads them in the studio. */
const WORDS: Record<TransactionView["type"], string> = { PAYMENT_CREDIT: "Tokens added", JOB_RESERVE: "Set aside for a job", JOB_CONSUME: "Spent: the job is done", JOB_REFUND: "Given back" };

const COLUMNS: Column<TransactionView>[] = [
  { name: "What", cell: (row) => WORDS[row.type] },
  { name: "Tokens", end: true, cell: (row) => <Tokens amount={row.amount} signed /> },
  { name: "When", cell: (row) => <Ago at={row.created_at} /> },
];

/** A balance, its ledger, and a way to add to it. */
export function UserWallet({ tenantId, userId, email }: { tenantId: string; userId: string; email: string }) {
  const found = usePages(["wallet", userId], async (cursor) => {
    const { data } = await adminGetUserWallet({ path: { tenant_id: tenantId, user_id: userId }, query: { limit: 20, cursor }, throwOnError: true });
    return { rows: data.transactions, next: data.next_cursor, balance: data.balance };
  });
  useFreshTenants("wallet", userId);
  const [balance] = found.data?.pages.map((page) => page.balance) ?? [];
  if (balance === undefined) return <NotYet of={found} h={200} />;
  return (
    <Stack>
      <Group justify="space-between" align="end">
        <div><Text size="sm" className="quiet">Balance</Text><Text fz={28} fw={650}><Tokens amount={balance} /></Text></div>
        <Credit tenantId={tenantId} userId={userId} email={email} />
      </Group>
      <Listing label="Ledger" columns={COLUMNS} rows={found.rows} keyOf={(row) => row.id} more={moreOf(found)} empty={<Text size="sm" className="quiet">Nothing has moved yet.</Text>} />
    </Stack>
  );
}

function Credit({ tenantId, userId, email }: { tenantId: string; userId: string; email: string }) {
  const [amount, setAmount] = useState<Entered>(100);
  // One id a payment: the same one sent twice moves tokens once.
  const [payment, setPayment] = useState(() => `console-${newId()}`);
  const wrong = rangeProblem(amount, { least: 1, most: 10 ** 12, isWhole: true });
  const said = tokensText(Number(amount));
  const credit = async () => {
    await adminCreditWallet({ path: { tenant_id: tenantId }, body: { user_id: userId, amount: Number(amount), provider_transaction_id: payment }, throwOnError: true });
    setPayment(`console-${newId()}`);
  };
  return (
    <Group align="start" gap="xs">
      <NumberEntry label="Tokens" value={amount} change={setAmount} error={wrong} min={1} w={130} thousandSeparator="," />
      <ConfirmAction label="Credit" variant="filled" mt={25} disabled={amount === null || wrong !== null} question={`Credit ${said}?`} confirm={`Credit ${said}`}
        text={`${email} may spend them at once. This cannot be undone.`} act={then(credit)} done={`${said} credited to ${email}.`} />
    </Group>
  );
}

function WalletButton({ open, email }: { open: () => void; email: string }) {
  return <Button size="compact-sm" variant="default" onClick={open} aria-label={`Wallet of ${email}`}>Wallet</Button>;
}
UserWallet.Button = WalletButton;
