import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getStorageOptions } from "@/client/@tanstack/react-query.gen";
import { storageText } from "@/parts/amounts";

/** What the tenant's files have together; said where there is a limit. */
export function StorageUse() {
  const found = useQuery({ ...getStorageOptions(), staleTime: 60_000 });
  if (!found.data || found.data.limit_bytes === null) return null;
  const isFull = found.data.used_bytes >= found.data.limit_bytes;
  return (
    <Text size="sm" c={isFull ? "red" : undefined} className={isFull ? undefined : "quiet"}>
      Storage: {storageText(found.data)}{isFull && ". Delete files before you upload more."}
    </Text>
  );
}
