import type { Page } from '@oncue/core/wire'
import { assertPageSize, decodeCursor, encodeCursor, type ListPosition } from '../portable/reads/cursor.ts'

/** How many rows one batch removes. */
export type Pruned = {
  readonly before: Date
  /** 1,000 */
  readonly limit?: number | undefined
}

export type Cursored = { readonly limit?: number | undefined; readonly cursor?: string | undefined }

/** A page of a list that is ordered by a time and then by id, newest first. */
export async function readPage<Row extends { readonly id: string }, Item>(
  filter: object,
  { limit = 50, cursor }: Cursored,
  toItem: (row: Row) => Item,
  timeOf: (row: Row) => Date | null,
  find: (after: ListPosition | null, take: number) => Promise<Row[]>,
): Promise<Page<Item>> {
  assertPageSize(limit)
  // One more than asked for tells whether there is another page.
  const rows = await find(cursor === undefined ? null : decodeCursor(cursor, filter), limit + 1)
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const created = last && timeOf(last)
  const nextCursor = last && created ? encodeCursor({ created, id: last.id }, filter) : null
  return { items: shown.map(toItem), nextCursor }
}
