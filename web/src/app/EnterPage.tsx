import { Anchor, Loader, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { enter as spendPass } from "@/client";
import { Problem } from "@/parts/Problem";
import { DoorFrame } from "./DoorFrame";
import { enter } from "./LoginPage";

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
  return (
    <DoorFrame>
      <Stack gap="lg" align="start">
        <Title order={1}>{login.isError ? "This link was used" : "Opening…"}</Title>
        {login.isError ? (
          <>
            <Problem problem={login.error} />
            <Text size="sm">
              Each link works once. <Anchor href="/">Log in</Anchor> with the password, or start <code>comfyfleet up</code> again for a new link.
            </Text>
          </>
        ) : (
          <Loader size="sm" aria-label="Logging in" />
        )}
      </Stack>
    </DoorFrame>
  );
}
