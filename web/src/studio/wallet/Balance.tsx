import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { getWalletOptions } from "@/client/@tanstack/react-query.gen";
import { Tokens } from "@/parts/Tokens";

/** What can be spent now, always in sight. */
export function Balance() {
  const wallet = useQuery(getWalletOptions());
  if (!wallet.data) return <Skeleton w={72} h={26} />;
  return (
    <Button variant="light" size="compact-sm" radius="xl" renderRoot={(props) => <Link to="/wallet" {...props} />}>
      <Tokens amount={wallet.data.balance} />
    </Button>
  );
}
