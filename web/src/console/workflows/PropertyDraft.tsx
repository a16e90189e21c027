import { ActionIcon, Badge, Checkbox, Collapse, Group, Select, SimpleGrid, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown } from "@tabler/icons-react";
import { numberOf } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { isMedia } from "@/parts/properties";
import { whereOf, type Draft } from "./drafts";

/** One property: whether users may set it, how it is called, what it allows. */
export function PropertyDraft({ draft, change }: { draft: Draft; change: (change: Partial<Draft>) => void }) {
  const [opened, { toggle }] = useDisclosure();
  const number = draft.type === "integer" || draft.type === "number";
  const called = draft.label || draft.name;
  return (
    <div style={{ padding: "0.75rem 1rem", borderBottom: "1px solid var(--line)" }}>
      <Group wrap="nowrap" gap="sm">
        <Switch checked={draft.open} onChange={(event) => change({ open: event.currentTarget.checked })} aria-label={`Users may set ${called}`} />
        <div style={{ flex: 1, minWidth: 0 }}>
          <Group gap={6}>
            <Text fw={550} size="sm" className={draft.open ? undefined : "quiet"}>{called}</Text>
            <Badge size="sm" variant="light" color="gray" tt="none">{draft.type}</Badge>
            {draft.is_primary_input && <Badge size="sm" variant="light" tt="none">the user's upload</Badge>}
          </Group>
          <Text size="xs" className="quiet">{whereOf(draft)}{draft.default !== null && ` · ${String(draft.default).slice(0, 60)}`}</Text>
        </div>
        <ActionIcon variant="subtle" color="gray" onClick={toggle} aria-expanded={opened} aria-label={`More about ${called}`} disabled={!draft.open}>
          <IconChevronDown size={16} style={{ transform: opened ? "rotate(180deg)" : undefined, transition: "transform 150ms" }} />
        </ActionIcon>
      </Group>
      <Collapse expanded={opened && draft.open}>
        <Stack gap="sm" pt="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            <TextInput label="Label" value={draft.label} onChange={(event) => change({ label: event.currentTarget.value })} />
            <TextInput label="Name in the API" value={draft.name} onChange={(event) => change({ name: event.currentTarget.value })} />
          </SimpleGrid>
          <TextInput label="Description" value={draft.description} onChange={(event) => change({ description: event.currentTarget.value })} />
          {draft.type === "text" && <TextInput label="Default" value={String(draft.default ?? "")} onChange={(event) => change({ default: event.currentTarget.value })} />}
          {draft.type === "choice" && (
            <Select label="Default" placeholder="none" clearable data={(draft.choices ?? []).map(String)} value={draft.default === null ? null : String(draft.default)}
              onChange={(text) => change({ default: draft.choices?.find((each) => String(each) === text) ?? null })} />
          )}
          {number && (
            <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm">
              <NumberEntry label="Default" value={typeof draft.default === "number" ? draft.default : null} change={(value) => change({ default: numberOf(value) })} />
              <NumberEntry label="Least" value={draft.minimum} change={(value) => change({ minimum: numberOf(value) })} />
              <NumberEntry label="Most" value={draft.maximum} change={(value) => change({ maximum: numberOf(value) })} />
              <NumberEntry label="Step" value={draft.step} change={(value) => change({ step: numberOf(value) })} />
            </SimpleGrid>
          )}
          <Group>
            <Checkbox label="Needed" checked={draft.required} onChange={(event) => change({ required: event.currentTarget.checked })} />
            {draft.type === "text" && <Checkbox label="Several lines" checked={draft.multiline} onChange={(event) => change({ multiline: event.currentTarget.checked })} />}
            {isMedia(draft) && <Checkbox label="The user's own upload goes here" checked={draft.is_primary_input} onChange={(event) => change({ is_primary_input: event.currentTarget.checked })} />}
          </Group>
        </Stack>
      </Collapse>
    </div>
  );
}
