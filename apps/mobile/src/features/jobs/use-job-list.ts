import { type InfiniteData, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { usePages, useRead } from '../../lib/api.tsx'
import { countNew } from '../../lib/use-held.ts'
import { firstJobs, type JobLine, type JobLines, jobPages, type Listing, PAGE } from './queries.ts'

/** Pages after which a search stops and asks whether to continue: most of a minute. */
const GOES_ON = 30

/**
 * The matching jobs, page by page. A single page is kept up to date. With more pages, or during a selection
 * (`isHeld`), rows stay in place and new jobs are only counted.
 */
export function useJobList(listing: Listing, isHeld: boolean) {
  const queries = useQueryClient()
  const { filter } = listing
  const { key } = jobPages(listing, false)
  const isDeep = (queries.getQueryData<InfiniteData<JobLines>>(key)?.pages.length ?? 0) > 1
  const isStill = isHeld || isDeep
  const read = usePages(jobPages(listing, isStill))
  const latest = useRead(firstJobs(listing, isStill))
  const pages = read.data?.pages as readonly JobLines[] | undefined
  const jobs = useMemo(() => pages?.flatMap(({ items }) => items) ?? [], [pages])

  const last = pages?.at(-1)
  const [stoppedAt, setStoppedAt] = useState<Listing['filter'] | null>(null)
  const [allowed, setAllowed] = useState({ filter, pages: GOES_ON })
  const most = allowed.filter === filter ? allowed.pages : GOES_ON
  const isStopped = stoppedAt === filter || (pages?.length ?? 0) >= most
  // A search that takes too long returns what it has found and a cursor to continue from.
  const gaveUp = last !== undefined && last.nextCursor !== null && last.items.length < PAGE
  const goesOnFrom = gaveUp && !isStopped && !read.isFetching && !read.error ? last.nextCursor : null
  const { fetchNextPage } = read
  useEffect(() => {
    if (goesOnFrom !== null) void fetchNextPage()
  }, [goesOnFrom, fetchNextPage])

  // The list reports only once that its end is near, perhaps during another fetch: remember it.
  const [isWanted, setWanted] = useState(false)
  const isNext = isWanted && !read.isFetching && !gaveUp
  useEffect(() => {
    if (!isNext) return
    setWanted(false)
    void fetchNextPage()
  }, [isNext, fetchNextPage])

  const first = pages?.[0]
  return {
    read,
    jobs,
    // With the last page loaded, the count is exact.
    total:
      first && read.hasNextPage
        ? { count: Math.max(first.total, jobs.length), isExact: first.totalIsExact }
        : { count: jobs.length, isExact: true },
    /** How many new jobs are not shown. */
    waiting: isStill ? countNew(jobs, latest.data?.items ?? [], idOf) : 0,
    search: gaveUp ? (isStopped ? ('stopped' as const) : ('running' as const)) : null,
    stopSearch: () => setStoppedAt(filter),
    goOn: () => {
      setStoppedAt(null)
      setAllowed({ filter, pages: (pages?.length ?? 0) + GOES_ON })
    },
    more: () => {
      if (read.hasNextPage) setWanted(true)
    },
    /** From the first on. */
    restart: () => void queries.resetQueries({ queryKey: key }),
  }
}

export type JobList = ReturnType<typeof useJobList>

export const idOf = ({ id }: JobLine) => id
