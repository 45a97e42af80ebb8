import type { EnqueueOptions } from '@oncue/core'
import type { Registry, TopicDescription } from '@oncue/core/internal'
import type { Schedule, Store, Subscription } from '@oncue/db'
import { type Logger, Loop, type Service } from '@oncue/runtime'
import { UNNAMED_SERVICE } from '../service.ts'
import type { Duty } from './maintenance.ts'

/**
 * Writes the schedules declared in code to the database: those of this service and of topics served here. A paused
 * schedule stays paused. One that is no longer declared is withdrawn, unless the service is unnamed: then another
 * unnamed service may declare it.
 */
export async function saveSchedules(
  { schedules }: Store,
  registry: Registry,
  service: string,
  log: Logger,
): Promise<void> {
  const known = new Map((await schedules.list()).map((row) => [row.name, row]))
  for (const description of registry.describe()) {
    const row = known.get(description.topic)
    const wanted = toSchedule(description, service)
    if (!wanted) {
      if (row?.source !== 'code') continue
      if (service !== UNNAMED_SERVICE) await schedules.withdraw(row.name, service)
      else if ((row.service ?? service) === service) {
        const hint = `name each service (ONCUE_SERVICE); if none declares it, run: oncue schedules remove ${row.name}`
        log.warn(
          { schedule: row.name, service },
          `schedule ${row.name} is not declared in this code, but was kept: another unnamed service may declare it; ${hint}`,
        )
      }
    } else if (!row || !isSame(row, wanted)) {
      const { name, service: owner } = await schedules.save(wanted)
      if (owner !== service) {
        const hint = 'rename the topic in one of them, or remove one declaration'
        log.warn(
          { schedule: name, service, owner },
          `schedule ${name} belongs to service ${owner}; the declaration in ${service} is ignored; ${hint}`,
        )
      }
    }
  }
}

function toSchedule(description: TopicDescription, service: string): Schedule | undefined {
  const { topic, schedule } = description
  return (
    schedule && { name: topic, topic, ...schedule, options: optionsOf(description), source: 'code', service }
  )
}

/** The defaults of the definition, stored because the leader that ticks may not know the topic. */
function optionsOf({ queue, priority, timeoutMs, maxRetries, retry }: TopicDescription): EnqueueOptions {
  const options = { queue, priority, timeoutMs, maxRetries, retry }
  return JSON.parse(JSON.stringify(options)) as EnqueueOptions
}

function isSame(row: Schedule, wanted: Schedule): boolean {
  return (Object.keys(wanted) as (keyof Schedule)[]).every(
    (key) => JSON.stringify(row[key]) === JSON.stringify(wanted[key]),
  )
}

/** On SQLite any commit may be a change of a schedule: look at most this often because of them. */
const GAP_MS = 200

/** Ticks when a tick is due. Looks for changed schedules when it is notified, and every `lookMs` in any case. */
export function createTicker({ store, log, runtime }: Duty, lookMs: number): Service {
  const { schedules } = store
  let subscription: Subscription | undefined

  const loop = new Loop({
    log,
    runtime,
    what: 'ticking schedules',
    gapMs: GAP_MS,
    async work() {
      subscription ??= await schedules.onChange(() => loop.wake())
      const { nextAt, now } = await schedules.next()
      if (!nextAt) return lookMs
      const waitMs = nextAt.getTime() - now.getTime()
      if (waitMs > 0) return Math.min(waitMs, lookMs)
      const { enqueued } = await schedules.tick()
      const [jobs, count] = [enqueued.slice(0, 10), enqueued.length]
      if (count > 0) log.debug({ jobs, count }, 'enqueued scheduled jobs')
      return 0
    },
  })

  return {
    start: () => loop.start(),
    async stop() {
      await loop.stop()
      await subscription?.close()
      subscription = undefined
    },
  }
}
