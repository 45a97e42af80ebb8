import { isOncueError, parseSearch, type SearchReading } from '@oncue/sdk'
import { useMemo } from 'react'
import { useRead, useReads } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { useSignedIn } from '../../lib/session.ts'
import { useHealth } from '../../lib/use-health.ts'
import type { JobFilter } from './filter.ts'
import { type Found, probe, topics } from './queries.ts'

/** The search in the address: the line, and the chosen reading by its words. */
export interface SearchParams {
  readonly q?: string | undefined
  readonly as?: string | undefined
}

export interface Reading extends SearchReading {
  /** Undefined: not known yet, or the request failed. */
  readonly found: Found | undefined
  readonly isLoading: boolean
}

export interface Search {
  readonly line: string
  readonly readings: readonly Reading[]
  /** The reading whose jobs are shown. Null: there is no search. */
  readonly chosen: Reading | null
  /** The filter that is requested: the chips and the reading together. */
  readonly filter: JobFilter
  /** Why a line is invalid, and what to do. Null: it is valid. */
  readonly problemOf: (line: string) => string | null
  readonly names: { readonly topics: readonly string[]; readonly queues: readonly string[] }
  readonly maySearchPayloads: boolean
  readonly search: (line: string) => void
  readonly choose: (reading: SearchReading) => void
}

const MINUTE_MS = 60_000

/** The search line of the address, its possible meanings, and what each finds: all are tried at once. */
export function useSearch(
  given: JobFilter,
  { q: line = '', as }: SearchParams,
  setParams: (params: SearchParams) => void,
): Search {
  const { me } = useSignedIn()
  // The API refuses other roles: a result could reveal masked values.
  const maySearchPayloads = !me || me.may.includes('admin')
  const names = useNames()
  const { parsed, parse } = useMemo(() => {
    // In whole minutes, so that the same search again uses the same cache key.
    const now = new Date(Math.floor(serverNow() / MINUTE_MS) * MINUTE_MS)
    const parse = (text: string) => parseSearch(text, { now, maySearchPayloads, ...names })
    const readings = problemIn(parse, line) === null ? parse(line) : []
    const parsed = readings.map((reading) => ({ ...reading, filter: { ...given, ...reading.filter } }))
    return { parsed, parse }
  }, [line, given, names, maySearchPayloads])

  const isOpen = parsed.length > 1
  const probes = useReads(parsed.map(({ filter }) => ({ ...probe(filter), enabled: isOpen })))
  const readings = parsed.map((reading, at) => ({
    ...reading,
    found: probes[at]?.data,
    isLoading: isOpen && probes[at]?.isPending === true,
  }))
  const chosen = readings.find(({ words }) => words === as) ?? likeliest(readings)
  const filter = parsed.find(({ words }) => words === chosen?.words)?.filter ?? given
  return {
    ...{ line, readings, chosen, filter, names, maySearchPayloads },
    problemOf: (text) => problemIn(parse, text),
    search: (text) => setParams({ q: text === '' ? undefined : text, as: undefined }),
    choose: ({ words }) => setParams({ q: line, as: words }),
  }
}

/** The first that found something, if those before it did not; the first that may still find something; the first. */
function likeliest(readings: readonly Reading[]): Reading | null {
  for (const reading of readings) if (reading.isLoading || (reading.found?.total ?? 0) > 0) return reading
  return readings.find(({ found }) => !found || found.isCut) ?? readings[0] ?? null
}

function problemIn(parse: (line: string) => unknown, line: string): string | null {
  try {
    parse(line)
    return null
  } catch (error) {
    if (!isOncueError(error)) throw error
    return `${error.message}. ${error.hint}`
  }
}

/** Returns the same object while the names are the same, so that memoised searches stay valid. */
function useNames(): Search['names'] {
  const queues = useHealth().data?.queues.map(({ queue }) => queue)
  const known = useRead(topics).data?.map(({ topic }) => topic)
  const text = JSON.stringify({ topics: known?.sort() ?? [], queues: queues?.sort() ?? [] })
  return useMemo(() => JSON.parse(text) as Search['names'], [text])
}
