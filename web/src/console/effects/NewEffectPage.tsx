import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { adminAddEffect } from "@/client";
import { tellDone } from "@/parts/ConfirmAction";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { then } from "../parts/reading";
import { useWanted } from "../parts/search";
import { slugOf } from "../workflows/drafts";
import { EffectForm, priceProblem, type EffectDraft } from "./EffectForm";

export function NewEffectPage() {
  const { workflow } = useWanted<{ workflow?: string }>();
  const [draft, setDraft] = useState<EffectDraft>({ name: "", description: "", workflow: workflow ?? null, cost: 1, overrides: {}, fixed: [], waits: false });
  const [typedSlug, setSlug] = useState<string | null>(null);
  const slug = typedSlug ?? slugOf(draft.name);
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: then(() => adminAddEffect({
      body: { slug, name: draft.name, description: draft.description, workflow: draft.workflow ?? "", overrides: draft.overrides, fixed: draft.fixed, credits_cost: Number(draft.cost), waits_for_worker: draft.waits }, throwOnError: true,
    })),
    onSuccess: async () => {
      tellDone(`${draft.name} is there. Users see it once it is published.`);
      await navigate({ to: "/console/effects/$slug", params: { slug } });
    },
  });
  return (
    <Stack>
      <PageHead title="New effect" />
      <EffectForm draft={draft} change={(next) => setDraft((before) => ({ ...before, ...next }))}>
        <TextInput label="Slug" description="Its name in the API; it stays." value={slug} onChange={(event) => setSlug(event.currentTarget.value)} required />
      </EffectForm>
      {make.isError && <Problem problem={make.error} />}
      <Group><Button loading={make.isPending} disabled={!draft.name || !slug || !draft.workflow || priceProblem(draft) !== null} onClick={() => make.mutate()}>Create effect</Button></Group>
    </Stack>
  );
}
