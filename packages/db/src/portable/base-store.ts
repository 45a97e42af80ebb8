import { type JobId, OncueError } from '@oncue/core'
import type { BulkAction } from '@oncue/core/wire'
import type {
  ActionOptions,
  ActionReport,
  JobDetails,
  JobFilter,
  PageRequest,
  PayloadChange,
  PoolState,
  PruneRule,
  Rerun,
  Target,
} from '../store.ts'
import { assertWorkerId, isUuid } from '../uuid.ts'
import {
  type Acted,
  type ActionBatch,
  act,
  type PayloadOutcome,
  prune,
  type RerunOutcome,
  refusePayload,
  refuseRerun,
} from './actions.ts'
import { type Admin, createAdmin } from './admin.ts'
import { type AlertStore, createAlerts } from './alerts.ts'
import { countQuestions, questions } from './asks.ts'
import { type AuditStore, assertBy, createAudit } from './audit.ts'
import { type BulkOperationStore, createBulkOperations, type FencedAction } from './bulk-operations.ts'
import { type ChannelStore, createChannels } from './channels.ts'
import { LATER } from './enqueue.ts'
import type { EventStore } from './events/event.ts'
import { createGauges, type GaugeStore } from './gauges.ts'
import { createPairings, type PairingStore } from './pairings.ts'
import { stats } from './reads/counts.ts'
import { explain } from './reads/explain.ts'
import { explainQueue } from './reads/explain-queue.ts'
import { failures } from './reads/failures.ts'
import { family } from './reads/family.ts'
import { get, glance } from './reads/jobs.ts'
import { list, type Match, matching } from './reads/list.ts'
import { queues, throttled } from './reads/queues.ts'
import { activity, series } from './reads/series.ts'
import { timeline } from './reads/timeline.ts'
import { tree } from './reads/tree.ts'
import { waitedFor } from './reads/waited-for.ts'
import { pruneWorkers, topicClashes, topics, worker, workers } from './reads/workers.ts'
import { createSettings, type SettingStore } from './settings.ts'
import type { Connection, Sql } from './sql.ts'
import { createTokens, type TokenStore } from './tokens.ts'

export type Access = { readonly sql: Sql; readonly connection: Connection }

type Parts = ReturnType<typeof createParts>

function createParts(sql: Sql, act: (action: FencedAction) => Promise<boolean>) {
  const match: Match = (...given) => matching(sql, ...given)
  return {
    match,
    admin: createAdmin(sql),
    settings: createSettings(sql),
    tokens: createTokens(sql),
    pairings: createPairings(sql),
    audit: createAudit(sql),
    alerts: createAlerts(sql),
    channels: createChannels(sql),
    gauges: createGauges(sql),
    bulkOperations: createBulkOperations(sql, { match, act }),
  }
}

/** What is the same on every database: people's actions, settings, reads, and being closed. */
export abstract class BaseStore {
  #closed: Promise<void> | undefined
  readonly #closers: (() => Promise<void>)[] = []
  #made: Parts | undefined

  abstract readonly events: EventStore
  protected abstract readonly access: Access
  abstract now(): Promise<Date>
  /** One bounded batch of an action. */
  protected abstract runAction(batch: ActionBatch): Promise<Acted[]>
  /** One job, in one transaction. */
  protected abstract runPayloadChange(change: PayloadChange): Promise<PayloadOutcome>
  protected abstract runRerun(rerun: Rerun): Promise<RerunOutcome>
  /** The same as `runAction` and what is written beside it, in one transaction. False: its fence did not hold. */
  protected abstract runFenced(action: FencedAction): Promise<boolean>
  /** Removes up to `limit` jobs of one queue and topic. */
  protected abstract pruneOne(rule: PruneRule, queue: string, topic: string, limit: number): Promise<number>
  /** Wakes the workers that wait for jobs in these queues. */
  protected abstract wake(queues: readonly string[]): void
  /** Closes everything; called once. */
  protected abstract shutDown(): Promise<void>

  requeue(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('requeue', target, options)
  }

  runNow(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('run_now', target, options)
  }

  cancel(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('cancel', target, options)
  }

  delete(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('delete', target, options)
  }

  async #act(action: BulkAction, target: Target, options: ActionOptions = {}): Promise<ActionReport> {
    return act(target, options, {
      now: () => this.now(),
      match: this.#parts.match,
      runtime: this.access.sql.runtime,
      run: (ids, asOf, by) => this.runAction({ action, ids, asOf, by }),
    })
  }

  async requeueWithPayload(change: PayloadChange): Promise<void> {
    this.assertOpen()
    assertBy(change.by)
    const outcome = isUuid(change.id) ? await this.runPayloadChange(change) : 'JOB_NOT_FOUND'
    if (outcome !== 'done') throw refusePayload(outcome, change.id)
  }

  async requeueFrom(rerun: Rerun): Promise<void> {
    this.assertOpen()
    assertBy(rerun.by)
    const outcome = isUuid(rerun.id) ? await this.runRerun(rerun) : 'JOB_NOT_FOUND'
    if (outcome !== 'done') throw refuseRerun(outcome, rerun)
  }

  /** For Control alone, which sends its own SQL over the connections of this store. */
  get connection(): Connection {
    const { connection } = this.access
    return {
      dialect: connection.dialect,
      send: async (statement) => {
        this.assertOpen()
        return connection.send(statement)
      },
    }
  }

  /** Created at the first use; refused once the store is closed. */
  get #parts(): Parts {
    this.assertOpen()
    this.#made ??= createParts(this.access.sql, (action) => this.runFenced(action))
    return this.#made
  }

  get bulkOperations(): BulkOperationStore {
    return this.#parts.bulkOperations
  }

  get settings(): SettingStore {
    return this.#parts.settings
  }

  get tokens(): TokenStore {
    return this.#parts.tokens
  }

  get pairings(): PairingStore {
    return this.#parts.pairings
  }

  get audit(): AuditStore {
    return this.#parts.audit
  }

  get alerts(): AlertStore {
    return this.#parts.alerts
  }

  get channels(): ChannelStore {
    return this.#parts.channels
  }

  get gauges(): GaugeStore {
    return this.#parts.gauges
  }

  async pause(...args: Parameters<Admin['pause']>) {
    await this.#parts.admin.pause(...args)
    // It may end sooner than the pause before it.
    this.wake([LATER])
  }

  async resume(...[queue, by]: Parameters<Admin['resume']>) {
    await this.#parts.admin.resume(queue, by)
    this.wake([queue])
  }

  async limit(...[target, limit]: Parameters<Admin['limit']>) {
    await this.#parts.admin.limit(target, limit)
    this.wake(['queue' in target ? target.queue : LATER])
  }

  async announce(...args: Parameters<Admin['announce']>) {
    return this.#parts.admin.announce(...args)
  }

  /** Refused once the store is closed. */
  get #sql(): Sql {
    this.assertOpen()
    return this.access.sql
  }

  #reading<Args extends readonly unknown[], Result>(read: (sql: Sql, ...args: Args) => Promise<Result>) {
    return async (...args: Args): Promise<Result> => read(this.#sql, ...args)
  }

  async get(id: JobId): Promise<JobDetails | null> {
    const job = await get(this.#sql, id)
    return job && { ...job, events: await this.events.list(id) }
  }

  readonly explain = this.#reading(explain)
  readonly timeline = this.#reading(timeline)
  readonly questions = this.#reading(questions)
  readonly countQuestions = this.#reading(countQuestions)
  readonly family = this.#reading(family)
  readonly tree = this.#reading(tree)
  readonly waitedFor = this.#reading(waitedFor)
  readonly glance = this.#reading(glance)
  readonly stats = this.#reading(stats)
  readonly failures = this.#reading(failures)
  readonly queues = this.#reading(queues)
  readonly throttled = this.#reading(throttled)
  readonly explainQueue = this.#reading(explainQueue)
  readonly workers = this.#reading(workers)
  readonly worker = this.#reading(worker)
  readonly pruneWorkers = this.#reading(pruneWorkers)
  readonly topics = this.#reading(topics)
  readonly topicClashes = this.#reading(topicClashes)
  readonly series = this.#reading(series)
  readonly activity = this.#reading(activity)

  async list(filter: JobFilter = {}, page: PageRequest = {}) {
    return list(this.#sql, filter, page)
  }

  pool(): PoolState | null {
    return this.#sql.pool()
  }

  async prune(rule: PruneRule): Promise<number> {
    return prune(this.#sql, rule, (queue, topic, limit) => this.pruneOne(rule, queue, topic, limit))
  }

  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#closers.map((close) => close())).then(() => this.shutDown())
    return this.#closed
  }

  /** For parts that use the connections of this store and are closed with it. */
  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  /** Checks the id of the worker that calls, too, if it is given. */
  protected assertOpen(worker?: string): void {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
    if (worker !== undefined) assertWorkerId(worker)
  }
}
