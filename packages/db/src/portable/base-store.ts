import { type JobId, OncueError } from '@oncue/core'
import type { OperationAction } from '@oncue/core/wire'
import type { ActionOptions, ActionReport, JobDetails, PoolState, PruneRule, Target } from '../store.ts'
import { isUuid } from '../uuid.ts'
import { type Acted, type ActionBatch, act, prune } from './actions.ts'
import type { Admin } from './admin.ts'
import { type AlertStore, createAlerts } from './alerts.ts'
import { type AuditStore, createAudit } from './audit.ts'
import { createOperations, type FencedAction, type OperationStore } from './bulk-operations.ts'
import { type ChannelStore, createChannels } from './channels.ts'
import type { EventStore } from './events/event.ts'
import { createGauges, type GaugeStore } from './gauges.ts'
import { createPairings, type PairingStore } from './pairings.ts'
import type { Reads } from './reads/reads.ts'
import type { Connection, Sql } from './sql.ts'
import { createTokens, type TokenStore } from './tokens.ts'

export type Cold = {
  readonly sql: Sql
  readonly connection: Connection
  readonly reads: Reads
  readonly admin: Admin
}

/** What is the same on every database: people's actions, settings, reads, and being closed. */
export abstract class ColdStore {
  #closed: Promise<void> | undefined
  readonly #closers: (() => Promise<void>)[] = []
  #alerts: AlertStore | undefined
  #channels: ChannelStore | undefined
  #access: { tokens: TokenStore; pairings: PairingStore; audit: AuditStore } | undefined
  #gauges: GaugeStore | undefined
  #operations: OperationStore | undefined

  abstract readonly events: EventStore
  protected abstract readonly cold: Cold
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
    this.assertOpen()
    return act(target, options, {
      now: () => this.now(),
      match: this.cold.reads.matchingIds,
      runtime: this.cold.sql.runtime,
      run: (ids, asOf, by) => this.runAction({ action, ids, asOf, by }),
    })
  }

  /** For Control alone, which sends its own SQL over the connections of this store. */
  get connection(): Connection {
    const { connection } = this.cold
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

  get operations(): OperationStore {
    this.assertOpen()
    this.#operations ??= createOperations(this.cold.sql, {
      match: this.cold.reads.matchingIds,
      act: (action) => this.runFenced(action),
    })
    return this.#operations
  }

  get tokens(): TokenStore {
    return this.#openAccess().tokens
  }

  get pairings(): PairingStore {
    return this.#openAccess().pairings
  }

  get audit(): AuditStore {
    return this.#openAccess().audit
  }

  get alerts(): AlertStore {
    this.assertOpen()
    this.#alerts ??= createAlerts(this.cold.sql)
    return this.#alerts
  }

  get channels(): ChannelStore {
    this.assertOpen()
    this.#channels ??= createChannels(this.cold.sql)
    return this.#channels
  }

  #openAccess() {
    this.assertOpen()
    const { sql } = this.cold
    this.#access ??= {
      tokens: createTokens(sql),
      pairings: createPairings(sql),
      audit: createAudit(sql),
    }
    return this.#access
  }

  get gauges(): GaugeStore {
    this.assertOpen()
    this.#gauges ??= createGauges(this.cold.sql)
    return this.#gauges
  }

  async pause(...args: Parameters<Admin['pause']>) {
    this.assertOpen()
    return this.cold.admin.pause(...args)
  }

  async resume(...[queue, by]: Parameters<Admin['resume']>) {
    this.assertOpen()
    await this.cold.admin.resume(queue, by)
    this.wake([queue])
  }

  async limit(...[target, limit]: Parameters<Admin['limit']>) {
    this.assertOpen()
    await this.cold.admin.limit(target, limit)
    if ('queue' in target) this.wake([target.queue])
  }

  async announce(...args: Parameters<Admin['announce']>) {
    this.assertOpen()
    return this.cold.admin.announce(...args)
  }

  async get(id: JobId): Promise<JobDetails | null> {
    this.assertOpen()
    const job = isUuid(id) ? await this.cold.reads.get(id) : null
    return job && { ...job, events: await this.events.list(id) }
  }

  async glance(...args: Parameters<Reads['glance']>) {
    this.assertOpen()
    return this.cold.reads.glance(...args)
  }

  async list(...args: Parameters<Reads['list']>) {
    this.assertOpen()
    return this.cold.reads.list(...args)
  }

  async stats(...args: Parameters<Reads['stats']>) {
    this.assertOpen()
    return this.cold.reads.stats(...args)
  }

  async failures(...args: Parameters<Reads['failures']>) {
    this.assertOpen()
    return this.cold.reads.failures(...args)
  }

  async queues() {
    this.assertOpen()
    return this.cold.reads.queues()
  }

  async throttled(...args: Parameters<Reads['throttled']>) {
    this.assertOpen()
    return this.cold.reads.throttled(...args)
  }

  async workers() {
    this.assertOpen()
    return this.cold.reads.workers()
  }

  async topics() {
    this.assertOpen()
    return this.cold.reads.topics()
  }

  async topicClashes() {
    this.assertOpen()
    return this.cold.reads.topicClashes()
  }

  async series(...args: Parameters<Reads['series']>) {
    this.assertOpen()
    return this.cold.reads.series(...args)
  }

  async activity(...args: Parameters<Reads['activity']>) {
    this.assertOpen()
    return this.cold.reads.activity(...args)
  }

  pool(): PoolState | null {
    this.assertOpen()
    return this.cold.sql.pool()
  }

  async prune(rule: PruneRule): Promise<number> {
    this.assertOpen()
    return prune(this.cold.sql, rule, (queue, topic, limit) => this.pruneOne(rule, queue, topic, limit))
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
