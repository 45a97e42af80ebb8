import { isFinished, type JobId } from '@oncue/core'
import type { JobGlance, Store } from '@oncue/db'
import type { StateHub } from './states.ts'

/** The final state of a job, or the last one before the signal was aborted; null when there is no such job. */
export async function untilFinished(
  store: Pick<Store, 'glance'>,
  states: StateHub,
  id: JobId,
  signal: AbortSignal,
): Promise<JobGlance | null> {
  let last = (await store.glance([id])).get(id) ?? null
  if (isOver(last) || signal.aborted) return last
  const done = new AbortController()
  return new Promise<JobGlance | null>((resolve, reject) => {
    const onlooker = {
      see(glance: JobGlance | null) {
        last = glance
        if (isOver(last)) resolve(last)
      },
      fail: reject,
    }
    const leave = states.watch(id, onlooker, { isInHurry: true })
    signal.addEventListener('abort', () => resolve(last), { once: true, signal: done.signal })
    done.signal.addEventListener('abort', leave)
  }).finally(() => done.abort())
}

const isOver = (glance: JobGlance | null) => glance === null || isFinished(glance.status)
