/** What surrounds every page: navigation, the account, and what is true of the whole tab. */
import { AppShell, Burger, Center, Group, NavLink, ScrollArea, Skeleton, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, Outlet, useLocation, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { boardNavigation } from "@/board/navigation";
import { consoleNavigation } from "@/console/navigation";
import { useFollowActions } from "@/console/parts/reading";
import { useFollowOffers } from "@/studio/gallery/useFollowOffers";
import { studioNavigation } from "@/studio/navigation";
import { AccountMenu } from "./AccountMenu";
import { Brand } from "./Brand";
import { ConnectionNotice } from "./ConnectionNotice";
import { LoginPage } from "./LoginPage";
import type { NavigationSection } from "./navigation";
import { Loading } from "@/parts/Loading";
import { Problem } from "@/parts/Problem";
import { SessionDialog } from "./SessionDialog";
import classes from "./Shell.module.css";
import { live } from "./live";
import { isOperator, sessionQuery, type Me } from "./session";

export function Shell() {
  const session = useQuery(sessionQuery);
  if (session.isError && session.data === undefined) {
    return <Center mih="100vh" p="lg"><Problem problem={session.error} again={() => void session.refetch()} /></Center>;
  }
  if (session.data === undefined) return <Waiting />;
  if (session.data === null) return <LoginPage />;
  return <Frame me={session.data} />;
}

function Frame({ me }: { me: Me }) {
  const [opened, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  const operator = isOperator(me);
  useEffect(() => {
    live.start(operator ? "/api/admin/live" : "/api/events");
    return () => live.stop();
  }, [operator]);
  // A page that was chosen on a phone is what one wants to see next.
  useEffect(close, [pathname, close]);
  // Where one goes is known before its page is there: until then the old one is shown, and may not be ours to see.
  const shown = useRouterState({ select: (state) => (state.resolvedLocation ?? state.location).pathname });
  const main = useFocusOnArrival(shown, opened);
  if (operator !== isInConsole(pathname)) return <Navigate to={operator ? "/console" : "/"} replace />;
  if (operator !== isInConsole(shown)) return <Waiting />;
  const sections = operator ? consoleNavigation : [...studioNavigation(me), ...boardNavigation];
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 224, breakpoint: "sm", collapsed: { mobile: !opened } }}
      padding={{ base: "md", sm: "xl" }}
    >
      <a href="#main" className="skip">Skip to the content</a>
      <AppShell.Header className={classes.header}>
        <Group h="100%" px={{ base: "sm", sm: "lg" }} justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" aria-expanded={opened} aria-controls="navigation" />
            <Brand to={operator ? "/console" : "/"} />
          </Group>
          <AccountMenu me={me} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar id="navigation" className={classes.navbar} mod={{ closed: !opened }} aria-label="Main">
        <ScrollArea h="100%" p="sm">
          {sections.map((section) => <Section key={section.title} section={section} pathname={pathname} />)}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main ref={main} id="main" tabIndex={-1} className={classes.main} mod={{ covered: opened }}>
        <Outlet />
      </AppShell.Main>
      {operator ? <FollowActions /> : <FollowOffers />}
      <ConnectionNotice me={me} />
      <SessionDialog me={me} />
    </AppShell>
  );
}

function FollowActions() {
  useFollowActions();
  return null;
}

function FollowOffers() {
  useFollowOffers();
  return null;
}

/** Whoever arrives at another page begins there, and not at its link or nowhere. */
function useFocusOnArrival(shown: string, isCovered: boolean) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(shown);
  useEffect(() => {
    if (isCovered || before.current === shown) return;
    before.current = shown;
    // A page or a dialog that took the focus itself knows better.
    if (document.activeElement?.closest("#main, [role=dialog]")) return;
    main.current?.focus({ preventScroll: true });
  }, [shown, isCovered]);
  return main;
}

const isInConsole = (pathname: string) => pathname.startsWith("/console");

function Section({ section, pathname }: { section: NavigationSection; pathname: string }) {
  return (
    <div className={classes.section}>
      <Text size="xs" fw={600} className="quiet" px="xs" pb={4}>{section.title}</Text>
      {section.places.map(({ to, label, icon: Icon, also }) => {
        const roots = [to, ...(also ?? [])];
        const here = roots.some((each) => (each === "/" || each === "/console" ? pathname === each : pathname.startsWith(each)));
        return (
          <NavLink
            key={to}
            label={label}
            active={here}
            className={classes.place}
            leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
            renderRoot={(props) => <Link to={to} activeOptions={{ exact: true }} aria-current={here ? "page" : undefined} {...props} />}
          />
        );
      })}
    </div>
  );
}

function Waiting() {
  return (
    <Loading p="xl">
      <Skeleton h={28} w={160} />
      <Skeleton h={220} mt="xl" />
    </Loading>
  );
}
