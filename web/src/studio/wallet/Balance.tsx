import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useLive, useSoon } from "@/app/live";
import { Loading } from "@/parts/Loading";
import { Tokens } from "@/parts/Tokens";
import { useWallet, walletMoved } from "./useWallet";

const READ_AFTER_MS = 1_500; // a run moves many times a second

/** What can be spent now, always in sight. */
export function Balance() {
  const queries = useQueryClient();
  const wallet = useWallet();
  const readAgain = useSoon(() => walletMoved(queries), READ_AFTER_MS);
  useLive("status", readAgain);
  useLive("run", readAgain);
  useLive("wallet", readAgain);
  if (!wallet.data && !wallet.isError) return <Loading w={72} h={26} />;
  return (
    <Button variant="light" size="compact-sm" radius="xl" renderRoot={(props) => <Link to="/wallet" {...props} />}>
      {wallet.data ? <Tokens amount={wallet.data.balance} /> : "Wallet"}
    </Button>
  );
}
