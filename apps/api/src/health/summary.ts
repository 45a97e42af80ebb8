import { INTERNAL_QUEUE } from '@oncue/core/internal'
import type { Health, QueueHealth, QueueState } from '@oncue/core/wire'
import { formatCount, formatDuration, formatPercent } from './format.ts'

export interface Situation {
  readonly now: Date
  readonly workersAlive: number
  /** The internal queue, from which alerts are sent. */
  readonly delivery: Pick<Health['delivery'], 'paused' | 'limit'>
  readonly queues: readonly Pick<
    QueueHealth,
    'queue' | 'state' | 'waiting' | 'oldestWaiting' | 'capacity' | 'failureRate' | 'paused'
  >[]
}

type Queue = Situation['queues'][number]
type Trouble = Exclude<QueueState, 'ok' | 'idle'>

/** One fact about the queues in the same state: long when it is the only one, short beside another. */
interface Fact {
  readonly long: string
  readonly short: string
}

/** The whole in one sentence: the worst first, two facts at most. */
export function summarize(situation: Situation): Health['summary'] {
  const { workersAlive, queues, delivery } = situation
  // This comes first: without delivery no other alert arrives.
  const silence = silenceOf(delivery)
  if (silence !== null) return { level: 'bad', text: silence }
  const waiting = sumOf(queues)
  if (workersAlive === 0 && waiting > 0)
    return { level: 'bad', text: `No workers are alive, ${wait(waiting)}` }
  const facts = (['stalled', 'late', 'failing', 'paused'] as const).flatMap((state): Fact[] => {
    const troubled = queues.filter((queue) => queue.state === state)
    return troubled.length > 0 ? [FACTS[state](troubled, situation.now)] : []
  })
  const [first, second] = facts
  if (!first) {
    return workersAlive === 0
      ? { level: 'warn', text: 'No workers are alive' }
      : { level: 'good', text: 'All good' }
  }
  return {
    level: queues.some(({ state }) => BAD.has(state)) ? 'bad' : 'warn',
    text: second ? `${first.short}, ${second.short}` : first.long,
  }
}

function silenceOf({ paused, limit }: Situation['delivery']): string | null {
  if (paused)
    return `No alerts are sent: ${INTERNAL_QUEUE} is paused${paused.by === null ? '' : ` by ${paused.by}`}`
  return limit?.maxRunning === 0 ? `No alerts are sent: ${INTERNAL_QUEUE} is limited to 0 jobs` : null
}

const BAD: ReadonlySet<QueueState> = new Set(['stalled', 'late', 'failing'])

const FACTS: Record<Trouble, (queues: readonly Queue[], now: Date) => Fact> = {
  stalled(queues) {
    const isUnserved = queues.every(({ capacity }) => capacity === 0)
    const who = subject(queues)
    const what = wait(sumOf(queues))
    if (isUnserved) {
      const verb = queues.length === 1 ? 'has' : 'have'
      return { long: `${who} ${verb} no worker, ${what}`, short: `${who} without a worker` }
    }
    return { long: `${who} ${be(queues)} stalled: ${what}, none finished`, short: `${who} stalled` }
  },
  late(queues, now) {
    const oldest = Math.min(...queues.map(({ oldestWaiting }) => (oldestWaiting ?? now).getTime()))
    const who = subject(queues)
    return {
      long: `${who} ${be(queues)} late: oldest waits ${formatDuration(now.getTime() - oldest)}`,
      short: `${who} late`,
    }
  },
  failing(queues) {
    const who = subject(queues)
    const rate = formatPercent(Math.max(...queues.map(({ failureRate }) => failureRate ?? 0)))
    const isOne = queues.length === 1
    return {
      long: `${who} ${be(queues)} failing: ${isOne ? '' : 'up to '}${rate} of runs`,
      short: `${who} failing ${isOne ? rate : `(worst ${rate})`}`,
    }
  },
  paused(queues, now) {
    const who = subject(queues)
    const [only] = queues
    if (queues.length > 1 || !only?.paused) return { long: `${who} are paused`, short: `${who} paused` }
    const by = only.paused.by === null ? '' : ` by ${only.paused.by}`
    const since = formatDuration(now.getTime() - only.paused.at.getTime())
    return { long: `${who} is paused${by}, ${since}`, short: `${who} paused` }
  },
}

/** The queue's name if there is only one. */
function subject(queues: readonly Queue[]): string {
  const [first] = queues
  return first && queues.length === 1 ? first.queue : formatCount(queues.length, 'queue')
}

const be = (queues: readonly Queue[]) => (queues.length === 1 ? 'is' : 'are')
const wait = (jobs: number) => `${formatCount(jobs, 'job')} ${jobs === 1 ? 'waits' : 'wait'}`
const sumOf = (queues: readonly Queue[]) => queues.reduce((sum, { waiting }) => sum + waiting, 0)
