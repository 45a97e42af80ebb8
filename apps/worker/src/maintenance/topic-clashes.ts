import type { Store, TopicClash } from '@oncue/db'
import { type Logger, Loop, type Runtime, type Service } from '@oncue/runtime'

/** A worker that started earlier notices a clash within this time. */
const EVERY_MS = 60_000

/**
 * Logs topics for which this worker and others have different schemas: a job may be run by a worker that refuses its
 * payload. Every worker checks, so that the logs of both services have it.
 */
export function createClashWatch(options: {
  readonly store: Pick<Store, 'topicClashes'>
  readonly worker: string
  readonly log: Logger
  readonly runtime?: Runtime | undefined
}): Service & { look(): Promise<void> } {
  const { store, worker, log, runtime } = options
  let reported = new Set<string>()

  async function look(): Promise<void> {
    const mine = (await store.topicClashes()).filter(({ sides }) => sides.some((side) => has(side, worker)))
    const texts = new Map(mine.map((clash) => [describeClash(clash, worker), clash.topic]))
    for (const [text, topic] of texts) if (!reported.has(text)) log.warn({ topic }, text)
    // A clash that ended and comes back is logged again.
    reported = new Set(texts.keys())
  }

  const loop = new Loop({
    log,
    runtime,
    what: 'comparing the schemas of topics',
    async work() {
      await look()
      return EVERY_MS
    },
  })
  return { look, start: () => loop.start(), stop: () => loop.stop() }
}

type Side = TopicClash['sides'][number]

const has = ({ workers }: Side, worker: string) => workers.some(({ id }) => id === worker)

function describeClash({ topic, sides }: TopicClash, worker: string): string {
  const others = sides.filter((side) => !has(side, worker)).flatMap(({ services }) => services)
  const names = [...new Set(others)].join(', ')
  return `topic ${topic} has a different schema in service ${names}; its jobs may fail in either`
}
