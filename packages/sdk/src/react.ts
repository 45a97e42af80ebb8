import {
  isOncueError,
  type JobDefinitions,
  type JobId,
  type JobStatus,
  OncueError,
  type OutputOf,
  type ProgressOf,
  type TopicOf,
} from '@oncue/core'
import { useEffect, useState } from 'react'
import type { Client } from './client.ts'
import { sleep } from './deadline.ts'
import type { JobRef } from './jobs.ts'

/** What is known of a job, as it changes. */
export type JobView<Result = unknown, Progress = unknown> =
  /** There is no id yet. */
  | View<'idle', undefined, undefined>
  /** Nothing is known of it yet. */
  | View<'loading', undefined, undefined>
  /** It waits or runs, and its changes arrive. */
  | View<'live', JobStatus, Progress | null>
  /** The connection is lost. What was known is kept, and the hook goes on as soon as the API is reachable. */
  | View<'reconnecting', JobStatus | undefined, Progress | null | undefined, undefined, OncueError>
  /** It completed. */
  | View<'done', 'completed', Progress | null, Result>
  /** It failed or was cancelled (`status`), or cannot be watched. */
  | View<'error', JobStatus | undefined, Progress | null | undefined, undefined, OncueError>

interface View<State, Status, Progress, Result = undefined, Problem = undefined> {
  readonly state: State
  readonly status: Status
  readonly progress: Progress
  readonly result: Result
  readonly error: Problem
}

/** While the client has given up and the component has not. */
const PAUSE_MS = 5_000

const NOTHING = { status: undefined, progress: undefined, result: undefined, error: undefined } as const
const IDLE: JobView = { ...NOTHING, state: 'idle' }
const LOADING: JobView = { ...NOTHING, state: 'loading' }

/**
 * Follows a job until it ends or the component unmounts. An id that `enqueue` returned carries its types; name the topic of
 * one from elsewhere, such as a URL. Without an id it is idle. Make the client once, outside of components.
 */
export function useJob<Jobs extends JobDefinitions, Topic extends TopicOf<Jobs>>(
  client: Client<Jobs>,
  id: JobId | null | undefined,
  options: { readonly topic: Topic },
): JobView<OutputOf<Jobs, Topic>, ProgressOf<Jobs, Topic>>
export function useJob<Jobs extends JobDefinitions, Result = unknown, Progress = unknown>(
  client: Client<Jobs>,
  id: JobRef<Result, Progress> | JobId | null | undefined,
): JobView<Result, Progress>
export function useJob<Jobs extends JobDefinitions>(
  client: Client<Jobs>,
  id: JobId | null | undefined,
  options?: { readonly topic: TopicOf<Jobs> },
): JobView {
  const topic = options?.topic
  const [known, setKnown] = useState<{ readonly of: string; readonly view: JobView }>()
  const of = `${topic ?? ''} ${id}`
  useEffect(() => {
    if (!id) return
    const leaving = new AbortController()
    const show = (view: JobView) => {
      if (!leaving.signal.aborted) setKnown({ of, view })
    }
    follow(client, { id, topic, signal: leaving.signal }, show).catch(() => {})
    return () => leaving.abort()
  }, [client, id, topic, of])
  if (!id) return IDLE
  // The job before this one is not shown as this one.
  return known?.of === of ? known.view : LOADING
}

interface Followed<Topic> {
  readonly id: JobId
  readonly topic: Topic | undefined
  readonly signal: AbortSignal
}

/** Ends with the job. Rejects only when the component has left. */
async function follow<Jobs extends JobDefinitions>(
  { jobs }: Client<Jobs>,
  { id, topic, signal }: Followed<TopicOf<Jobs>>,
  show: (view: JobView) => void,
): Promise<void> {
  let view = LOADING
  const become = (next: JobView) => {
    view = next
    show(next)
  }
  const lose = (error: OncueError) => {
    const { status, progress } = view
    become({ ...NOTHING, state: 'reconnecting', status, progress, error })
  }
  const find = () => {
    const { status, progress } = view
    become(status === undefined ? LOADING : { ...NOTHING, state: 'live', status, progress: progress ?? null })
  }
  const onConnection = (lost: OncueError | null) => {
    if (lost === null) find()
    else if (lost.retryable) lose(lost)
  }
  for (;;) {
    try {
      for await (const message of jobs.watch(id, { signal, events: false, onConnection })) {
        if (message.type === 'event') continue
        const { status, progress } = message.state
        become({ ...NOTHING, state: 'live', status, progress })
      }
      const result = await (topic === undefined
        ? jobs.wait(id, { signal })
        : jobs.wait(id, { signal, topic }))
      return become({
        state: 'done',
        status: 'completed',
        progress: view.progress ?? null,
        result,
        error: undefined,
      })
    } catch (cause) {
      if (signal.aborted) throw cause
      const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
      if (!error.retryable) {
        const { status, progress } = view
        return become({ ...NOTHING, state: 'error', status, progress, error })
      }
      lose(error)
      await sleep(PAUSE_MS, signal)
    }
  }
}
