import { Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { adminGetTenant, adminGetTenantStorage, adminGetTenantUsers, adminInviteTenantUser, adminLimitPriority, adminLimitStorage, adminRenewTenantUserLink, adminResumeTenant, adminSuspendTenant, type InviteView, type TenantView, type UserView } from "@/client";
import { Ago } from "@/parts/Ago";
import { storageText } from "@/parts/amounts";
import { ConfirmAction, tellDone } from "@/parts/ConfirmAction";
import { rangeProblem, type Entered } from "@/parts/entered";
import { NumberEntry } from "@/parts/NumberEntry";
import { PageHead } from "@/parts/PageHead";
import { StatusBadge } from "@/parts/StatusBadge";
import { Act } from "../parts/Act";
import { Facts } from "../parts/Facts";
import { FormAction } from "../parts/Fields";
import { Listing, moreOf, type Column } from "@/parts/Listing";
import { NotYet } from "@/parts/NotYet";
import { Panel } from "../parts/Panel";
import { then, useFreshTenants, usePages, useRead } from "../parts/reading";
import { ShownOnce } from "../parts/ShownOnce";
import { UserWallet } from "./UserWallet";

const GIB = 1024 ** 3;

export function TenantPage() {
  const { tenantId = "" } = useParams({ strict: false });
  const found = useRead(["tenant", tenantId], () => adminGetTenant({ path: { tenant_id: tenantId }, throwOnError: true }));
  return (
    <>
      <PageHead title={found.data?.name ?? "Tenant"} text={found.data && <span className="mono">{found.data.slug}</span>}>{found.data && <Actions tenant={found.data} />}</PageHead>
      {found.data ? <Tenant tenant={found.data} /> : <NotYet of={found} missing={{ title: "There is no such tenant", to: "/console/tenants", all: "See all tenants" }} h={240} />}
    </>
  );
}

function Actions({ tenant }: { tenant: TenantView }) {
  const named = { path: { tenant_id: tenant.id }, throwOnError: true } as const;
  const [limit, setLimit] = useState<Entered>(tenant.priority_max);
  const wrong = rangeProblem(limit, { least: 0, most: 100, isWhole: true });
  const [storage, setStorage] = useState<Entered>(tenant.storage_bytes_max === null ? null : tenant.storage_bytes_max / GIB);
  const storageWrong = rangeProblem(storage, { least: 0, most: 8_000_000 });
  const storeUpTo = (value: number | null) => adminLimitStorage({ ...named, body: { storage_bytes_max: value } });
  const resume = () => adminResumeTenant(named);
  const limitTo = (value: number | null) => adminLimitPriority({ ...named, body: { priority_max: value } });
  return (
    <>
      <FormAction label="Priority limit" title="The highest priority its users may ask for" send="Set" disabled={wrong !== null} act={() => limitTo(limit === null ? null : Number(limit))}
        onDone={() => tellDone("The limit is set. Jobs that wait keep theirs.", then(() => limitTo(tenant.priority_max)))}>
        <NumberEntry label="Limit" description="0 to 100; empty: as the settings say." value={limit} change={setLimit} error={wrong} min={0} max={100} data-autofocus />
      </FormAction>
      <FormAction label="Storage limit" title="What its files may have together" send="Set" disabled={storageWrong !== null} act={() => storeUpTo(storage === null ? null : Math.round(Number(storage) * GIB))}
        onDone={() => tellDone("The limit is set. Files that are there stay.", then(() => storeUpTo(tenant.storage_bytes_max)))}>
        <NumberEntry label="Limit in GiB" description="Empty: as the settings say." value={storage} change={setStorage} error={storageWrong} min={0} data-autofocus />
      </FormAction>
      {tenant.status === "suspended" ? <Act label="Resume" variant="filled" act={resume} done={`${tenant.name} can create again.`} /> : (
        <ConfirmAction label="Suspend" color="red" variant="light" question={`Suspend “${tenant.name}”?`} text="Its users can still read, and no longer create. Jobs that run go on."
          act={then(() => adminSuspendTenant(named))} done={`${tenant.name} is suspended.`} undo={then(resume)} />
      )}
    </>
  );
}

function Tenant({ tenant }: { tenant: TenantView }) {
  const used = useRead(["tenant-storage", tenant.id, String(tenant.storage_bytes_max)], () => adminGetTenantStorage({ path: { tenant_id: tenant.id }, throwOnError: true }));
  const [wallet, setWallet] = useState<UserView | null>(null);
  const [link, setLink] = useState<string | null>(null);
  // Sent by mail, or for whoever asked to hand on.
  const handOn = ({ user, link }: InviteView) => {
    if (link) setLink(link);
    else tellDone(`A link went to ${user.email}.`);
  };
  const users = usePages(["tenant-users", tenant.id], async (cursor) => {
    const { data } = await adminGetTenantUsers({ path: { tenant_id: tenant.id }, query: { limit: 100, cursor }, throwOnError: true });
    return { rows: data.users, next: data.next_cursor };
  });
  useFreshTenants("tenant-users", tenant.id);
  const columns: Column<UserView>[] = [
    { name: "User", cell: (row) => <Text fw={550} size="sm">{row.email}</Text> },
    { name: "Role", cell: (row) => row.role },
    { name: "State", cell: (row) => <StatusBadge status={row.status} /> },
    { name: "Since", cell: (row) => <Ago at={row.created_at} /> },
    {
      name: "",
      end: true,
      cell: (row) => (
        <Group gap="xs" justify="end">
          {row.status !== "disabled" && <NewLink tenant={tenant} user={row} handOn={handOn} />}
          <UserWallet.Button open={() => setWallet(row)} email={row.email} />
        </Group>
      ),
    },
  ];
  return (
    <Stack gap="lg">
      <Panel title="What is known of it">
        <Facts facts={{ State: <StatusBadge status={tenant.status} />, Weight: tenant.weight, Pool: <span className="mono">{tenant.pool}</span>, "Priority limit": tenant.priority_max ?? "as the settings say", Storage: used.data ? storageText(used.data) : "–", Made: <Ago at={tenant.created_at} /> }} />
      </Panel>
      <Panel title="Users" side={<Invite tenant={tenant} handOn={handOn} />}>
        <Listing label="Users" columns={columns} rows={users.rows} keyOf={(row) => row.id} problem={users.error} again={() => void users.refetch()} more={moreOf(users)} empty={<Text size="sm" className="quiet">Nobody yet: invite its first admin.</Text>} />
      </Panel>
      <Modal opened={wallet !== null} onClose={() => setWallet(null)} title={wallet?.email ?? ""} size="lg">
        {wallet && <UserWallet tenantId={tenant.id} userId={wallet.id} email={wallet.email} />}
      </Modal>
      <ShownOnce title="Hand this link on" text="No mail could be sent. The link works once, and is shown this once." value={link} label="Copy the link" close={() => setLink(null)} />
    </Stack>
  );
}

function NewLink({ tenant, user, handOn }: { tenant: TenantView; user: UserView; handOn: (made: InviteView) => void }) {
  const renew = async () => handOn((await adminRenewTenantUserLink({ path: { tenant_id: tenant.id, user_id: user.id }, throwOnError: true })).data);
  return (
    <ConfirmAction size="compact-sm" label="Create link" aria-label={`Create link for ${user.email}`} question={`A new link for ${user.email}?`}
      text={user.status === "invited" ? "The invitation that was sent before stops working." : "By it they choose another password; until then theirs stays. Older links stop working."}
      act={then(renew)} done={`Older links of ${user.email} are dead.`} />
  );
}

function Invite({ tenant, handOn }: { tenant: TenantView; handOn: (made: InviteView) => void }) {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<string | null>("admin");
  const invite = async () => {
    handOn((await adminInviteTenantUser({ path: { tenant_id: tenant.id }, body: { email, role: role ?? "admin" }, throwOnError: true })).data);
    setEmail("");
  };
  return (
    <FormAction label="Invite a user" title={`Somebody new in ${tenant.name}`} send="Invite" act={invite} disabled={!email}>
      <TextInput label="Email" type="email" value={email} onChange={(event) => setEmail(event.currentTarget.value)} required data-autofocus />
      <Select label="Role" data={["admin", "member"]} value={role} onChange={setRole} allowDeselect={false} />
    </FormAction>
  );
}
