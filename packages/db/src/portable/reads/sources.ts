import { isFinished, type JobStatus } from '@oncue/core'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { statusesOf } from '@oncue/core/wire'
import type { JobFilter } from '../../store.ts'
import { all, type Fragment, join, q, raw, type Sql } from '../sql.ts'
import { inQueueAndTopic, type QueueAndTopic } from './counts.ts'
import type { Direction, ListPosition } from './cursor.ts'
import {
  ANY_TEXT,
  conditions,
  createdWithin,
  type DatedFilter,
  isIn,
  isOneOf,
  mayBeLive,
  mayHaveEnded,
  narrowPrefix,
  waitingStatesOf,
} from './filter.ts'
import { having, type MetaEntry } from './meta.ts'
import { distinctHeads, distinctTopics, each, newestPositions, ONCE, type Scan } from './scan.ts'

export type Selection = {
  readonly filter: DatedFilter
  readonly direction: Direction
  /** Only what comes after this position, in that direction. */
  readonly after?: ListPosition | undefined
  /** Only jobs that had ended, or existed, at that moment. */
  readonly asOf?: Date | undefined
  /** By this entry of their meta, instead of topic by topic. */
  readonly by?: MetaEntry | undefined
  /** How many of each source are needed at most. */
  readonly limit: number
}

/** A query for the positions of matching jobs, and the CTEs that it refers to. */
export type Sources = { readonly ctes: readonly Fragment[]; readonly found: Fragment }

/**
 * Where matching jobs can be: a union of short walks, one for each topic or queue and source, each in
 * the order of the list and each by an index. Together they are one statement, and so one snapshot: a job
 * that moves between live and history meanwhile is seen once. Null when nothing can match.
 */
export function sourcesOf(dialect: Sql['dialect'], selection: Selection): Sources | null {
  const builder = new Builder(dialect, selection)
  const { idPrefix, fingerprint } = selection.filter
  if (idPrefix && narrowPrefix(idPrefix)) {
    builder.byId()
  } else if (selection.by) {
    builder.byMeta(selection.by)
  } else if (fingerprint !== undefined) {
    builder.failing()
    builder.failedWith(fingerprint)
  } else {
    builder.live()
    builder.completed()
    builder.unsuccessful()
  }
  return builder.sources()
}

class Builder {
  readonly #dialect: Sql['dialect']
  readonly #selection: Selection
  readonly #filter: DatedFilter
  /** Undefined: any. */
  readonly #statuses: readonly JobStatus[] | undefined
  readonly #order: Fragment
  readonly #since: readonly Fragment[]
  readonly #live: readonly Fragment[]
  readonly #finished: readonly Fragment[]
  readonly #ctes: Fragment[] = []
  readonly #branches: Fragment[] = []

  constructor(dialect: Sql['dialect'], selection: Selection) {
    const { filter, direction, after, asOf } = selection
    const { queue, topic, fingerprint, createdFrom, createdTo } = filter
    this.#dialect = dialect
    this.#selection = selection
    this.#filter = filter
    this.#statuses = statusesOf(filter)
    this.#order = raw(`x.created ${direction}, x.id ${direction}`)
    this.#since = createdWithin('x', { createdFrom })
    const both = [...conditions(dialect, filter), ...createdWithin('x', { createdTo })]
    const beyond = raw(direction === 'desc' ? '<' : '>')
    if (after) both.push(q`(x.created, x.id) ${beyond} (${after.created}, ${after.id})`)
    if (queue !== undefined) both.push(q`x.queue = ${queue}`)
    if (topic !== undefined) both.push(q`x.topic = ${topic}`)
    // An action on all jobs does not include Oncue's own.
    if (asOf && queue === undefined && topic === undefined) both.push(q`x.queue <> ${INTERNAL_QUEUE}`)
    const live = [...both]
    const finished = [...both]
    const liveStatuses = this.#statuses?.filter((status) => !isFinished(status))
    if (liveStatuses?.length) live.push(isOneOf('x.status', liveStatuses))
    const states = waitingStatesOf(filter)
    if (states) {
      const now = q`${asOf ?? filter.now ?? null}`
      const of = states.map((state) => isIn(state, 'x.', now))
      live.push(q`(x.status = 'processing' or ${join(of, ' or ')})`)
    }
    // A job that is retried after the error counts too; one that got over it, or was requeued, does not.
    if (fingerprint !== undefined) live.push(q`x.fingerprint = ${fingerprint}`)
    if (asOf) live.push(q`x.created <= ${asOf}`)
    if (asOf) live.push(...asItWas(filter, asOf))
    // As an expression, so that no plan walks the whole of history_failed for it.
    if (asOf) finished.push(q`coalesce(x.finished_at, x.created) <= ${asOf}`)
    this.#live = live
    this.#finished = finished
  }

  live(): void {
    if (!mayBeLive(this.#filter)) return
    const index = { table: 'jobs', index: 'jobs_listed', where: raw(`x.topic <> ''`) } as const
    const topics = this.#topics('live_topics', () => distinctTopics(this.#dialect, 'live_topics', index))
    const where = all([index.where, raw('x.topic = o.topic'), ...this.#live])
    this.#add(1, this.#walk(topics, { ...index, where }, ['topic']))
  }

  completed(): void {
    if (!mayHaveEnded(this.#filter, 'completed')) return
    const places = everCounted(this.#filter)
    const walk = (outer: Fragment, place: string) => {
      const where = all([raw(`x.status = 'completed' and x.topic = o.topic and ${place}`), ...this.#finished])
      const scan = { table: 'history', index: 'history_completed', where } as const
      this.#add(0, this.#walk(outer, scan, ['topic', 'queue', 'status']))
    }
    if (this.#dialect === 'sqlite') {
      walk(places, 'x.queue = o.queue')
      return
    }
    // The index has one byte of the queue (see its migration), and queues that share a byte share a walk: one for each
    // would pass over the jobs of the others.
    const outer = q`(select distinct topic, ${raw(byteOf('queue'))} as byte from ${places} p)`
    walk(outer, `${byteOf('x.queue')} = o.byte`)
  }

  /**
   * Topic, status and queue come from a CTE also where the filter knows them: given the status as a
   * constant, Postgres without statistics may take one of the indexes on failed jobs instead, which
   * have no topic in them.
   */
  unsuccessful(): void {
    const { topic, queue, errorText } = this.#filter
    if (!mayHaveEnded(this.#filter, 'failed') && !mayHaveEnded(this.#filter, 'cancelled')) return
    const index = {
      table: 'history',
      index: 'history_unsuccessful',
      where: raw(`x.status <> 'completed'`),
    } as const
    this.#ctes.push(distinctHeads(this.#dialect, 'ends', index, ['topic', 'status', 'queue']))
    const wanted = Object.entries({ topic, queue }).filter(([, value]) => value !== undefined)
    const statuses = this.#statuses?.filter(isFinished)
    const ends = all([
      ...wanted.map(([column, value]) => q`${raw(column)} = ${value ?? null}`),
      ...(statuses ? [isOneOf('status', statuses)] : []),
      ...(errorText === undefined ? [] : [raw(`status = 'failed'`)]),
    ])
    const place = raw(
      `x.status <> 'completed' and x.topic = o.topic and x.status = o.status and x.queue = o.queue`,
    )
    const where = all([place, ...this.#finished])
    const scan = { ...index, where }
    const outer = q`(select topic, status, queue from ends where ${ends})`
    this.#add(0, this.#walk(outer, scan, ['topic', 'status', 'queue']))
  }

  /** Live jobs whose last run failed with the fingerprint of the filter. */
  failing(): void {
    if (!mayBeLive(this.#filter)) return
    const scan = { table: 'jobs', index: 'jobs_failing_listed', where: all(this.#live) } as const
    this.#add(1, this.#walk(ONCE, scan, ['fingerprint']))
  }

  failedWith(fingerprint: string): void {
    if (!mayHaveEnded(this.#filter, 'failed')) return
    const where = all([q`x.status = 'failed' and x.fingerprint = ${fingerprint}`, ...this.#finished])
    const scan = { table: 'history', index: 'history_fingerprint', where } as const
    this.#add(0, this.#walk(ONCE, scan, ['status', 'fingerprint']))
  }

  /** By the primary key. */
  byId(): void {
    const rows = (table: string, where: readonly Fragment[]) =>
      q`(select x.created, x.id from ${raw(`{${table}}`)} x where ${all([...where, ...this.#since])}) n`
    if (mayBeLive(this.#filter)) this.#add(1, rows('jobs', this.#live))
    if (this.#mayBeFinished()) this.#add(0, rows('history', this.#ended()))
  }

  /**
   * One walk for live and finished jobs. The table of each is found by a scalar subquery, which no plan turns
   * into a scan of the whole table.
   */
  byMeta(entry: MetaEntry): void {
    const { filter, direction, after, limit } = this.#selection
    const found = (live: 0 | 1, from: string, where: readonly Fragment[]) =>
      q`(select ${raw(`${live} from ${from}`)} where x.id = w.id and x.created = w.created and ${all(where)})`
    // Failed jobs are looked up among the few that failed: most of the others are never read.
    const hint =
      this.#isUnsuccessful() && this.#dialect === 'sqlite' ? 'indexed by {history_unsuccessful_id}' : ''
    const places = [
      ...(mayBeLive(filter) ? [found(1, '{jobs} x', this.#live)] : []),
      ...(this.#mayBeFinished() ? [found(0, `{history} x ${hint}`, this.#ended())] : []),
    ]
    const where = having(entry, filter, after, direction)
    const order = raw(`created ${direction}, id ${direction}`)
    const have = q`select m.created, m.job_id as id from {job_meta} m where ${where} order by ${order}`
    this.#branches.push(q`select live, created, id from (
      select coalesce(${join(places, ', ')}, null) as live, w.created, w.id from (${have}) w) f
      where live is not null order by ${order} limit ${limit}`)
  }

  sources(): Sources | null {
    if (this.#branches.length === 0) return null
    return { ctes: this.#ctes, found: join(this.#branches, '\nunion all\n') }
  }

  #mayBeFinished(): boolean {
    return this.#statuses?.some((status) => mayHaveEnded(this.#filter, status)) ?? true
  }

  #isUnsuccessful(): boolean {
    const { fingerprint, errorText } = this.#filter
    const isOther = this.#statuses !== undefined && !this.#statuses.includes('completed')
    return fingerprint !== undefined || errorText !== undefined || isOther
  }

  /** Conditions that no index of a source covers. */
  #ended(): Fragment[] {
    const { fingerprint, errorText } = this.#filter
    const statuses = this.#statuses?.filter(isFinished)
    const ended = [...this.#finished]
    if (this.#isUnsuccessful()) ended.push(raw(`x.status <> 'completed'`))
    if (statuses?.length) ended.push(isOneOf('x.status', statuses))
    if (fingerprint !== undefined) ended.push(q`x.status = 'failed' and x.fingerprint = ${fingerprint}`)
    if (errorText !== undefined) ended.push(raw(`x.status = 'failed'`))
    return ended
  }

  /** `known`: what the index holds of a job beside its position. */
  #walk(outer: Fragment, scan: Omit<Scan, 'order' | 'limit'>, known: readonly (keyof JobFilter)[]): Fragment {
    const { direction, limit, asOf } = this.#selection
    const bounded = { ...scan, order: this.#order, limit }
    const asked = Object.entries(this.#filter).flatMap(([name, value]) =>
      value === undefined || value === ANY_TEXT ? [] : [name],
    )
    const knows: readonly string[] = [...known, 'createdFrom', 'createdTo', 'idPrefix', 'idSuffix', 'now']
    const isCovered = direction === 'desc' && !asOf && asked.every((name) => knows.includes(name))
    if (this.#dialect === 'sqlite' && isCovered)
      return newestPositions(outer, bounded, this.#filter.createdFrom)
    return each(this.#dialect, outer, { ...bounded, where: all([scan.where, ...this.#since]) })
  }

  /** The one topic of the filter, or those that a CTE finds. */
  #topics(name: string, cte: () => Fragment): Fragment {
    if (this.#filter.topic !== undefined) return q`(select cast(${this.#filter.topic} as text) as topic)`
    this.#ctes.push(cte())
    return raw(name)
  }

  #add(live: 0 | 1, from: Fragment): void {
    this.#branches.push(q`select ${raw(String(live))} as live, n.created, n.id from ${from}`)
  }
}

/**
 * A job that was put back, started or failed since may match only now. A claim does not write `updated`, and
 * every heartbeat does: a run that had started by then had its status, and the error for which it is retried.
 */
function asItWas(filter: JobFilter, asOf: Date): Fragment[] {
  const { fingerprint, errorText } = filter
  const begun = q`x.started_at <= ${asOf}`
  const statuses = statusesOf(filter)?.filter((status) => !isFinished(status))
  const [only] = statuses?.length === 1 ? statuses : []
  if (only === 'processing') return [begun]
  if (only !== undefined) return [q`x.updated <= ${asOf}`]
  const runsOrWaits = !statuses || (statuses.includes('pending') && statuses.includes('processing'))
  if (statuses?.length && !runsOrWaits)
    return [q`case when x.status = 'processing' then ${begun} else x.updated <= ${asOf} end`]
  const unchanged = q`x.status = 'processing' and ${begun} or x.updated <= ${asOf}`
  if (fingerprint !== undefined || errorText !== undefined) return [q`(${unchanged})`]
  if (!runsOrWaits) return []
  // Jobs move between waiting and running all the time, and match in both. As a scalar subquery: of `exists` Postgres
  // may make a scan of all events.
  return [
    q`(${unchanged} or (select 1 from {events} e where e.job_id = x.id and e.type = 'requeued'
      and e.created > ${asOf} limit 1) is null)`,
  ]
}

const byteOf = (queue: string) => `(hashtext(${queue}) >> 24)::"char"`

/** Which topics were ever in which queues: the end of a job is counted in the same transaction. */
function everCounted(filter: QueueAndTopic): Fragment {
  const where = inQueueAndTopic(filter)
  return q`(select topic, queue from {totals} where ${where}
    union select topic, queue from {stat_deltas} where ${where})`
}
