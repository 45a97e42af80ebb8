import { isFinished } from '@oncue/sdk'
import type { JobDetails } from './job-stream.ts'
import type { Entry } from './timeline.ts'

/** A recorded step, and the entry of the timeline at which a rerun from it is offered. */
interface RecordedStep {
  readonly name: string
  readonly key: string
  /** False: it was undone together with an earlier step, and a rerun begins there at the latest. */
  readonly isStart: boolean
}

/** The end of these is the outcome of a step with their name. */
const STEPS: ReadonlySet<string> = new Set(['plan_generated', 'node_finished', 'tool_returned'])

/**
 * The recorded steps of a finished job, in their order; of a name that was told twice the last. None while it is live. A
 * rerun also forgets what was undone: all that follows the last undo that has not run.
 */
export function recordedSteps(
  { status }: Pick<JobDetails, 'status'>,
  entries: readonly Entry[],
): readonly RecordedStep[] {
  if (!isFinished(status)) return []
  const steps = new Map<string, { readonly key: string; readonly at: number }>()
  const undos = new Map<string, number>()
  let wasUndone = false
  for (const [at, entry] of entries.entries()) {
    // What a rerun forgot is recorded no more; what it did again comes after.
    if (isForgetting(entry)) {
      forgetFrom(steps, undos, (entry.data as { readonly from?: string | null } | null)?.from)
      wasUndone = false
    }
    const undo = undoOf(entry)
    if (undo?.hasRun) {
      wasUndone = true
      undos.delete(undo.name)
    } else if (undo) undos.set(undo.name, at)
    const name = stepOf(entry)
    if (name === null) continue
    steps.delete(name)
    steps.set(name, { key: entry.key, at })
  }
  const kept = wasUndone ? Math.max(-1, ...undos.values()) : Number.POSITIVE_INFINITY
  const firstUndone = [...steps.values()].find(({ at }) => at > kept)
  return [...steps].map(([name, { key, at }]) => ({ name, key, isStart: at <= (firstUndone?.at ?? at) }))
}

type Told = Extract<Entry, { kind: 'event' }>

const isForgetting = (entry: Entry): entry is Told =>
  entry.kind === 'event' && entry.type === 'steps_forgotten'

function forgetFrom(
  steps: Map<string, { readonly at: number }>,
  undos: Map<string, number>,
  from: string | null | undefined,
): void {
  const first = from == null ? -1 : (steps.get(from)?.at ?? Number.POSITIVE_INFINITY)
  for (const [name, { at }] of [...steps]) if (at >= first) steps.delete(name)
  for (const [name, at] of [...undos]) if (at >= first) undos.delete(name)
}

function undoOf(entry: Entry): { readonly name: string; readonly hasRun: boolean } | null {
  if (entry.kind !== 'told' || entry.name === null) return null
  return entry.what === 'undo' || entry.what === 'undone'
    ? { name: entry.name, hasRun: entry.what === 'undone' }
    : null
}

function stepOf(entry: Entry): string | null {
  if (entry.kind === 'told') return entry.what === 'step' || entry.what === 'step_failed' ? entry.name : null
  if (entry.kind !== 'event' || !STEPS.has(entry.type)) return null
  const { name } = (entry.data ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name : null
}
