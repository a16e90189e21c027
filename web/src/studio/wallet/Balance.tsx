import { Button, Skeleton } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getWalletOptions } from "@/client/@tanstack/react-query.gen";
import { useLive } from "@/app/live";
import { Tokens } from "@/parts/Tokens";

const READ_AFTER_MS = 500; // a run moves many times a second

/** What can be spent now, always in sight. */
export function Balance() {
  const wallet = useQuery(getWalletOptions());
  const readAgain = useDebouncedCallback(() => void wallet.refetch(), READ_AFTER_MS);
  useLive("status", readAgain);
  useLive("run", readAgain);
  if (!wallet.data) return <Skeleton w={72} h={26} />;
  return (
    <Button variant="light" size="compact-sm" radius="xl" renderRoot={(props) => <Link to="/wallet" {...props} />}>
      <Tokens amount={wallet.data.balance} />
    </Button>
  );
}
