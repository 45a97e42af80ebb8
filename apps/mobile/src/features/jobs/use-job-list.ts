import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { usePages, useRead } from '../../lib/api.tsx'
import { countNew } from '../../lib/use-held.ts'
import type { JobFilter } from './filter.ts'
import { type JobLine, type JobLines, jobPages, newestJobs, PAGE } from './queries.ts'

/**
 * The jobs that match, page after page. The first page alone is kept up to date; whoever has scrolled further down,
 * or selects (`isHeld`), is left where they are, and told what came.
 */
export function useJobList(filter: JobFilter, isHeld: boolean) {
  const queries = useQueryClient()
  const { key } = jobPages(filter, false)
  const isDeep = (queries.getQueryData<InfiniteData<JobLines>>(key)?.pages.length ?? 0) > 1
  const isStill = isHeld || isDeep
  const read = usePages(jobPages(filter, isStill))
  const newest = useRead(newestJobs(filter, isStill))
  const pages = read.data?.pages as readonly JobLines[] | undefined
  const jobs = useMemo(() => pages?.flatMap(({ items }) => items) ?? [], [pages])

  const last = pages?.at(-1)
  const [stoppedAt, setStoppedAt] = useState<JobFilter | null>(null)
  const isStopped = stoppedAt === filter
  // A search that takes too long answers with what it has, and from where to go on.
  const gaveUp = last !== undefined && last.nextCursor !== null && last.items.length < PAGE
  const goesOn = gaveUp && !isStopped && !read.isFetching && !read.error
  const { fetchNextPage } = read
  useEffect(() => {
    if (goesOn) void fetchNextPage()
  }, [goesOn, fetchNextPage])

  const first = pages?.[0]
  return {
    read,
    jobs,
    total: {
      count: Math.max(first?.total ?? 0, jobs.length),
      isExact: first?.totalIsExact === true && first.total >= jobs.length,
    },
    /** How many came that are not shown. */
    waiting: isStill ? countNew(jobs, newest.data?.items ?? [], idOf) : 0,
    search: gaveUp ? (isStopped ? ('stopped' as const) : ('running' as const)) : null,
    stopSearch: () => setStoppedAt(filter),
    goOn: () => setStoppedAt(null),
    more: () => {
      if (read.hasNextPage && !read.isFetching && !gaveUp) void fetchNextPage()
    },
    /** From the newest on. */
    restart: () => void queries.resetQueries({ queryKey: key }),
  }
}

export type JobList = ReturnType<typeof useJobList>

export const idOf = ({ id }: JobLine) => id
