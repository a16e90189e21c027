/** Pages of a list whose newest come first. Pure. */
type Page<T> = { jobs: T[] };

/** The newest read anew, without the pages behind them: what is known is brought up to date, what is new stands first. */
export function withFirst<T extends { id: string }, P extends Page<T>>(pages: P[], newest: T[]): P[] {
  const fresh = new Map(newest.map((each) => [each.id, each]));
  const known = new Set(pages.flatMap((page) => page.jobs.map((each) => each.id)));
  const added = newest.filter((each) => !known.has(each.id));
  return pages.map((page, place) => ({ ...page, jobs: [...(place === 0 ? added : []), ...page.jobs.map((each) => fresh.get(each.id) ?? each)] }));
}
