import { isFinished } from '@oncue/sdk'
import type { JobDetails } from './job-stream.ts'
import type { Entry } from './timeline.ts'

/** A recorded step, and the entry of the timeline at which a rerun from it is offered. */
interface RecordedStep {
  readonly name: string
  readonly key: string
}

/** The end of these is the outcome of a step with their name. */
const STEPS: ReadonlySet<string> = new Set(['plan_generated', 'node_finished', 'tool_returned'])

/** The recorded steps of a finished job, in their order; of a name that was told twice the last. None while it is live. */
export function recordedSteps(
  { status }: Pick<JobDetails, 'status'>,
  entries: readonly Entry[],
): readonly RecordedStep[] {
  if (!isFinished(status)) return []
  const steps = new Map<string, RecordedStep>()
  for (const entry of entries) {
    // What a rerun forgot is recorded no more; what it did again comes after.
    if (isForgetting(entry)) forgetFrom(steps, (entry.data as { readonly from?: string | null } | null)?.from)
    const name = stepOf(entry)
    if (name === null) continue
    steps.delete(name)
    steps.set(name, { name, key: entry.key })
  }
  return [...steps.values()]
}

type Told = Extract<Entry, { kind: 'event' }>

const isForgetting = (entry: Entry): entry is Told =>
  entry.kind === 'event' && entry.type === 'steps_forgotten'

function forgetFrom(steps: Map<string, RecordedStep>, from: string | null | undefined): void {
  const names = [...steps.keys()]
  for (const name of from == null ? names : names.slice(names.indexOf(from))) steps.delete(name)
}

function stepOf(entry: Entry): string | null {
  if (entry.kind === 'told') return entry.what === 'step' || entry.what === 'step_failed' ? entry.name : null
  if (entry.kind !== 'event' || !STEPS.has(entry.type)) return null
  const { name } = (entry.data ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name : null
}
