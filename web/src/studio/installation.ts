import { useQuery } from "@tanstack/react-query";
import { getInstallationOptions } from "@/client/@tanstack/react-query.gen";

/** Limits of uploads, and the way to more tokens; they change with a restart of the server only. */
export function useInstallation() {
  return useQuery({ ...getInstallationOptions(), staleTime: Infinity }).data;
}
