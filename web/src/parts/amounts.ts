/** Numbers as people say them. */

const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

export function bytesText(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${UNITS[power]}`;
}

/** What is kept, and how much may be. */
export function storageText({ used_bytes, limit_bytes }: { used_bytes: number; limit_bytes: number | null }): string {
  return limit_bytes === null ? bytesText(used_bytes) : `${bytesText(used_bytes)} of ${bytesText(limit_bytes)}`;
}
