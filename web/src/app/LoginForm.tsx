import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Problem } from "@/parts/Problem";
import { signIn } from "./session";

/** `email`: whose session it was; then only the password is asked for, unless somebody else is meant. */
export function LoginForm({ email = "", done }: { email?: string; done: (email: string, warning: string | null) => void }) {
  const [typed, setTyped] = useState(email);
  const login = useMutation({
    mutationFn: ({ password }: { password: string }) => signIn(typed, password),
    onSuccess: (warning) => done(typed, warning),
  });
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const password = new FormData(event.currentTarget).get("password");
    login.mutate({ password: typeof password === "string" ? password : "" });
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email"
          name="email"
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          data-autofocus={email === "" || undefined}
          autoFocus={email === ""}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          data-autofocus={email !== "" || undefined}
        />
        {login.isError && <Problem problem={login.error} />}
        <Button type="submit" loading={login.isPending}>Log in</Button>
      </Stack>
    </form>
  );
}
