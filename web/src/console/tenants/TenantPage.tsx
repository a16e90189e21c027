import { Group, Modal, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { adminGetTenant, adminGetTenantUsers, adminInviteTenantUser, adminLimitPriority, adminResumeTenant, adminSuspendTenant, type TenantView, type UserView } from "@/client";
import { Ago } from "@/parts/Ago";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { Loading } from "@/parts/Loading";
import { PageHead } from "@/parts/PageHead";
import { Problem } from "@/parts/Problem";
import { StatusBadge } from "@/parts/StatusBadge";
import { Act } from "../parts/Act";
import { CopyLine } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { FormAction } from "../parts/Fields";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { Panel } from "../parts/Panel";
import { then, usePages, useRead } from "../parts/reading";
import { UserWallet } from "./UserWallet";

export function TenantPage() {
  const { tenantId = "" } = useParams({ strict: false });
  const found = useRead(["tenant", tenantId], () => adminGetTenant({ path: { tenant_id: tenantId }, throwOnError: true }));
  return (
    <>
      <PageHead title={found.data?.name ?? "Tenant"} text={found.data && <span className="mono">{found.data.slug}</span>}>{found.data && <Actions tenant={found.data} />}</PageHead>
      {found.data ? <Tenant tenant={found.data} /> : found.isError ? <Problem problem={found.error} again={() => void found.refetch()} /> : <Loading h={240} />}
    </>
  );
}

function Actions({ tenant }: { tenant: TenantView }) {
  const named = { path: { tenant_id: tenant.id }, throwOnError: true } as const;
  const [limit, setLimit] = useState<number | string>(tenant.priority_max ?? "");
  const resume = () => adminResumeTenant(named);
  const limitTo = (value: number | null) => adminLimitPriority({ ...named, body: { priority_max: value } });
  return (
    <>
      <FormAction label="Priority limit" title="The highest priority its users may ask for" send="Set" act={() => limitTo(limit === "" ? null : Number(limit))}
        onDone={() => tellDone("The limit is set. Jobs that wait keep theirs.", then(() => limitTo(tenant.priority_max)))}>
        <NumberInput label="Limit" description="0 to 100; empty: as the settings say." value={limit} onChange={setLimit} min={0} max={100} data-autofocus />
      </FormAction>
      {tenant.status === "suspended" ? <Act label="Resume" variant="filled" act={resume} done={`${tenant.name} can create again.`} /> : (
        <ConfirmAction label="Suspend" color="red" variant="light" question={`Suspend ${tenant.name}?`} text="Its users can still read, and no longer create. Jobs that run go on."
          act={then(() => adminSuspendTenant(named))} done={`${tenant.name} is suspended.`} undo={then(resume)} />
      )}
    </>
  );
}

function Tenant({ tenant }: { tenant: TenantView }) {
  const [wallet, setWallet] = useState<UserView | null>(null);
  const users = usePages(["tenant-users", tenant.id], async (cursor) => {
    const { data } = await adminGetTenantUsers({ path: { tenant_id: tenant.id }, query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.users, next: data.next_cursor };
  });
  const columns: Column<UserView>[] = [
    { name: "User", cell: (row) => <Text fw={550} size="sm">{row.email}</Text> },
    { name: "Role", cell: (row) => row.role },
    { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
    { name: "Since", cell: (row) => <Ago at={row.created_at} /> },
    { name: "Wallet", end: true, cell: (row) => <UserWallet.Button open={() => setWallet(row)} email={row.email} /> },
  ];
  return (
    <Stack gap="lg">
      <Panel title="What is known of it">
        <Facts facts={{ State: <StatusBadge status={tenant.status} />, Weight: tenant.weight, Pool: <span className="mono">{tenant.pool}</span>, "Priority limit": tenant.priority_max ?? "as the settings say", Made: <Ago at={tenant.created_at} /> }} />
      </Panel>
      <Panel title="Users" side={<Invite tenant={tenant} />}>
        <Listing label="Users" columns={columns} rows={users.rows} keyOf={(row) => row.id} problem={users.error} again={() => void users.refetch()} more={moreOf(users)} empty={<Text size="sm" className="quiet">Nobody yet: invite its first admin.</Text>} />
      </Panel>
      <Modal opened={wallet !== null} onClose={() => setWallet(null)} title={wallet?.email ?? ""} size="lg">
        {wallet && <UserWallet tenantId={tenant.id} userId={wallet.id} />}
      </Modal>
    </Stack>
  );
}

function Invite({ tenant }: { tenant: TenantView }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<string | null>("admin");
  const [link, setLink] = useState<string | null>(null);
  const invite = async () => {
    const { data } = await adminInviteTenantUser({ path: { tenant_id: tenant.id }, body: { email, role: role ?? "admin" }, throwOnError: true });
    if (data.link) setLink(data.link);
    else tellDone(`An invitation went to ${email}.`);
    setEmail("");
  };
  return (
    <>
      <FormAction label="Invite a user" title={`Somebody new in ${tenant.name}`} send="Invite" act={invite} disabled={!email}>
        <TextInput label="Email" type="email" value={email} onChange={(event) => setEmail(event.currentTarget.value)} required data-autofocus />
        <Select label="Role" data={["admin", "member"]} value={role} onChange={setRole} allowDeselect={false} />
      </FormAction>
      <Modal opened={link !== null} onClose={() => setLink(null)} title="Hand this link on">
        <Stack>
          <Text size="sm">No mail could be sent. The link works once.</Text>
          <Group><CopyLine value={link ?? ""} label="Copy the link" /></Group>
        </Stack>
      </Modal>
    </>
  );
}
