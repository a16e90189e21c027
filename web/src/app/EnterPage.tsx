import { Anchor, Loader, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { enter as spendPass } from "@/client";
import { Problem } from "@/parts/Problem";
import { DoorFrame } from "./DoorFrame";
import { faultOf } from "./errors";
import { enter } from "./LoginPage";

const SPENT = "link_spent";

/** A link of `comfyfleet up`: it logs in once. The token stands behind '#', so no log ever holds it. */
export function EnterPage() {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get("token") ?? "");
  const navigate = useNavigate();
  // A query and not an effect: it runs once, however often the page is drawn.
  const login = useQuery({
    queryKey: ["enter", token],
    queryFn: async () => (await spendPass({ body: { token }, throwOnError: true })).data,
    retry: false,
    staleTime: Infinity,
  });
  useEffect(() => {
    if (login.data) void enter(login.data.warning).then(() => navigate({ to: "/", replace: true }));
  }, [login.data, navigate]);
  // Anything else says nothing about the link: it may well work in a moment.
  const spent = login.isError && faultOf(login.error).code === SPENT;
  return (
    <DoorFrame>
      <Stack gap="lg" align="start">
        <Title order={1}>{spent ? "This link was used" : login.isError ? "Not logged in yet" : "Opening…"}</Title>
        {login.isError && !spent && <Problem problem={login.error} again={() => void login.refetch()} />}
        {spent && (
          <>
            <Problem problem={login.error} />
            <Text size="sm">
              Each link works once. <Anchor href="/">Log in</Anchor> with the password, or start <code>comfyfleet up</code> again for a new link.
            </Text>
          </>
        )}
        {!login.isError && <Loader size="sm" role="status" aria-label="Logging in" />}
      </Stack>
    </DoorFrame>
  );
}
