import type { Sql } from '../sql.ts'
import type { JobFilter } from '../store.ts'
import type { Place } from './cursor.ts'
import { conditions, mayBeLive, mayHaveEnded, narrowPrefix } from './filter.ts'
import { all, type Fragment, join, q, raw } from './fragment.ts'
import { distinctEnds, distinctTopics, each, ONCE } from './scan.ts'

export type Selection = {
  readonly filter: JobFilter
  readonly direction: 'desc' | 'asc'
  /** Only what comes after this place, in that direction. */
  readonly after?: Place | undefined
  /** Only what had ended, or was there, at that moment. */
  readonly asOf?: Date | undefined
  /** How many of each source are worth looking at. */
  readonly limit: number
}

/** A query for the places of matching jobs, and the CTEs that it refers to. */
export type Sources = { readonly ctes: readonly Fragment[]; readonly found: Fragment }

/**
 * Where the jobs that match can be: a union of short walks, one for each topic and source, each in the
 * order of the list and each by an index. Together they are one statement, and so one snapshot: a job
 * that moves from live to history or back meanwhile is seen once. Null when nothing can match.
 */
export function sourcesOf(dialect: Sql['dialect'], selection: Selection): Sources | null {
  const builder = new Builder(dialect, selection)
  const { idPrefix, fingerprint } = selection.filter
  if (idPrefix && narrowPrefix(idPrefix)) {
    builder.byId()
  } else {
    builder.live()
    if (fingerprint !== undefined) builder.failedWith(fingerprint)
    else {
      builder.completed()
      builder.unsuccessful()
    }
  }
  return builder.sources()
}

class Builder {
  readonly #dialect: Sql['dialect']
  readonly #selection: Selection
  readonly #filter: JobFilter
  readonly #order: Fragment
  readonly #live: readonly Fragment[]
  readonly #finished: readonly Fragment[]
  readonly #ctes: Fragment[] = []
  readonly #branches: Fragment[] = []

  constructor(dialect: Sql['dialect'], selection: Selection) {
    const { filter, direction, after, asOf } = selection
    const { queue, topic, status, fingerprint } = filter
    this.#dialect = dialect
    this.#selection = selection
    this.#filter = filter
    this.#order = raw(`x.created ${direction}, x.id ${direction}`)
    const both = conditions(dialect, filter)
    const beyond = raw(direction === 'desc' ? '<' : '>')
    if (after) both.push(q`(x.created, x.id) ${beyond} (${after.created}, ${after.id})`)
    if (queue !== undefined) both.push(q`x.queue = ${queue}`)
    if (topic !== undefined) both.push(q`x.topic = ${topic}`)
    const live = [...both]
    const finished = [...both]
    if (status) live.push(q`x.status = ${status}`)
    // A job that is retried after the error counts too; one that got over it does not.
    if (fingerprint !== undefined) live.push(q`x.fingerprint = ${fingerprint}`)
    if (asOf) live.push(q`x.created <= ${asOf}`)
    // As an expression, so that no plan walks history_failed for it from the beginning of time.
    if (asOf) finished.push(q`coalesce(x.finished_at, x.created) <= ${asOf}`)
    this.#live = live
    this.#finished = finished
  }

  live(): void {
    if (!mayBeLive(this.#filter)) return
    const index = { table: 'jobs', index: 'jobs_listed', where: raw('1 = 1') } as const
    const topics = this.#topics('live_topics', () => distinctTopics(this.#dialect, 'live_topics', index))
    const where = all([raw('x.topic = o.topic'), ...this.#live])
    this.#add(1, this.#walk(topics, { ...index, where }))
  }

  completed(): void {
    if (!mayHaveEnded(this.#filter, 'completed')) return
    const only = raw(`x.status = 'completed'`)
    const index = { table: 'history', index: 'history_completed', where: only } as const
    const topics =
      this.#filter.queue === undefined || this.#filter.topic !== undefined
        ? this.#topics('done_topics', () => distinctTopics(this.#dialect, 'done_topics', index))
        : everCountedIn(this.#filter.queue)
    const where = all([only, raw('x.topic = o.topic'), ...this.#finished])
    this.#add(0, this.#walk(topics, { ...index, where }))
  }

  /**
   * Topic, status and queue come from a CTE also where the filter knows them: given the status as a
   * constant, Postgres without statistics may take one of the indexes on failed jobs instead, which
   * have no topic in them.
   */
  unsuccessful(): void {
    const { status, topic, queue } = this.#filter
    if (!mayHaveEnded(this.#filter, 'failed') && !mayHaveEnded(this.#filter, 'cancelled')) return
    this.#ctes.push(distinctEnds(this.#dialect, 'ends'))
    const wanted = Object.entries({ status, topic, queue }).filter(([, value]) => value !== undefined)
    const ends = all(wanted.map(([column, value]) => q`${raw(column)} = ${value ?? null}`))
    const place = raw(
      `x.status <> 'completed' and x.topic = o.topic and x.status = o.status and x.queue = o.queue`,
    )
    const where = all([place, ...this.#finished])
    const scan = { table: 'history', index: 'history_unsuccessful', where } as const
    this.#add(0, this.#walk(q`(select topic, status, queue from ends where ${ends})`, scan))
  }

  failedWith(fingerprint: string): void {
    if (!mayHaveEnded(this.#filter, 'failed')) return
    const where = all([q`x.status = 'failed' and x.fingerprint = ${fingerprint}`, ...this.#finished])
    this.#add(0, this.#walk(ONCE, { table: 'history', index: 'history_fingerprint', where }))
  }

  /** By the primary key. */
  byId(): void {
    const { status, fingerprint } = this.#filter
    const rows = (table: string, where: readonly Fragment[]) =>
      q`(select x.created, x.id from ${raw(`{${table}}`)} x where ${all(where)}) n`
    if (mayBeLive(this.#filter)) this.#add(1, rows('jobs', this.#live))
    if (status && !mayHaveEnded(this.#filter, status)) return
    const finished = [...this.#finished]
    if (status) finished.push(q`x.status = ${status}`)
    if (fingerprint !== undefined) finished.push(q`x.status = 'failed' and x.fingerprint = ${fingerprint}`)
    this.#add(0, rows('history', finished))
  }

  sources(): Sources | null {
    if (this.#branches.length === 0) return null
    return { ctes: this.#ctes, found: join(this.#branches, '\nunion all\n') }
  }

  #walk(outer: Fragment, scan: Omit<Parameters<typeof each>[2], 'order' | 'limit'>): Fragment {
    return each(this.#dialect, outer, { ...scan, order: this.#order, limit: this.#selection.limit })
  }

  /** The one topic that was asked for, or those that a CTE finds. */
  #topics(name: string, cte: () => Fragment): Fragment {
    if (this.#filter.topic !== undefined) return q`(select cast(${this.#filter.topic} as text) as topic)`
    this.#ctes.push(cte())
    return raw(name)
  }

  #add(live: 0 | 1, from: Fragment): void {
    this.#branches.push(q`select ${raw(String(live))} as live, n.created, n.id from ${from}`)
  }
}

/** Topics of one queue: a small queue is not looked for among ten million jobs of another one's topics. */
function everCountedIn(queue: string): Fragment {
  return q`(select topic from {totals} where queue = ${queue}
    union select topic from {stat_deltas} where queue = ${queue})`
}
