import { ActionIcon, Avatar, Group, Menu, Text, Tooltip, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconBook, IconLogout, IconMoon, IconSun } from "@tabler/icons-react";
import { Balance } from "@/studio/wallet/Balance";
import { sentenceOf } from "./errors";
import { isOperator, signOut, type Me } from "./session";

export function AccountMenu({ me }: { me: Me }) {
  const initials = me.email.slice(0, 2).toUpperCase();
  return (
    <Group gap="xs" wrap="nowrap">
      {!isOperator(me) && <Balance />}
      <SchemeSwitch />
      <Menu position="bottom-end" width={240} shadow="md">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label={`Account, ${initials}`}>
            <Avatar size={30} radius="xl" color="sun">{initials}</Avatar>
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="sm" c="var(--mantine-color-text)" truncate>{me.email}</Text>
            <Text size="xs">{isOperator(me) ? "operator of this installation" : `${me.role} of ${me.tenant_slug ?? "no tenant"}`}</Text>
          </Menu.Label>
          <Menu.Divider />
          <Menu.Item leftSection={<IconBook size={16} />} component="a" href="/docs">API reference</Menu.Item>
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void leave()}>Log out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

async function leave() {
  try {
    await signOut();
  } catch (problem) {
    notifications.show({ color: "red", title: "Not logged out", message: sentenceOf(problem) });
  }
}

export function SchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme();
  const now = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const next = now === "dark" ? "light" : "dark";
  const label = next === "dark" ? "Switch to dark" : "Switch to light";
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label={label} onClick={() => setColorScheme(next)}>
        {now === "dark" ? <IconSun size={18} stroke={1.6} /> : <IconMoon size={18} stroke={1.6} />}
      </ActionIcon>
    </Tooltip>
  );
}
