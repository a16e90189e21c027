/** What somebody chooses from: all there is, however many pages that are. */
import { adminGetFleets, adminGetTenants, adminGetWorkflows } from "@/client";
import { everyPage } from "@/parts/everyPage";
import { useRead } from "./reading";

const asked = (cursor: string | undefined) => ({ query: { limit: 100, cursor }, throwOnError: true }) as const;

export const useAllFleets = () => useRead(["fleets", "all"], async () => ({ data: await everyPage((cursor) => adminGetFleets(asked(cursor)), (page) => page.fleets) }));
export const useAllTenants = () => useRead(["tenants", "all"], async () => ({ data: await everyPage((cursor) => adminGetTenants(asked(cursor)), (page) => page.tenants) }));
export const useAllWorkflows = () => useRead(["workflows", "all"], async () => ({ data: await everyPage((cursor) => adminGetWorkflows(asked(cursor)), (page) => page.workflows) }));
