import type { JobError } from '@oncue/core'
import type { Timeline, TimelineEntry } from '@oncue/core/wire'
import { plain } from '@oncue/db/cli'
import { errorInWords, formatTime, table } from './format.ts'
import { describeEvent } from './job-event.ts'

const MAX_WIDTH = 160

/** The story of a job, a line for each entry. Null: its events tell all of it. */
export function describeTimeline({ id, entries, isComplete }: Timeline): string | null {
  if (entries.every(({ kind }) => kind === 'created' || kind === 'event' || kind === 'finished')) return null
  const rows = entries.map((entry, n) => [formatTime(entry.at), plain(inWords(id, entry, n), MAX_WIDTH)])
  const cut = isComplete ? [] : [[formatTime(entries[0]?.at ?? new Date(0)), '… older entries are left out']]
  return table(['WHEN', 'WHAT'], [...rows.slice(0, 1), ...cut, ...rows.slice(1)])
}

function inWords(jobId: string, entry: TimelineEntry, n: number): string {
  const { at, kind, by, until, size } = entry
  // An answer is stored in an object, as null would be none.
  const data = kind === 'answer' ? (entry.data as { value?: unknown } | null)?.value : entry.data
  const name = entry.name ?? ''
  const end = until ? `, until ${formatTime(until)}` : ''
  const json =
    size === null ? ((data ?? null) === null ? '' : `: ${JSON.stringify(data)}`) : `: ${size} bytes`
  switch (kind) {
    case 'created':
      return 'created'
    case 'finished':
      return name
    case 'event':
      return describeEvent({ jobId, version: n, type: name, data, created: at })
    case 'waiting':
      return `waits for ${waitedFor(data as { kind: string }, name)}${end}`
    case 'asked':
      return `asked ${name}: ${(data as { question: string }).question}${end}`
    case 'answer':
      return `${by ?? 'someone'} answered ${name}${json}`
    case 'refused':
      return `refused the answer to ${name} by ${by ?? 'someone'}${json}`
    case 'spawned':
      return size === null ? `spawned ${spawnedInWords(data as SpawnedData)}` : 'spawned many jobs'
    case 'children':
      return `children ended${size === null ? failedInWords(data as ChildrenData) : ', many of them failed'}`
    case 'timeout':
      return `${name} timed out`
    case 'slept':
      return `slept ${name}`
    case 'retried':
      return `${name} was tried again`
    case 'signal':
      return `signal ${name}${json}`
    case 'step':
      return `step ${name} finished${json}`
    case 'undo':
      return `undo ${name} registered`
    case 'undone':
      return `undo ${name} has run`
    case 'step_failed':
      return `step ${name} failed${size === null ? failureInWords(data) : json}`
  }
}

function failureInWords(data: unknown): string {
  const error = (data ?? {}) as Partial<JobError>
  return error.message === undefined ? '' : `: ${errorInWords(error)}`
}

type SpawnedData = { readonly jobs: readonly { readonly name: string; readonly id: string }[] }
type ChildrenData = { readonly failed: readonly { readonly id: string; readonly status: string }[] }

/** "render#1 0190…, render#2 0190… and 3 more" */
function spawnedInWords({ jobs }: SpawnedData): string {
  const shown = jobs.slice(0, 2).map(({ name, id }) => `${name} ${id}`)
  return `${shown.join(', ')}${jobs.length > 2 ? ` and ${jobs.length - 2} more` : ''}`
}

function failedInWords({ failed }: ChildrenData): string {
  const [first] = failed
  return first ? `, ${failed.length} not completed: ${first.id} ${first.status}` : ', all completed'
}

function waitedFor({ kind }: { readonly kind: string }, name: string): string {
  if (kind === 'ask') return `an answer to ${name}`
  if (kind === 'retry') return `the retry of ${name}`
  return kind === 'children' ? 'children' : `${kind} ${name}`
}
