import { randomUUID } from 'node:crypto'
import { type EnqueueOptions, isOncueError, type JobId, type NewJob, prepareJob } from '@oncue/core'
import { nap } from '@oncue/testing'
import type { Claimed, ClaimedJob, Settlement, Store } from '../../src/store.ts'
import type { Random } from './random.ts'
import type { Record } from './record.ts'

const LEASE_MS = 700
export const QUEUES = ['plain', 'other', 'limited'] as const
/** The most runs at once, in the queue `limited` and of each concurrency key. */
export const QUEUE_LIMIT = 4
export const KEY_LIMITS = { one: 1, two: 2, five: 5 } as const

const TOPICS = ['mail', 'bill', 'report'] as const
const KEYS = ['one', 'two', 'five'] as const
const ERROR = { class: 'Error', message: 'refused', fingerprint: 'f1' }

/** Errors that a call may return because of what the other actors do. Any other is a surprise. */
const EXPECTED: { readonly [call: string]: readonly string[] } = {
  enqueue: ['UNIQUE_KEY_LIVE', 'UNKNOWN_PARENT'],
  append: ['VERSION_MISMATCH', 'JOB_NOT_FOUND'],
}

/** Ids that an actor of this process has seen lately: operators and parents refer to these. */
export class Recent {
  readonly #ids: JobId[] = []

  add(ids: readonly JobId[]): void {
    this.#ids.push(...ids)
    this.#ids.splice(0, this.#ids.length - 300)
  }

  pick(random: Random, count: number): JobId[] {
    const { length } = this.#ids
    if (length === 0) return []
    return Array.from({ length: count }, () => this.#ids[random.below(length)] ?? '').filter(Boolean)
  }
}

/** A producer, a worker and an operator in one. Does one thing after the other, chosen at random. */
export class Actor {
  readonly #worker = randomUUID()
  readonly #store: Store
  readonly #random: Random
  readonly #record: Record
  readonly #recent: Recent
  readonly #failed: JobId[] = []
  #owned: ClaimedJob[] = []

  constructor(store: Store, random: Random, record: Record, recent: Recent) {
    this.#store = store
    this.#random = random
    this.#record = record
    this.#recent = recent
  }

  async step(): Promise<void> {
    const act = this.#random.weighted<() => Promise<unknown>>([
      [24, () => this.#enqueue()],
      [5, () => this.#enqueueChain()],
      [46, () => this.#work()],
      [5, () => this.#requeue()],
      [4, () => this.#runNow()],
      [3, () => this.#cancel()],
      [3, () => this.#delete()],
      [3, () => this.#prune()],
      [20, () => this.#call('rescue', () => this.#store.rescue(this.#worker))],
      [2, () => this.#call('rollUp', () => this.#store.rollUp())],
      [1, () => this.#pause()],
      [2, () => this.#append()],
    ])
    await act?.()
    await nap(this.#random.below(10))
  }

  /** Makes a call; an error that the other actors cannot have caused is kept as a surprise. */
  async #call<T>(name: string, send: () => Promise<T>): Promise<T | undefined> {
    this.#record.calls[name] = (this.#record.calls[name] ?? 0) + 1
    try {
      return await send()
    } catch (error) {
      const code = isOncueError(error) ? error.code : 'not an OncueError'
      if (!EXPECTED[name]?.includes(code)) this.#record.surprises.push(`${name}: ${code}: ${String(error)}`)
      return undefined
    }
  }

  async #now(): Promise<number | undefined> {
    return (await this.#call('now', () => this.#store.now()))?.getTime()
  }

  async #enqueue(): Promise<void> {
    const jobs = Array.from({ length: this.#random.chance(0.2) ? 5 : 1 }, () => this.#job())
    await this.#send(jobs)
  }

  /** After a job that has failed already, if there is one: each of these is a parent and a dependant at once. */
  async #enqueueChain(): Promise<void> {
    const chain: NewJob[] = []
    const policy = () => this.#random.one(['wait', 'wait', 'stop', 'go_on', 'cancel'])
    for (let length = 3 + this.#random.below(3); chain.length < length; ) {
      const after = chain.length > 0 ? chain.slice(-1).map(({ id }) => id) : this.#failed.slice(-1)
      const options = { queue: 'plain', after, onParentFailure: policy() }
      chain.push(prepareJob('mail', { in: 'a chain' }, options))
    }
    await this.#send(chain)
  }

  async #send(jobs: readonly NewJob[]): Promise<void> {
    const ids = await this.#call('enqueue', () => this.#store.enqueue(jobs))
    if (!ids) return
    this.#record.enqueued.push(...ids)
    this.#recent.add(ids)
  }

  #job(): NewJob {
    const random = this.#random
    const key = random.one(KEYS)
    const options: EnqueueOptions = {
      queue: random.one(QUEUES),
      priority: random.below(3),
      maxRetries: 2 + random.below(3),
      ...(random.chance(0.4) && { concurrencyKey: key, concurrencyLimit: KEY_LIMITS[key] }),
      ...(random.chance(0.2) && {
        unique: {
          key: `order-${random.below(20)}`,
          onConflict: random.one(['existing', 'existing', 'replace', 'reject']),
        },
      }),
      ...(random.chance(0.1) && { idempotencyKey: `request-${random.below(300)}` }),
      ...(random.chance(0.2) && { delay: random.below(200) }),
      ...(random.chance(0.15) && {
        after: this.#recent.pick(random, 2),
        onParentFailure: random.one(['wait', 'stop', 'go_on', 'cancel']),
      }),
      ...(random.chance(0.1) && { meta: { tenant: random.one(['north', 'south']) } }),
    }
    const payload = random.chance(0.05) ? { text: 'x'.repeat(3_000) } : { n: 1 }
    return prepareJob(random.one(TOPICS), payload, options)
  }

  async #work(): Promise<void> {
    if (this.#owned.length === 0 || (this.#owned.length < 4 && this.#random.chance(0.4))) {
      return this.#own(await this.#call('claim', () => this.#store.claim(this.#request())))
    }
    // Like a worker that hangs: its leases expire.
    if (this.#random.chance(0.12)) {
      this.#owned = []
      return
    }
    if (this.#random.chance(0.3)) await this.#beat()
    if (this.#random.chance(0.15)) await this.#recordProgress()
    await this.#settle()
  }

  #request() {
    const limit = 1 + this.#random.below(5)
    const queues = this.#random.chance(0.5) ? QUEUES : QUEUES.toReversed()
    const thorough = this.#random.chance(0.3)
    return { queues, limit, start: Math.ceil(limit / 2), worker: this.#worker, leaseMs: LEASE_MS, thorough }
  }

  #own(claimed: Claimed | undefined): void {
    if (!claimed) return
    const at = claimed.now.getTime()
    for (const job of claimed.jobs) {
      this.#record.claims.push({ id: job.id, run: job.run, at, until: at + LEASE_MS })
      this.#owned.push(job)
    }
  }

  async #beat(): Promise<void> {
    const runs = this.#owned.map(({ id, run }) => ({ id, run, started: this.#random.chance(0.7) }))
    const sentAt = await this.#now()
    const beaten = await this.#call('heartbeat', () =>
      this.#store.heartbeat({ worker: this.#worker, leaseMs: LEASE_MS, runs }),
    )
    const answeredAt = await this.#now()
    if (!sentAt || !beaten || !answeredAt) return
    const lost = new Set(beaten.lost.map(({ id }) => id))
    const kept = runs.filter(({ id }) => !lost.has(id))
    this.#record.beats.push(...kept.map(({ id, run }) => ({ id, run, answeredAt, until: sentAt + LEASE_MS })))
  }

  async #recordProgress(): Promise<void> {
    const events = [{ type: 'begun', data: 1 }, { type: 'halfway' }]
    const updates = this.#owned.map(({ id, run }) => ({ id, run, progress: '0.5', events }))
    await this.#call('record progress', () => this.#store.recordProgress(updates, this.#worker))
  }

  async #settle(): Promise<void> {
    const count = 1 + this.#random.below(this.#owned.length)
    const batch = this.#owned.splice(0, count).map((job) => this.#end(job))
    if (this.#random.chance(0.5)) {
      const answer = await this.#call('settleAndClaim', () =>
        this.#store.settleAndClaim(batch, this.#request()),
      )
      this.#learn(batch, answer)
      return this.#own(answer)
    }
    this.#learn(batch, await this.#call('settle', () => this.#store.settle(batch, this.#worker)))
    if (this.#random.chance(0.1)) {
      const otherwise: Settlement[] = batch.map(({ id, run }) => ({ id, run, kind: 'fail', error: ERROR }))
      this.#learn(otherwise, await this.#call('settle', () => this.#store.settle(otherwise, this.#worker)))
    }
  }

  #end({ id, run }: ClaimedJob): Settlement {
    const random = this.#random
    const large = JSON.stringify('r'.repeat(4_000))
    const end = random.weighted<Settlement>([
      [60, { id, run, kind: 'complete', result: random.chance(0.1) ? large : '{"ok":true}' }],
      [14, { id, run, kind: 'retry', delayMs: random.below(30), error: ERROR }],
      [9, { id, run, kind: 'fail', error: ERROR }],
      [7, { id, run, kind: 'snooze', delayMs: random.below(50) }],
      [7, { id, run, kind: 'release' }],
      [3, { id, run, kind: 'cancel' }],
    ])
    return end ?? { id, run, kind: 'complete' }
  }

  #learn(
    batch: readonly Settlement[],
    answer: { readonly stale: readonly { id: JobId; run: number }[] } | undefined,
  ): void {
    if (!answer) return
    // An actor may have claimed a job again whose earlier run it still holds: that run alone is stale.
    const isStale = (end: Settlement) => answer.stale.some(({ id, run }) => id === end.id && run === end.run)
    const accepted = batch.filter((end) => !isStale(end))
    this.#record.settled.push(...accepted.map(({ id, run, kind }) => ({ id, run, kind })))
    this.#failed.push(...accepted.filter(({ kind }) => kind === 'fail').map(({ id }) => id))
  }

  async #requeue(): Promise<void> {
    const target = this.#random.chance(0.2)
      ? ({ status: 'failed', topic: this.#random.one(TOPICS) } as const)
      : this.#recent.pick(this.#random, 2)
    await this.#call('requeue', () => this.#store.requeue(target, { by: 'an operator' }))
  }

  async #runNow(): Promise<void> {
    const target = this.#random.chance(0.2)
      ? ({ status: 'pending', topic: this.#random.one(TOPICS) } as const)
      : this.#recent.pick(this.#random, 3)
    await this.#call('runNow', () => this.#store.runNow(target, { by: 'an operator' }))
  }

  async #cancel(): Promise<void> {
    const target = this.#random.chance(0.1)
      ? ({ status: 'pending', topic: 'report', queue: 'other' } as const)
      : this.#recent.pick(this.#random, 1)
    await this.#call('cancel', () => this.#store.cancel(target, { by: 'an operator' }))
  }

  async #delete(): Promise<void> {
    const target = this.#random.chance(0.1)
      ? ({ status: 'failed', topic: 'bill' } as const)
      : this.#recent.pick(this.#random, 2)
    const report = await this.#call('delete', () => this.#store.delete(target, { by: 'an operator' }))
    this.#record.removed += report?.done ?? 0
  }

  async #prune(): Promise<void> {
    const now = await this.#now()
    if (!now) return
    const finishedBefore = new Date(now - 1_000)
    const status = this.#random.one(['completed', 'failed', 'cancelled'])
    const pruned = await this.#call('prune', () => this.#store.prune({ status, finishedBefore, limit: 50 }))
    this.#record.removed += pruned ?? 0
  }

  async #pause(): Promise<void> {
    const queue = this.#random.one(['plain', 'other'])
    await this.#call('pause', () => this.#store.pause(queue))
    await nap(this.#random.below(20))
    await this.#call('resume', () => this.#store.resume(queue))
  }

  async #append(): Promise<void> {
    const [id] = this.#recent.pick(this.#random, 1)
    if (!id) return
    const events = await this.#call('list events', () => this.#store.events.list(id))
    const version = events?.at(-1)?.version ?? 0
    const expected = this.#random.chance(0.5) ? version : null
    await this.#call('append', () => this.#store.events.append(id, expected, [{ type: 'seen', data: 1 }]))
  }
}
