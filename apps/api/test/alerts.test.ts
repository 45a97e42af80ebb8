import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type JobError, prepareJob } from '@oncue/core'
import { prepareOwnJob } from '@oncue/core/internal'
import type { AlertKind } from '@oncue/core/wire'
import { type AlertEpisode, openStore, type Settlement, type Store } from '@oncue/db'
import { type Control, openControl } from '@oncue/db/control'
import { silentLogger } from '@oncue/runtime'
import { eventually, Gate } from '@oncue/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AlertEvaluator, MESSAGES_PER_MINUTE } from '../src/alerts/evaluator.ts'
import type { Notification } from '../src/alerts/notification.ts'
import { Retention } from '../src/retention.ts'
import { createDatabase, DIALECTS, type Dialect } from './harness.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 86_400 * SECOND
const TICK = 5 * SECOND
/** How long a leader keeps its term without renewing it. */
const TERM = 15 * SECOND

const WORKER = {
  ...{ id: '01900000-0000-7000-8000-00000000000a', host: 'a', pid: 1, queues: ['mail'] },
  ...{ concurrency: 1, version: '1.0.0' },
}
const ERROR: JobError = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }

/** A database, a clock that is moved by hand, and all notifications that were sent. */
class Scene {
  #ms = Date.UTC(2026, 0, 1)
  readonly #url: string
  readonly store: Store
  readonly control: Control
  readonly told: Notification[] = []

  private constructor(url: string, store: Store, control: Control) {
    this.#url = url
    this.store = store
    this.control = control
  }

  static async open(dialect: Dialect): Promise<Scene> {
    const database = await createDatabase(dialect)
    const clock = () => scene.now()
    const store = await openStore(database.url, { clock })
    const scene: Scene = new Scene(database.url, store, await openControl(store))
    await scene.control.alertRules.addDefaults()
    onTestFinished(async () => {
      await scene.store.close()
      await database.drop()
    })
    return scene
  }

  now = () => new Date(this.#ms)

  advance(ms: number): void {
    this.#ms += ms
  }

  /** Another process. */
  async openStore(): Promise<Store> {
    const store = await openStore(this.#url, { clock: this.now })
    onTestFinished(() => store.close())
    return store
  }

  evaluator(store: Store = this.store): AlertEvaluator {
    const notify = async (notification: Notification) => void this.told.push(notification)
    return new AlertEvaluator({ store, control: this.control, notify, log: silentLogger })
  }

  /** Lets this much time pass with regular evaluations. A worker, if there is one, stays alive. */
  async watch(evaluator: AlertEvaluator, ms: number): Promise<void> {
    const step = 4 * TICK
    for (let left = ms; left >= 0; left -= step) {
      await this.store.rescue(WORKER.id)
      await evaluator.tick()
      this.advance(Math.min(step, left))
    }
  }

  async alerts(kind?: AlertKind) {
    const { items } = await this.control.alerts.list()
    return items.filter((alert) => kind === undefined || alert.kind === kind)
  }

  enqueue(count = 1): Promise<string[]> {
    return this.store.enqueue(Array.from({ length: count }, () => prepareJob('mail', {}, { queue: 'mail' })))
  }

  async run(kind: 'complete' | 'fail' | 'retry', error = ERROR): Promise<void> {
    const { jobs } = await this.store.claim({
      ...{ queues: ['mail'], limit: 100, worker: WORKER.id, leaseMs: MINUTE },
    })
    await this.store.settle(
      jobs.map(({ id, run }): Settlement => {
        if (kind === 'complete') return { id, run, kind }
        return kind === 'fail' ? { id, run, kind, error } : { id, run, kind, error, delayMs: MINUTE }
      }),
    )
  }

  /** The quickest way to an alert: a rule that fires as soon as a queue is paused. */
  async pauseWithRule(forMs = 0): Promise<void> {
    for (const { id } of await this.control.alertRules.list()) await this.control.alertRules.delete(id)
    const rule = { name: 'paused', kind: 'paused', queue: null, threshold: 0, forMs, enabled: true } as const
    await this.control.alertRules.create(rule)
    await this.store.pause('mail', 'Ada')
    this.advance(SECOND)
  }

  kinds(): string[] {
    return this.told.map(({ kind }) => kind)
  }
}

describe.each(DIALECTS)('alerts on %s', (dialect) => {
  describe('by the default rules', () => {
    interface Case {
      readonly kind: AlertKind
      readonly forMs: number
      readonly summary: string
      /** Makes the condition hold at once. */
      cause(scene: Scene): Promise<unknown>
      end(scene: Scene): Promise<unknown>
    }

    const CASES: readonly Case[] = [
      {
        kind: 'oldest_waiting',
        forMs: MINUTE,
        summary: 'mail: oldest job waits 6 min (limit 5 min)',
        async cause(scene) {
          await scene.enqueue()
          scene.advance(300 * SECOND + 1)
        },
        end: (scene) => scene.run('complete'),
      },
      {
        kind: 'failure_rate',
        forMs: 2 * MINUTE,
        summary: 'mail: 15% of 20 runs failed in 15 min (limit 10%)',
        async cause(scene) {
          await scene.enqueue(17)
          await scene.run('complete')
          await scene.enqueue(3)
          await scene.run('fail')
        },
        async end(scene) {
          await scene.enqueue(20)
          await scene.run('complete')
        },
      },
      {
        kind: 'no_workers',
        forMs: MINUTE,
        summary: 'No workers are alive, 1 job waits',
        async cause(scene) {
          await scene.store.rescue()
          await scene.enqueue()
        },
        async end(scene) {
          await scene.store.attend(WORKER)
        },
      },
      {
        kind: 'stalled',
        forMs: 5 * MINUTE,
        summary: 'mail: 2 jobs wait, none finished for 5 min',
        async cause(scene) {
          await scene.enqueue()
          await scene.run('complete')
          await scene.enqueue(2)
          scene.advance(6 * MINUTE)
        },
        end: (scene) => scene.run('complete'),
      },
      {
        kind: 'paused',
        forMs: 0,
        summary: 'mail: paused by Ada for 1 h (limit 1 h)',
        async cause(scene) {
          await scene.store.pause('mail', 'Ada')
          scene.advance(3_600 * SECOND + 1)
        },
        end: (scene) => scene.store.resume('mail'),
      },
    ]

    it.each(CASES)('$kind fires and is resolved', async ({ kind, forMs, summary, cause, end }) => {
      const scene = await Scene.open(dialect)
      const presence = kind === 'no_workers' ? null : await scene.store.attend(WORKER)
      const evaluator = scene.evaluator()
      await cause(scene)
      if (forMs > 0) {
        await scene.watch(evaluator, forMs - 1)
        expect(await scene.alerts(kind)).toEqual([])
        scene.advance(1)
      }
      await evaluator.tick()
      expect(await scene.alerts(kind)).toMatchObject([
        { status: 'firing', summary, queue: kind === 'no_workers' ? null : 'mail', firedAt: scene.now() },
      ])
      await end(scene)
      await scene.watch(evaluator, 4 * MINUTE)
      expect(await scene.alerts(kind)).toMatchObject([{ status: 'resolved', summary }])
      const told = scene.told.filter(({ alert }) => alert?.kind === kind)
      expect(told.map((notification) => notification.kind)).toEqual(['firing', 'resolved'])
      await presence?.leave()
    })

    it('nothing fires where nothing is wrong', async () => {
      const scene = await Scene.open(dialect)
      const presence = await scene.store.attend(WORKER)
      const evaluator = scene.evaluator()
      for (let minute = 0; minute < 7; minute++) {
        await scene.enqueue(10)
        await scene.watch(evaluator, MINUTE)
        await scene.run('complete')
      }
      expect(await scene.control.alerts.episodes()).toEqual([])
      expect(await scene.alerts()).toEqual([])
      await presence.leave()
    })

    it('missing workers fire no alert without jobs for a day, and internal jobs do not count', async () => {
      const scene = await Scene.open(dialect)
      await scene.store.enqueue([prepareOwnJob('oncue:notify', {}, { queue: 'oncue' })])
      const request = { queues: ['oncue'], limit: 1, worker: WORKER.id, leaseMs: MINUTE }
      const [job] = (await scene.store.claim(request)).jobs
      await scene.store.settle([{ id: job?.id ?? '', run: job?.run ?? 0, kind: 'complete' }])
      await scene.store.enqueue([prepareOwnJob('oncue:notify', {}, { queue: 'oncue' })])
      scene.advance(10 * MINUTE)
      await scene.watch(scene.evaluator(), 10 * MINUTE)
      expect(await scene.control.alerts.episodes()).toEqual([])
    })

    it('a worker without a heartbeat for a minute counts as dead', async () => {
      const scene = await Scene.open(dialect)
      const presence = await scene.store.attend(WORKER)
      await scene.enqueue()
      const evaluator = scene.evaluator()
      for (let n = 0; n < 8; n++) {
        await evaluator.tick()
        scene.advance(4 * TICK)
      }
      expect(await scene.alerts('no_workers')).toHaveLength(1)
      await presence.leave()
    })
  })

  it('a notification says what is wrong, in numbers, and where to look', async () => {
    const scene = await Scene.open(dialect)
    await scene.pauseWithRule()
    await scene.evaluator().tick()
    const [alert] = await scene.alerts()
    const summary = 'mail: paused by Ada for 1 s (limit 0 s)'
    expect(scene.told).toEqual([
      {
        id: `alert:${alert?.id}:1`,
        kind: 'firing',
        at: scene.now(),
        summary,
        path: `/alerts/${alert?.id}`,
        alert: {
          ...{
            id: alert?.id,
            ruleId: alert?.ruleId,
            kind: 'paused',
            queue: 'mail',
            state: 'firing',
            summary,
          },
          ...{ value: 1, threshold: 0, firedAt: scene.now(), acked: null, snoozed: null },
          ...{ resolvedAt: null, updated: scene.now() },
          ...{ groupId: alert?.groupId, queues: ['mail'], topic: null, fingerprint: null },
        },
        alerts: [expect.objectContaining({ id: alert?.id, state: 'firing' })],
        groups: [{ id: alert?.groupId, action: 'trigger', summary, path: `/alerts/${alert?.id}` }],
      },
    ])
  })

  it('an alert notifies again under another id when its snooze is over', async () => {
    const scene = await Scene.open(dialect)
    const evaluator = scene.evaluator()
    await scene.pauseWithRule()
    await evaluator.tick()
    const [alert] = await scene.alerts()
    await scene.control.alerts.snooze(alert?.id ?? '', new Date(scene.now().getTime() + 10 * MINUTE), 'Ada')
    await scene.watch(evaluator, 10 * MINUTE - 1)
    expect(scene.kinds()).toEqual(['firing'])
    scene.advance(1)
    await scene.watch(evaluator, MINUTE)
    expect(scene.told.map(({ id }) => id)).toEqual([`alert:${alert?.id}:1`, `alert:${alert?.id}:2`])
    expect(scene.told[1]).toMatchObject({ kind: 'firing', alert: { state: 'firing', snoozed: null } })
  })

  it('an acknowledged alert names who did it, and does not notify again before it is resolved', async () => {
    const scene = await Scene.open(dialect)
    const evaluator = scene.evaluator()
    await scene.pauseWithRule()
    await evaluator.tick()
    const [alert] = await scene.alerts()
    await scene.control.alerts.ack(alert?.id ?? '', 'Bob')
    await scene.watch(evaluator, 10 * MINUTE)
    expect(scene.kinds()).toEqual(['firing'])
    await scene.store.resume('mail')
    await scene.watch(evaluator, 2 * MINUTE)
    expect(scene.kinds()).toEqual(['firing', 'resolved'])
    expect(await scene.alerts()).toMatchObject([{ status: 'resolved', acked: { by: 'Bob' } }])
  })

  it('disabling a rule resolves its alerts', async () => {
    const scene = await Scene.open(dialect)
    const evaluator = scene.evaluator()
    await scene.pauseWithRule()
    await evaluator.tick()
    const rule = (await scene.control.alertRules.list()).find(({ builtIn }) => builtIn === null)
    await scene.control.alertRules.update(rule?.id ?? '', { enabled: false })
    await scene.watch(evaluator, MINUTE)
    expect(scene.kinds()).toEqual(['firing', 'resolved'])
  })

  it('two processes that evaluate together fire once, and resolve once', async () => {
    const scene = await Scene.open(dialect)
    const evaluators = [scene.evaluator(), scene.evaluator(await scene.openStore())]
    const lookTogether = () => Promise.all(evaluators.map((evaluator) => evaluator.tick()))
    await scene.pauseWithRule(TICK)
    for (let n = 0; n < 4; n++) {
      await lookTogether()
      scene.advance(TICK)
    }
    await scene.store.resume('mail')
    for (let n = 0; n < 15; n++) {
      await lookTogether()
      scene.advance(TICK)
    }
    expect(scene.kinds()).toEqual(['firing', 'resolved'])
    expect(await scene.alerts()).toHaveLength(1)
  })

  it('a leader that dies is replaced by another, which continues its periods', async () => {
    const scene = await Scene.open(dialect)
    const [first, second] = [scene.evaluator(), scene.evaluator(await scene.openStore())]
    await scene.pauseWithRule(TERM + TICK)
    await first.tick()
    scene.advance(TERM - 1)
    await second.tick()
    expect((await scene.control.alerts.episodes())[0]?.lookedAt).not.toEqual(scene.now())
    scene.advance(1)
    await second.tick()
    expect(scene.kinds()).toEqual([])
    scene.advance(TICK)
    await second.tick()
    expect(scene.kinds()).toEqual(['firing'])
  })

  it('a leader that stops is replaced at once', async () => {
    const scene = await Scene.open(dialect)
    const [first, second] = [scene.evaluator(), scene.evaluator(await scene.openStore())]
    await scene.pauseWithRule()
    const isHeld = scene.store.lead('alerts', 'somebody', TERM)
    expect(await isHeld).toBe(true)
    await second.tick()
    expect(scene.kinds()).toEqual([])
    await scene.store.stepDown('alerts', 'somebody')
    await first.tick()
    await first.stop()
    scene.advance(1)
    await second.tick()
    expect(scene.kinds()).toEqual(['firing'])
    expect((await scene.control.alerts.episodes())[0]?.lookedAt).toEqual(scene.now())
  })

  it('a leader that was suspended for longer than its term does not overwrite the next one', async () => {
    const scene = await Scene.open(dialect)
    const [awake, late] = [scene.evaluator(), new LateStore(scene.store)]
    await scene.pauseWithRule()
    await awake.tick()
    await scene.store.resume('mail')
    await scene.watch(awake, MINUTE - 1)
    await awake.stop()
    scene.advance(1)

    // It finds that the alert can be resolved, and is suspended before it can store that.
    const sleeping = scene.evaluator(late.asStore()).tick()
    await late.asleep.opened
    await scene.store.pause('mail', 'Ada')
    scene.advance(TERM)
    await awake.tick()
    late.awake.open()
    await sleeping
    expect(scene.kinds()).toEqual(['firing'])
    expect(await scene.alerts()).toMatchObject([{ status: 'firing', transitions: 1 }])
  })

  it('a failed notification is repeated with the next evaluation, under the same id', async () => {
    const scene = await Scene.open(dialect)
    const ids: string[] = []
    const notify = async ({ id }: Notification) => {
      ids.push(id)
      if (ids.length < 3) throw new Error('the database is away')
    }
    const warn = vi.fn()
    const evaluator = new AlertEvaluator({
      store: scene.store,
      control: scene.control,
      notify,
      log: { ...silentLogger, warn },
    })
    await scene.pauseWithRule()
    for (let n = 0; n < 5; n++) {
      await evaluator.tick()
      scene.advance(TICK)
    }
    const [alert] = await scene.alerts()
    expect(ids).toEqual(Array.from({ length: 3 }, () => `alert:${alert?.id}:1`))
    expect(warn).toHaveBeenCalledTimes(2)
  })

  it('when a process dies before it notifies, the next one does', async () => {
    const scene = await Scene.open(dialect)
    const notify = () => new Promise<void>(() => {})
    await scene.pauseWithRule()
    void new AlertEvaluator({ ...scene, notify, log: silentLogger }).tick()
    await eventually(async () => expect(await scene.control.alerts.untold()).toHaveLength(1))
    scene.advance(TERM)
    await scene.evaluator(await scene.openStore()).tick()
    expect(scene.kinds()).toEqual(['firing'])
    expect(await scene.control.alerts.untold()).toEqual([])
  })

  it('a storm is a few messages a minute: the last one sums up the rest, and later alerts wait', async () => {
    const scene = await Scene.open(dialect)
    const evaluator = scene.evaluator()
    // Groups as if fired at different times, each acknowledged before the next.
    const fire = async (count: number) => {
      const now = scene.now()
      const changes = Array.from({ length: count }, () => ({ before: null, after: anEpisode(now) }))
      await scene.store.alerts.record(now, changes)
      for (const { ruleId } of changes.map(({ after }) => after)) rules.add(ruleId)
    }
    const rules = new Set<string>()
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    await fire(8)
    await evaluator.tick()
    expect(scene.told).toHaveLength(MESSAGES_PER_MINUTE)
    expect(scene.told.map(({ alerts }) => alerts.length)).toEqual([1, 1, 1, 1, 4])
    expect(scene.told[4]).toMatchObject({ summary: expect.stringMatching(/^4 alerts: /) })
    expect(scene.told[4]?.groups).toHaveLength(4)

    await fire(2)
    await evaluator.tick()
    expect(scene.told).toHaveLength(MESSAGES_PER_MINUTE)
    scene.advance(MINUTE + MESSAGES_PER_MINUTE)
    await evaluator.tick()
    expect(scene.told).toHaveLength(MESSAGES_PER_MINUTE + 2)
    const told = scene.told.flatMap(({ alerts }) => alerts.map(({ ruleId }) => ruleId))
    expect(new Set(told)).toEqual(rules)
  })

  it('an alert that fires again for each new error is no more messages a minute', async () => {
    const scene = await Scene.open(dialect)
    await scene.store.attend(WORKER)
    const evaluator = scene.evaluator()
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    const rule = { name: 'new', kind: 'new_error', queue: null, threshold: 7, forMs: 0 } as const
    await scene.control.alertRules.create({ ...rule, enabled: true })
    const fail = async (fingerprint: string) => {
      await scene.enqueue()
      await scene.run('fail', { ...ERROR, fingerprint })
      await evaluator.tick()
      scene.advance(TICK)
    }
    for (let n = 0; n < 12; n++) await fail(`f${n}`)
    expect(scene.told).toHaveLength(MESSAGES_PER_MINUTE)
    await evaluator.tick()
    expect(scene.told).toHaveLength(MESSAGES_PER_MINUTE + 1)
    expect(scene.told.at(-1)?.summary).toContain('and 11 other errors')
  })

  it('an error is new if it was not seen for the days of its rule, and stays new for an hour', async () => {
    const scene = await Scene.open(dialect)
    const presence = await scene.store.attend(WORKER)
    const evaluator = scene.evaluator()
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    const rule = {
      name: 'new',
      kind: 'new_error',
      queue: null,
      threshold: 7,
      forMs: 0,
      enabled: true,
    } as const
    await scene.control.alertRules.create(rule)
    const fail = async () => {
      await scene.enqueue()
      await scene.run('fail')
    }
    await fail()
    await evaluator.tick()
    const summary = 'mail: new error TypeError, not seen for 7 days'
    expect(await scene.alerts()).toMatchObject([
      { status: 'firing', summary, fingerprint: 'f00d', topic: 'mail', queue: 'mail', heldFor: ['f00d'] },
    ])
    await scene.watch(evaluator, 61 * MINUTE + MINUTE)
    expect(await scene.alerts()).toMatchObject([{ status: 'resolved' }])
    // Six days later it is not new; eight days after that it is again.
    scene.advance(6 * DAY)
    await fail()
    await evaluator.tick()
    expect(await scene.alerts()).toHaveLength(1)
    scene.advance(8 * DAY)
    await fail()
    await evaluator.tick()
    expect(await scene.alerts()).toMatchObject([{ status: 'firing', summary }, { status: 'resolved' }])
    await presence.leave()
  })

  it('an error is new from its first failing run on, and not again after its job recovered', async () => {
    const scene = await Scene.open(dialect)
    const presence = await scene.store.attend(WORKER)
    const evaluator = scene.evaluator()
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    const rule = { name: 'new', kind: 'new_error', queue: null, threshold: 7, forMs: 0 } as const
    await scene.control.alertRules.create({ ...rule, enabled: true })
    const failOnce = async () => {
      await scene.enqueue()
      await scene.run('retry')
      await evaluator.tick()
      scene.advance(MINUTE)
      await scene.run('complete')
    }
    await failOnce()
    expect(await scene.alerts()).toMatchObject([{ status: 'firing', fingerprint: 'f00d' }])
    await scene.watch(evaluator, 8 * MINUTE)
    expect(await scene.alerts()).toMatchObject([{ status: 'resolved' }])
    scene.advance(DAY)
    // No job gave up, but its runs failed: the error is known.
    await failOnce()
    expect(await scene.alerts()).toHaveLength(1)
    scene.advance(8 * DAY)
    await failOnce()
    expect(await scene.alerts()).toMatchObject([{ status: 'firing' }, { status: 'resolved' }])
    await presence.leave()
  })

  it('each new error is notified once, also while the alert of another one fires', async () => {
    const scene = await Scene.open(dialect)
    const presence = await scene.store.attend(WORKER)
    const evaluator = scene.evaluator()
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    const rule = { name: 'new', kind: 'new_error', queue: null, threshold: 7, forMs: 0 } as const
    await scene.control.alertRules.create({ ...rule, enabled: true })
    const fail = async (fingerprint: string) => {
      await scene.enqueue()
      await scene.run('fail', { ...ERROR, class: fingerprint, fingerprint })
      scene.advance(TICK)
      await evaluator.tick()
    }
    const summaries = () => scene.told.map(({ summary }) => summary)
    const first = 'mail: new error A, not seen for 7 days'
    await fail('A')
    await fail('A')
    expect(summaries()).toEqual([first])
    await fail('B')
    await fail('A')
    expect(summaries()).toEqual([first, 'mail: new error B, not seen for 7 days, and 1 other error'])
    const [alert] = await scene.alerts()
    expect(alert).toMatchObject({ status: 'firing', fingerprint: 'B', transitions: 2 })

    // A snooze is for the whole rule.
    await scene.control.alerts.snooze(alert?.id ?? '', new Date(scene.now().getTime() + DAY), 'Ada')
    await fail('C')
    expect(summaries()).toHaveLength(2)
    await presence.leave()
  })

  it('a single topic may have its own limit', async () => {
    const scene = await Scene.open(dialect)
    const presence = await scene.store.attend(WORKER)
    for (const { id } of await scene.control.alertRules.list()) await scene.control.alertRules.delete(id)
    const rule = { name: 'mail', kind: 'topic_failure_rate', queue: null, threshold: 0.05, forMs: 0 } as const
    for (const topic of ['mail', 'other'])
      await scene.control.alertRules.create({ ...rule, topic, enabled: true })
    await scene.enqueue(18)
    await scene.run('complete')
    await scene.enqueue(2)
    await scene.run('fail')
    await scene.evaluator().tick()
    expect(await scene.alerts()).toMatchObject([
      { topic: 'mail', queue: null, summary: 'mail: 10% of 20 runs failed in 15 min (limit 5%)' },
    ])
    await presence.leave()
  })

  it('without changes, only the term of the leader is written', async () => {
    const scene = await Scene.open(dialect)
    const record = vi.spyOn(scene.store.alerts, 'record')
    await scene.watch(scene.evaluator(), MINUTE)
    expect(record).not.toHaveBeenCalled()
  })

  it('resolved alerts are deleted after 30 days', async () => {
    const scene = await Scene.open(dialect)
    const evaluator = scene.evaluator()
    await scene.pauseWithRule()
    await evaluator.tick()
    await scene.store.resume('mail')
    await scene.watch(evaluator, 2 * MINUTE)
    const retention = new Retention(scene)
    scene.advance(29 * DAY)
    await retention.prune()
    expect(await scene.alerts()).toHaveLength(1)
    scene.advance(DAY)
    await retention.prune()
    expect(await scene.alerts()).toEqual([])
    await retention.stop()
  })

  it('an alert fires when the last worker was killed', async () => {
    const database = await createDatabase(dialect)
    const store = await openStore(database.url)
    const control = await openControl(store)
    await control.alertRules.addDefaults()
    const rule = (await control.alertRules.list()).find(({ kind }) => kind === 'no_workers')
    await control.alertRules.update(rule?.id ?? '', { forMs: 0 })
    await store.enqueue([prepareJob('mail', {}, { queue: 'mail' })])
    const worker = fork(new URL('./attending.ts', import.meta.url), [database.url], { execArgv: [] })
    await once(worker, 'message')

    const told: string[] = []
    const notify = async ({ summary }: Notification) => void told.push(summary)
    const evaluator = new AlertEvaluator({ store, control, notify, log: silentLogger })
    await evaluator.tick()
    expect(told).toEqual([])
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    await eventually(async () => {
      await evaluator.tick()
      expect(told).toEqual(['No workers are alive, 1 job waits'])
    })
    await evaluator.stop()
    await store.close()
    await database.drop()
  })
})

/** A firing alert in its own group. */
function anEpisode(now: Date): AlertEpisode {
  return {
    ...{ ruleId: crypto.randomUUID(), kind: 'paused', queue: 'mail', topic: null, fingerprint: null },
    ...{ groupId: crypto.randomUUID(), status: 'firing', value: 1, threshold: 0, summary: 'mail: paused' },
    ...{ heldFor: ['mail'], since: now, firedAt: now, calmSince: null, resolvedAt: null, transitions: 1 },
  }
}

/** A store whose process is suspended before it stores the result of an evaluation. */
class LateStore {
  readonly #store: Store
  readonly asleep = new Gate()
  readonly awake = new Gate()

  constructor(store: Store) {
    this.#store = store
  }

  asStore(): Store {
    const { alerts } = this.#store
    const record: Store['alerts']['record'] = async (...args) => {
      this.asleep.open()
      await this.awake.opened
      return alerts.record(...args)
    }
    return new Proxy(this.#store, {
      get: (store, name) => {
        if (name === 'alerts') return { ...alerts, record }
        const value: unknown = Reflect.get(store, name, store)
        return typeof value === 'function' ? value.bind(store) : value
      },
    })
  }
}
