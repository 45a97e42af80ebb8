import type { Outputs } from '@oncue/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useIsFocused } from 'expo-router'
import { useEffect, useState } from 'react'
import { type PagedRead, type Read, useRead } from '../../lib/api.tsx'
import { useConnectionState } from '../../lib/connection-provider.tsx'
import { useSignedIn } from '../../lib/session.ts'
import { type Action, type BulkOperation, type Filter, isGoingOn } from './words.ts'

const POLL_MS = 3_000

/** Reads that are stale after an action on jobs. */
export const TOUCHED = [
  'health.get',
  'jobs.failures',
  'jobs.list',
  'bulkOperations.preview',
  'bulkOperations.list',
]

/** Counted once and not refreshed: what was read is what is confirmed. A new `look` counts again. */
export const preview = (
  action: Action,
  filter: Filter,
  look: string,
): Read<Outputs['bulkOperations']['preview']> => ({
  key: ['bulkOperations.preview', action, filter, look],
  call: (client, options) => client.bulkOperations.preview({ action, filter }, options),
  isFixed: true,
})

export const allBulkOperations: PagedRead<BulkOperation> = {
  key: ['bulkOperations.list', 'all'],
  call: (client, { cursor, signal }) =>
    client.bulkOperations.list({ limit: 50, ...(cursor !== undefined && { cursor }) }, { signal }),
}

export const recentBulkOperations: Read<Outputs['bulkOperations']['list']> = {
  key: ['bulkOperations.list'],
  call: (client, options) => client.bulkOperations.list({ limit: 10 }, options),
}

/** A bulk operation, kept up to date by a stream, or by polling where there is none. */
export function useBulkOperation(id: string) {
  const { client } = useSignedIn()
  const queries = useQueryClient()
  const isLookedAt = useIsFocused()
  const { phase } = useConnectionState()
  const [isStreaming, setStreaming] = useState(false)
  const key = ['bulkOperations.get', id]
  const known = queries.getQueryData<BulkOperation>(key)
  const isKnownOpen = known !== undefined && isOpen(known)
  const read = useRead({
    key,
    call: (asked, options) => asked.bulkOperations.get({ id }, options),
    ...(isKnownOpen && !isStreaming && { everyMs: POLL_MS }),
  })
  const isRunning = read.data !== undefined && isGoingOn(read.data)
  const isFollowed =
    read.data !== undefined && isOpen(read.data) && isLookedAt && phase !== 'paused' && phase !== 'offline'

  useEffect(() => {
    if (!isFollowed) return
    const stopped = new AbortController()
    const follow = async () => {
      for await (const operation of client.bulkOperations.watch(
        { id, outcomes: true },
        { signal: stopped.signal },
      )) {
        setStreaming(true)
        queries.setQueryData(['bulkOperations.get', id], operation)
      }
    }
    // Errors are ignored: while no stream is open, the read polls.
    follow().then(
      () => setStreaming(false),
      () => setStreaming(false),
    )
    return () => stopped.abort()
  }, [isFollowed, client, queries, id])

  const isOver = read.data !== undefined && !isRunning
  useEffect(() => {
    if (!isOver) return
    for (const name of TOUCHED) void queries.invalidateQueries({ queryKey: [name] })
  }, [isOver, queries])

  return read
}

/** It is running, or some of its jobs have not finished yet. */
function isOpen(operation: BulkOperation): boolean {
  const { outcomes } = operation
  return isGoingOn(operation) || (outcomes !== null && outcomes.waiting + outcomes.running > 0)
}
