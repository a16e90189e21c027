import { Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { adminCreditWallet, adminGetUserWallet, type TransactionView } from "@/client";
import { Ago } from "@/parts/Ago";
import { tellDone } from "@/parts/ConfirmAction";
import { Loading } from "@/parts/Loading";
import { newId } from "@/parts/newId";
import { Problem } from "@/parts/Problem";
import { Tokens, tokensText } from "@/parts/Tokens";
import { Listing, type Column } from "@/parts/Listing";
import { then, useRead } from "../parts/reading";

const WORDS: Record<string, string> = { PAYMENT_CREDIT: "credited", JOB_RESERVE: "reserved for a job", JOB_CONSUME: "consumed", JOB_REFUND: "given back" };

const COLUMNS: Column<TransactionView>[] = [
  { name: "What", cell: (row) => WORDS[row.type] ?? row.type },
  { name: "Tokens", end: true, cell: (row) => <Tokens amount={row.amount} signed /> },
  { name: "When", cell: (row) => <Ago at={row.created_at} /> },
];

/** A balance, its ledger, and a way to add to it. */
export function UserWallet({ tenantId, userId }: { tenantId: string; userId: string }) {
  const found = useRead(["wallet", userId], () => adminGetUserWallet({ path: { tenant_id: tenantId, user_id: userId }, query: { limit: 20 }, throwOnError: true }));
  const [amount, setAmount] = useState<number | string>(100);
  // One id a payment: the same one sent twice moves tokens once.
  const [payment, setPayment] = useState(() => `console-${newId()}`);
  const credit = useMutation({
    mutationFn: then(() => adminCreditWallet({ path: { tenant_id: tenantId }, body: { user_id: userId, amount: Number(amount), provider_transaction_id: payment }, throwOnError: true })),
    onSuccess: () => {
      setPayment(`console-${newId()}`);
      tellDone(`${tokensText(Number(amount))} credited.`);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    credit.mutate();
  };
  if (!found.data) return found.isError ? <Problem problem={found.error} again={() => void found.refetch()} /> : <Loading h={200} />;
  return (
    <Stack>
      <Group justify="space-between" align="end">
        <div><Text size="sm" className="quiet">Balance</Text><Text fz={28} fw={650}><Tokens amount={found.data.balance} /></Text></div>
        <form onSubmit={submit}>
          <Group align="end" gap="xs">
            <NumberInput label="Tokens" value={amount} onChange={setAmount} min={1} max={10 ** 12} w={130} thousandSeparator="," />
            <Button type="submit" loading={credit.isPending} disabled={!(Number(amount) > 0)}>Credit</Button>
          </Group>
        </form>
      </Group>
      {credit.isError && <Problem problem={credit.error} />}
      <Listing label="Ledger" columns={COLUMNS} rows={found.data.transactions} keyOf={(row) => row.id} empty={<Text size="sm" className="quiet">Nothing has moved yet.</Text>} />
    </Stack>
  );
}

function WalletButton({ open, email }: { open: () => void; email: string }) {
  return <Button size="compact-sm" variant="default" onClick={open} aria-label={`Wallet of ${email}`}>Wallet</Button>;
}
UserWallet.Button = WalletButton;
