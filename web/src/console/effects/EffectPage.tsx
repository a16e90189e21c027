import { Alert, Button, FileButton, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { adminChangeEffect, adminDeleteEffect, adminDropAsset, adminGetEffect, adminPublishEffect, adminPutAsset, adminUnpublishEffect, type EffectView } from "@/client";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { NotYet } from "@/parts/NotYet";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { asSentence } from "@/parts/sentences";
import { Act } from "../parts/Act";
import { Panel } from "../parts/Panel";
import { bytesText } from "../parts/numbers";
import { then, useRead } from "../parts/reading";
import { changesOf, draftOf } from "./changes";
import { EffectForm, priceProblem, type EffectDraft } from "./EffectForm";
import { EffectPicture } from "./EffectPicture";

export function EffectPage() {
  const { slug = "" } = useParams({ strict: false });
  const found = useRead(["effect", slug], () => adminGetEffect({ path: { effect_slug: slug }, throwOnError: true }));
  return (
    <>
      <PageHead title={found.data?.name ?? slug} text={found.data && <Group gap="xs"><span className="mono">{slug}</span><StatusBadge status={found.data.is_published ? "published" : "draft"} /></Group>}>
        {found.data && <Actions effect={found.data} />}
      </PageHead>
      {found.data ? <Editor key={found.data.slug} effect={found.data} /> : <NotYet of={found} missing={{ title: "There is no such effect", to: "/console/effects", all: "See all effects" }} h={420} />}
    </>
  );
}

function Actions({ effect }: { effect: EffectView }) {
  const named = { path: { effect_slug: effect.slug }, throwOnError: true } as const;
  const navigate = useNavigate();
  const publish = () => adminPublishEffect(named);
  const unpublish = () => adminUnpublishEffect(named);
  const remove = async () => {
    await adminDeleteEffect(named);
    await navigate({ to: "/console/effects" });
  };
  if (effect.is_published) return <Act label="Unpublish" act={unpublish} done={`Users see ${effect.name} no more.`} undo={publish} />;
  return (
    <>
      <ConfirmAction label="Delete" color="red" variant="light" question={`Delete “${effect.name}”?`} text="For good: this cannot be undone. Jobs that were made run on." act={then(remove)} done={`${effect.name} is deleted.`} />
      <Act label="Publish" variant="filled" act={publish} done={`Users see ${effect.name} now.`} undo={unpublish} />
    </>
  );
}

function Editor({ effect }: { effect: EffectView }) {
  const [typed, setTyped] = useState<Partial<EffectDraft>>({});
  const draft = { ...draftOf(effect), ...typed };
  const changes = changesOf(effect, draft);
  const save = useMutation({
    mutationFn: then(() => adminChangeEffect({
      path: { effect_slug: effect.slug },
      body: changes,
      throwOnError: true,
    })),
    onSuccess: () => {
      setTyped({});
      tellDone("Saved. Jobs that were made keep what they were made with.");
    },
  });
  return (
    <Stack gap="lg">
      {effect.misfit && <Alert color="orange" variant="light" title="It does not fit its workflow">{effect.misfit}</Alert>}
      {effect.lacks && (
        <Alert color="orange" variant="light" title={effect.waits_for_worker ? "No worker can run it: its jobs wait" : "No worker can run it: orders are refused"}>{asSentence(effect.lacks)}</Alert>
      )}
      <EffectForm draft={draft} change={(next) => setTyped((before) => ({ ...before, ...next }))} assets={Object.keys(effect.assets).filter((each) => each !== "preview")} />
      {save.isError && <Problem problem={save.error} />}
      <Group>
        <Button disabled={Object.keys(changes).length === 0 || priceProblem(draft) !== null} loading={save.isPending} onClick={() => save.mutate()}>Save</Button>
        {Object.keys(typed).length > 0 && <Button variant="subtle" color="gray" onClick={() => setTyped({})}>Undo changes</Button>}
      </Group>
      <Assets effect={effect} />
    </Stack>
  );
}

function Assets({ effect }: { effect: EffectView }) {
  const put = useMutation({
    mutationFn: ({ name, file }: { name: string; file: File }) => then(() => adminPutAsset({
      path: { effect_slug: effect.slug, asset_name: name }, body: file, headers: { "Content-Type": file.type }, throwOnError: true,
    }))(),
    onSuccess: () => tellDone("The file is kept."),
  });
  const take = (name?: string) => (file: File | null) => {
    if (file) put.mutate({ file, name: name ?? (file.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_.-]+/g, "_").replace(/^[^A-Za-z_]+/, "") || "file") });
  };
  const others = Object.entries(effect.assets).filter(([name]) => name !== "preview");
  return (
    <Panel title="Files" text="The preview is what the gallery shows. Other files can be fixed as inputs.">
      <Stack>
        <Group align="start" gap="lg">
          <div style={{ width: 180, borderRadius: 12, overflow: "hidden" }}><EffectPicture effect={effect} /></div>
          <Group gap="xs">
            <FileButton onChange={take("preview")} accept="image/*,video/*">{(props) => <Button variant="default" loading={put.isPending} {...props}>{effect.assets.preview ? "Another preview" : "Add a preview"}</Button>}</FileButton>
            <FileButton onChange={take()}>{(props) => <Button variant="default" {...props}>Add a file</Button>}</FileButton>
          </Group>
        </Group>
        {put.isError && <Problem problem={put.error} />}
        {others.map(([name, asset]) => (
          <Group key={name} justify="space-between">
            <Text size="sm"><span className="mono">{name}</span> · {asset.mime_type}, {bytesText(asset.size)}</Text>
            <ConfirmAction size="compact-sm" label="Remove" question={`Remove “${name}”?`} text="A published effect keeps what it names." act={then(() => adminDropAsset({ path: { effect_slug: effect.slug, asset_name: name }, throwOnError: true }))} done={`${name} is removed.`} />
          </Group>
        ))}
      </Stack>
    </Panel>
  );
}
