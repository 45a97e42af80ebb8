import { isFinished, type WatchMessage } from '@oncue/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useIsFocused } from 'expo-router'
import { useEffect, useRef, useState } from 'react'
import { useRead } from '../../lib/api.tsx'
import { useConnectionState } from '../../lib/connection-provider.tsx'
import { useSignedIn } from '../../lib/session.ts'
import { type JobDetails, mergeEvents, withMessage } from './job-stream.ts'

const POLL_MS = 5_000
/** How many of its children are left is not in a job's stream. */
const CHILDREN_MS = 10_000
/** A run may finish many steps at once. */
const STORY_MS = 500
/** What they add to the story is not in the event. */
const STORY_EVENTS = ['run_suspended', 'step_finished']
const STORY_READS = ['jobs.timeline', 'jobs.questions', 'jobs.tree']
/** How many events `jobs.get` returns at most; the stream has the rest. */
const FIRST_EVENTS = 100

/** A job, kept up to date by a stream, or by polling where there is none. */
export function useJob(id: string) {
  const { client } = useSignedIn()
  const queries = useQueryClient()
  const isLookedAt = useIsFocused()
  const { phase } = useConnectionState()
  const [isStreaming, setStreaming] = useState(false)
  const known = queries.getQueryData<JobDetails>(['jobs.get', id])
  const isLive = known !== undefined && !isFinished(known.status)
  const read = useRead<JobDetails>({
    key: ['jobs.get', id],
    async call(asked, options) {
      const job = await asked.jobs.get(id, options)
      const before = queries.getQueryData<JobDetails>(['jobs.get', id])
      return before ? { ...job, events: mergeEvents(before.events, job.events) } : job
    },
    ...(isLive && !isStreaming && { everyMs: POLL_MS }),
    ...(isLive && isStreaming && waitsForChildren(known) && { everyMs: CHILDREN_MS }),
  })
  const hasMore = (read.data?.events.length ?? 0) >= FIRST_EVENTS
  const isWorthIt = read.data !== undefined && (!isFinished(read.data.status) || hasMore)
  const isFollowed = isWorthIt && isLookedAt && phase !== 'paused' && phase !== 'offline'

  useEffect(() => {
    if (!isFollowed) return
    const stopped = new AbortController()
    const follow = async () => {
      for await (const message of client.jobs.watch(id, { signal: stopped.signal })) {
        setStreaming(true)
        const before = queries.getQueryData<JobDetails>(['jobs.get', id])
        if (!before) continue
        queries.setQueryData(['jobs.get', id], withMessage(before, message))
        // The stream has no times, worker or error of the job.
        if (message.type === 'state' && isElsewhere(before, message.state))
          void queries.invalidateQueries({ queryKey: ['jobs.get', id] })
      }
    }
    const end = () => setStreaming(false)
    // Errors are ignored: while no stream is open, the read polls.
    follow().then(end, end)
    return () => stopped.abort()
  }, [isFollowed, client, queries, id])

  useStoryAnew(read.data)
  return read
}

/** Reads what a job's events do not tell anew whenever they, or its state, say that there is more. */
function useStoryAnew(job: JobDetails | undefined): void {
  const queries = useQueryClient()
  const seen = useRef<string | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const steps = job?.events.filter(({ type }) => STORY_EVENTS.includes(type)).length
  const now = job ? [job.id, job.status, job.run, steps].join() : null
  useEffect(() => {
    const isFirst = seen.current === null
    if (now === null || now === seen.current) return
    seen.current = now
    if (isFirst) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      for (const name of STORY_READS) void queries.invalidateQueries({ queryKey: [name] })
    }, STORY_MS)
  }, [now, queries])
  useEffect(() => () => clearTimeout(timer.current), [])
}

type State = Extract<WatchMessage, { type: 'state' }>['state']

const waitsForChildren = ({ waits }: JobDetails) =>
  waits?.for.some(({ kind }) => kind === 'children') ?? false

const isElsewhere = (before: JobDetails, state: State) =>
  before.status !== state.status || before.run !== state.run
