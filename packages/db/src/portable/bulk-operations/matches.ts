import { type JobId, OncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { JobFilter } from '../../store.ts'
import type { Place } from '../reads/cursor.ts'
import { byIdStatement } from '../reads/glance.ts'
import type { Batch } from '../reads/list.ts'
import type { Sql } from '../sql.ts'
import type { MatchCount, OperationPreview } from './types.ts'

export type Match = (filter: JobFilter, asOf: Date, after: Place | null, limit: number) => Promise<Batch>

/** So many are enough for who decides. */
const ENOUGH = 100_000
/** Counting goes by steps that let others in between. */
const COUNT_STEP = 5_000
/** Whoever is to decide waits for it. */
const COUNT_MS = 10_000
/** How many jobs a preview looks at, and how many of them it shows. */
const LOOK_AT = 2_000
const SAMPLE = 10
const MOST_ERRORS = 20

type Counted = MatchCount & { readonly newest: readonly JobId[] }

/** Jobs that matched at a moment, with the newest of those that were counted. */
export async function countMatches(
  match: Match,
  filter: JobFilter,
  asOf: Date,
  howMany: 'enough' | 'all' = 'enough',
  withinMs = COUNT_MS,
  runtime: Runtime = systemRuntime,
): Promise<Counted> {
  const deadline = runtime.monotonic() + withinMs
  let total = 0
  let newest: readonly JobId[] = []
  let after: Place | null = null
  do {
    const { ids, next }: Batch = await match(filter, asOf, after, COUNT_STEP)
    total += ids.length
    newest = [...newest, ...ids].slice(-LOOK_AT)
    if (total > ENOUGH && howMany === 'enough') return { total: ENOUGH, totalIsExact: false, newest }
    if (next && runtime.monotonic() > deadline) {
      if (total > ENOUGH) return { total, totalIsExact: false, newest }
      throw tooSlow()
    }
    after = next
  } while (after)
  return { total, totalIsExact: true, newest }
}

function tooSlow(): OncueError {
  return new OncueError('INVALID_INPUT', 'filter takes too long: it makes us read job after job', {
    hint: 'Name a topic or a queue, or a shorter time with createdFrom and createdTo.',
  })
}

type LookedAt = {
  readonly id: JobId
  readonly topic: string
  readonly queue: string
  readonly status: string
  readonly class: string | null
  readonly message: string | null
}

const COLUMNS = `n.id, n.topic, n.queue, cast(n.status as text) as status, n.last_error ->> 'class' as class,
  n.last_error ->> 'message' as message`

/** What those jobs are, without anything of their payloads. */
export async function describeMatches(sql: Sql, { newest, ...count }: Counted): Promise<OperationPreview> {
  const rows = await sql.all<LookedAt>(byIdStatement(sql.dialect, newest, COLUMNS))
  const found = new Map(rows.map((row) => [row.id, row]))
  const seen = newest.flatMap((id) => found.get(id) ?? []).reverse()
  const errors = seen.filter((row) => row.class !== null)
  return {
    ...count,
    byStatus: Object.fromEntries(tally(seen, ({ status }) => status).map(([{ status }, n]) => [status, n])),
    byError: tally(errors, (row) => JSON.stringify([row.class, row.message]))
      .slice(0, MOST_ERRORS)
      .map(([row, n]) => ({ class: row.class ?? '', message: row.message ?? '', count: n })),
    sample: seen.slice(0, SAMPLE).map(({ id, topic, queue, status }) => ({ id, topic, queue, status })),
  }
}

/** One of each kind, with how many there are, the most frequent first. */
function tally<Item>(items: readonly Item[], kindOf: (item: Item) => string): [Item, number][] {
  const kinds = new Map<string, [Item, number]>()
  for (const item of items) {
    const [first, count] = kinds.get(kindOf(item)) ?? [item, 0]
    kinds.set(kindOf(item), [first, count + 1])
  }
  return [...kinds.values()].sort(([, a], [, b]) => b - a)
}
