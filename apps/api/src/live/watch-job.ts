import { isFinished, type JobId, OncueError } from '@oncue/core'
import type { WatchMessage } from '@oncue/core/wire'
import type { JobEvent, JobGlance, Store } from '@oncue/db'
import { Signal } from '@oncue/runtime'
import { digest, formatPosition, type Position } from './position.ts'
import type { StateHub } from './states.ts'

export interface Watched {
  readonly id: string
  readonly message: WatchMessage
}

const PAGE = 100

/**
 * Everything that happens to a job after a position: each event once, and the state whenever it has changed. Ends after the
 * final state, which comes after all events before it. A slow reader buffers one event and one state, and skips the states in
 * between. Without a store, states only.
 */
export async function* watchJob(
  store: Pick<Store, 'events'> | null,
  states: StateHub,
  jobId: JobId,
  from: Position,
  signal: AbortSignal,
): AsyncGenerator<Watched, void> {
  const changed = new Signal()
  let position = from
  let glance: JobGlance | null | undefined
  let event: JobEvent | undefined
  let failure: { readonly reason: unknown } | undefined

  const fail = (reason: unknown) => {
    failure ??= { reason }
    changed.raise()
  }
  const stop = new AbortController()
  const events = store?.events
    .watch(jobId, { afterVersion: from.version, signal: stop.signal })
    [Symbol.asyncIterator]()
  const pull = () => {
    events?.next().then((next) => {
      event = next.done ? undefined : next.value
      changed.raise()
    }, fail)
  }
  const onAbort = () => fail(signal.reason)
  const leave = states.watch(jobId, {
    see(seen) {
      glance = seen
      changed.raise()
    },
    fail,
  })

  const tellEvent = (next: JobEvent): Watched => {
    position = { ...position, version: next.version }
    return { id: formatPosition(position), message: { type: 'event', event: next } }
  }
  const tellState = (seen: JobGlance): Watched => {
    position = { ...position, state: digest(seen) }
    return { id: formatPosition(position), message: { type: 'state', state: { id: jobId, ...seen } } }
  }

  try {
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    pull()
    for (;;) {
      await changed.wait()
      if (failure) throw failure.reason
      if (event) {
        const next = event
        event = undefined
        yield tellEvent(next)
        pull()
      }
      if (glance === undefined) continue
      const seen = glance
      glance = undefined
      if (seen === null) throw new OncueError('JOB_NOT_FOUND', `There is no job ${jobId}`)
      if (isFinished(seen.status)) {
        stop.abort()
        if (store) for await (const next of eventsAfter(store, jobId, position.version)) yield tellEvent(next)
      }
      if (digest(seen) !== position.state) yield tellState(seen)
      if (isFinished(seen.status)) return
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
    stop.abort()
    leave()
  }
}

async function* eventsAfter(store: Pick<Store, 'events'>, jobId: JobId, version: number) {
  let afterVersion = version
  for (;;) {
    const page = await store.events.list(jobId, { afterVersion, limit: PAGE })
    yield* page
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    afterVersion = last.version
  }
}
