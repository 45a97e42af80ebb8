import { INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX } from '@oncue/core/internal'
import { DEFAULT_ALERT_RULES, STALL_WINDOW_MS, WORKER_SILENT_MS } from '@oncue/core/wire'
import type { Finding, QueueOverview, Store, TopicClash, TopicRow, WorkerRow } from '@oncue/db'
import { count, plain } from '@oncue/db/cli'
import { formatDuration } from '@oncue/runtime'
import { fromNow } from './format.ts'

const START_ONE = 'start one with `oncue worker --import ./jobs.ts`'
/** As without rules of your own. Those are read by the API. */
const LATE_MS = DEFAULT_ALERT_RULES.oldest_waiting.threshold * 1_000
/** How many of the waiting jobs are searched for unknown topics. */
const SAMPLE = 1_000

/** What the tables of the queue show, on any database. */
export async function examine(store: Store): Promise<Finding[]> {
  const [workers, queues, topics, clashes, waiting, now] = await Promise.all([
    store.workers(),
    store.queues(),
    store.topics(),
    store.topicClashes(),
    store.list({ status: 'pending' }, { limit: SAMPLE }),
    store.now(),
  ])
  const alive = workers.filter((worker) => isAlive(worker, now))
  return [
    workersFinding(workers, alive, now),
    unservedQueues(queues, alive),
    unknownTopics(new Set(waiting.items.map(({ topic }) => topic)), topics),
    clashingSchemas(clashes),
    stoppedQueues(queues),
    lateQueues(queues, alive, now),
  ]
}

function isAlive(worker: WorkerRow, now: Date): boolean {
  return worker.missingSince === null && now.getTime() - worker.lastBeat.getTime() < WORKER_SILENT_MS
}

interface WaitState {
  readonly state: 'stalled' | 'late'
  readonly why: string | null
}

/** Of the queues that should not wait as they do, in the words of the app. A pause explains itself. */
export async function waitStates(
  store: Store,
  queues: readonly QueueOverview[],
  workers: readonly WorkerRow[],
  now: Date,
): Promise<ReadonlyMap<string, WaitState>> {
  const served = new Set(workers.filter((worker) => isAlive(worker, now)).flatMap((worker) => worker.queues))
  const found = new Map<string, WaitState>()
  for (const { queue, waiting, oldestWaiting, paused } of queues) {
    if (paused || waiting === 0) continue
    if (!served.has(queue) && queue !== INTERNAL_QUEUE) {
      found.set(queue, { state: 'stalled', why: 'no worker' })
    } else if (oldestWaiting && now.getTime() - oldestWaiting.getTime() > LATE_MS) {
      // The current minute has only begun, so those before it count as well.
      const from = new Date(now.getTime() - STALL_WINDOW_MS - 60_000)
      const points = await store.series({ from, to: new Date(now.getTime() + 1), queue })
      const isIdle = points.every(({ completed, failed, retried }) => completed + failed + retried === 0)
      found.set(queue, { state: isIdle ? 'stalled' : 'late', why: null })
    }
  }
  return found
}

function workersFinding(workers: readonly WorkerRow[], alive: readonly WorkerRow[], now: Date): Finding {
  const gone = workers.filter((worker) => !alive.includes(worker))
  if (workers.length === 0) {
    return warn('workers', 'none', `No jobs run: ${START_ONE}.`)
  }
  const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0)
  const found = `${count(alive.length, 'worker')} with ${count(slots, 'slot')}`
  if (gone.length === 0) return ok('workers', found)
  const names = gone.map(
    ({ host, pid, lastBeat }) => `${plain(host)} pid ${pid}, seen ${fromNow(lastBeat, now)}`,
  )
  const advice =
    alive.length === 0
      ? `No jobs run: ${START_ONE}. It takes over the jobs of the missing workers.`
      : 'The other workers take over their jobs.'
  return warn(
    'workers',
    `${found}; missing: ${names.join('; ')}`,
    `${advice} If the process still runs, check its connection to the database.`,
  )
}

function unservedQueues(queues: readonly QueueOverview[], alive: readonly WorkerRow[]): Finding {
  const served = new Set(alive.flatMap((worker) => worker.queues))
  const unserved = queues.filter(({ queue, waiting }) => waiting > 0 && !served.has(queue))
  if (unserved.length === 0) return ok('queues', 'every queue with waiting jobs has a worker')
  return warn(
    'queues',
    `no worker serves ${unserved.map(({ queue, waiting }) => `${plain(queue)} (${waiting} waiting)`).join(', ')}`,
    'Start a worker for them: --queues, or ONCUE_QUEUES.',
  )
}

function unknownTopics(waiting: ReadonlySet<string>, announced: readonly TopicRow[]): Finding {
  const known = new Set(announced.map(({ topic }) => topic))
  // Oncue's own topics are handled by the API, which announces none.
  const unknown = [...waiting].filter(
    (topic) => !known.has(topic) && !topic.startsWith(INTERNAL_TOPIC_PREFIX),
  )
  if (unknown.length === 0)
    return ok('topics', `${announced.length} announced; every waiting job has a known topic`)
  return warn(
    'topics',
    `no worker has ever announced ${unknown.map((topic) => plain(topic)).join(', ')}`,
    'Load the module that handles them with --import, or cancel these jobs.',
  )
}

function clashingSchemas(clashes: readonly TopicClash[]): Finding {
  if (clashes.length === 0) return ok('schemas', 'all workers of a topic announce the same schema')
  const names = clashes.map(({ topic, sides }) => {
    const who = sides.map(
      (side) => `${side.services.join(' and ')} (${count(side.workers.length, 'worker')})`,
    )
    return `${plain(topic)}: ${plain(who.join(' and '))}`
  })
  return warn(
    'schemas',
    `different schemas: ${names.join('; ')}`,
    'Either side may run a job, and the job may fail. Rename the topic in one service, or finish the deployment that changes it.',
  )
}

/** Paused, or limited to no job at all. */
function stoppedQueues(queues: readonly QueueOverview[]): Finding {
  const stopped = queues.filter(({ paused, limit }) => paused || limit?.maxRunning === 0)
  if (stopped.length === 0) return ok('paused', 'no queue is paused')
  const names = stopped.map(({ queue, waiting, paused }) => {
    const why = paused ? `by ${plain(paused.by ?? 'unknown')}` : 'limited to 0'
    const alerts =
      queue === INTERNAL_QUEUE ? `; no alerts are sent while it is ${paused ? 'paused' : 'limited to 0'}` : ''
    return `${plain(queue)} (${why}, ${waiting} waiting${alerts})`
  })
  const advice = [
    stopped.some(({ paused }) => paused) && 'Resume with `oncue queues resume <queue>`.',
    stopped.some(({ limit }) => limit?.maxRunning === 0) &&
      'Remove a limit of 0 with `oncue queues limit <queue> --off`.',
  ]
  return warn('paused', names.join(', '), advice.filter(Boolean).join(' '))
}

function lateQueues(queues: readonly QueueOverview[], alive: readonly WorkerRow[], now: Date): Finding {
  const served = new Set(alive.flatMap((worker) => worker.queues))
  const late = queues.flatMap(({ queue, oldestWaiting, paused }) => {
    const age = oldestWaiting && !paused && served.has(queue) ? now.getTime() - oldestWaiting.getTime() : 0
    return age > LATE_MS ? [`${plain(queue)} is ${formatDuration(age)} late`] : []
  })
  if (late.length === 0) return ok('lateness', 'no served queue is more than 5 min late')
  return warn(
    'lateness',
    late.join(', '),
    'The workers cannot keep up, a limit throttles the queue, or no worker handles its topics.',
  )
}

const ok = (check: string, found: string): Finding => ({ check, status: 'ok', found, advice: null })
const warn = (check: string, found: string, advice: string): Finding => ({
  check,
  status: 'warn',
  found,
  advice,
})
