/** Where somebody chooses from all there is, a list must not end at its first page. */

type Answer<P> = { data: P };

/** All rows, page after page. `rowsOf`: where they stand in one. */
export async function everyPage<P extends { next_cursor: string | null }, R>(read: (cursor: string | undefined) => Promise<Answer<P>>, rowsOf: (page: P) => R[]): Promise<R[]> {
  const rows: R[] = [];
  let cursor: string | undefined;
  do {
    const page: P = (await read(cursor)).data;
    rows.push(...rowsOf(page));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}
