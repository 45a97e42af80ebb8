import { type JobId, OncueError } from '@oncue/core'
import type { OperationAction } from '@oncue/core/wire'
import type { ActionOptions, ActionReport, JobDetails, PoolState, PruneRule, Target } from '../store.ts'
import { type Acted, type ActionBatch, act, prune } from './actions.ts'
import { type Admin, createAdmin } from './admin.ts'
import { type AlertStore, createAlerts } from './alerts.ts'
import { type AuditStore, createAudit } from './audit.ts'
import { createOperations, type FencedAction, type OperationStore } from './bulk-operations.ts'
import { type ChannelStore, createChannels } from './channels.ts'
import type { EventStore } from './events/event.ts'
import { createGauges, type GaugeStore } from './gauges.ts'
import { createPairings, type PairingStore } from './pairings.ts'
import { createReads, type Reads } from './reads/reads.ts'
import type { Connection, Sql } from './sql.ts'
import { createTokens, type TokenStore } from './tokens.ts'

export type Access = { readonly sql: Sql; readonly connection: Connection }

type Parts = ReturnType<typeof createParts>

function createParts(sql: Sql, act: (action: FencedAction) => Promise<boolean>) {
  const reads = createReads(sql)
  return {
    reads,
    admin: createAdmin(sql),
    tokens: createTokens(sql),
    pairings: createPairings(sql),
    audit: createAudit(sql),
    alerts: createAlerts(sql),
    channels: createChannels(sql),
    gauges: createGauges(sql),
    operations: createOperations(sql, { match: reads.matchingIds, act }),
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
  /** The same and what is written beside it, in one transaction. False: its fence did not hold. */
  protected abstract runFenced(action: FencedAction): Promise<boolean>
  /** Removes up to `limit` jobs of one queue and topic. */
  protected abstract pruneOne(rule: PruneRule, queue: string, topic: string, limit: number): Promise<number>
  /** Tells whoever waits for work in these queues to look. */
  protected abstract wake(queues: readonly string[]): void
  /** Lets go of everything; called once. */
  protected abstract shutDown(): Promise<void>

  requeue(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('requeue', target, options)
  }

  cancel(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('cancel', target, options)
  }

  delete(target: Target, options?: ActionOptions): Promise<ActionReport> {
    return this.#act('delete', target, options)
  }

  async #act(action: OperationAction, target: Target, options: ActionOptions = {}): Promise<ActionReport> {
    return act(target, options, {
      now: () => this.now(),
      match: this.#parts.reads.matchingIds,
      runtime: this.access.sql.runtime,
      run: (ids, asOf, by) => this.runAction({ action, ids, asOf, by }),
    })
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
      begin: async () => {
        this.assertOpen()
        return connection.begin()
      },
    }
  }

  /** Made at the first use; refused once the store is closed. */
  get #parts(): Parts {
    this.assertOpen()
    this.#made ??= createParts(this.access.sql, (action) => this.runFenced(action))
    return this.#made
  }

  get operations(): OperationStore {
    return this.#parts.operations
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
    return this.#parts.admin.pause(...args)
  }

  async resume(...[queue, by]: Parameters<Admin['resume']>) {
    await this.#parts.admin.resume(queue, by)
    this.wake([queue])
  }

  async limit(...[target, limit]: Parameters<Admin['limit']>) {
    await this.#parts.admin.limit(target, limit)
    if ('queue' in target) this.wake([target.queue])
  }

  async announce(...args: Parameters<Admin['announce']>) {
    return this.#parts.admin.announce(...args)
  }

  async get(id: JobId): Promise<JobDetails | null> {
    const job = await this.#parts.reads.get(id)
    return job && { ...job, events: await this.events.list(id) }
  }

  async glance(...args: Parameters<Reads['glance']>) {
    return this.#parts.reads.glance(...args)
  }

  async list(...args: Parameters<Reads['list']>) {
    return this.#parts.reads.list(...args)
  }

  async stats(...args: Parameters<Reads['stats']>) {
    return this.#parts.reads.stats(...args)
  }

  async failures(...args: Parameters<Reads['failures']>) {
    return this.#parts.reads.failures(...args)
  }

  async queues() {
    return this.#parts.reads.queues()
  }

  async throttled(...args: Parameters<Reads['throttled']>) {
    return this.#parts.reads.throttled(...args)
  }

  async workers() {
    return this.#parts.reads.workers()
  }

  async topics() {
    return this.#parts.reads.topics()
  }

  async topicClashes() {
    return this.#parts.reads.topicClashes()
  }

  async series(...args: Parameters<Reads['series']>) {
    return this.#parts.reads.series(...args)
  }

  async activity(...args: Parameters<Reads['activity']>) {
    return this.#parts.reads.activity(...args)
  }

  pool(): PoolState | null {
    this.assertOpen()
    return this.access.sql.pool()
  }

  async prune(rule: PruneRule): Promise<number> {
    this.assertOpen()
    return prune(this.access.sql, rule, (queue, topic, limit) => this.pruneOne(rule, queue, topic, limit))
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all(this.#closers.map((close) => close())).then(() => this.shutDown())
    return this.#closed
  }

  /** For what uses the connections of this store and ends with it. */
  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  protected assertOpen(): void {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
  }
}
