import { type JobId, LIMITS, type NewJob, OncueError } from '@oncue/core'
import { utf8Length } from '@oncue/core/internal'
import type { EnqueueOutcome } from '../store.ts'

/** A key as the table `keys` identifies it. */
export type KeyName = { readonly topic: string; readonly key: string }

/** The topic of keys that all topics share; no real topic is empty. */
const ALL_TOPICS = ''

export function uniqueKeyOf({ topic, unique }: NewJob): KeyName | null {
  return unique && storedUniqueKey(topic, unique.key, unique.scope)
}

export function storedUniqueKey(topic: string, key: string, scope: string | null): KeyName {
  return { topic: scope === 'all' ? ALL_TOPICS : topic, key: `u:${key}` }
}

/**
 * The key by which a repeated enqueue finds the job of the first. No caller can name the keys of Oncue's own
 * jobs.
 */
export function onceKeyOf({ topic, idempotencyKey, internalKey }: NewJob): KeyName | null {
  if (internalKey !== null) return { topic, key: `o:${internalKey}` }
  return idempotencyKey === null ? null : { topic, key: `i:${idempotencyKey}` }
}

export function idsOf(jobs: readonly { readonly id: JobId }[]): JobId[] {
  return jobs.map(({ id }) => id)
}

export function isKeyed(job: NewJob): boolean {
  return job.unique !== null || job.idempotencyKey !== null || job.internalKey !== null
}

/** Without keys, parents and a place in a batch or flow: an insert is all that it takes. */
export function isPlain(job: NewJob): boolean {
  return !isKeyed(job) && job.after.length === 0 && !job.flow
}

/** A row of `flow_places`: flow, place, job, kind, name, and JSON of the places that it waits for. */
export type FlowRow = readonly [JobId, number, JobId, string, string | null, string | null]

/** The places of jobs in batches and flows; `meant` is the id of the job that stands for one, if its key was taken. */
export function flowRows(jobs: readonly NewJob[], meant: (id: JobId) => JobId): FlowRow[] {
  return jobs.flatMap(({ id, flow }) =>
    // A repeated call found its jobs by their keys: their places are kept.
    flow && meant(flow.flowId) === flow.flowId
      ? [
          [
            ...([flow.flowId, flow.place, meant(id), flow.kind, flow.name] as const),
            flow.after && JSON.stringify(flow.after),
          ] as const,
        ]
      : [],
  )
}

/** Why a job that runs when its batch failed is cancelled without having run. */
export const NOT_NEEDED = { by: null, reason: 'all jobs of its batch completed' }

/** The jobs of a call that are to be written: not those whose id is known, or that the call names twice. */
export function withoutKnown(jobs: readonly NewJob[], known: ReadonlySet<JobId>): NewJob[] {
  const seen = new Set(known)
  return jobs.filter(({ id }) => !seen.has(id) && seen.add(id))
}

/** The outcome for all jobs, given the outcome of those that were written. */
export function outcomesOf(
  jobs: readonly NewJob[],
  written: readonly NewJob[],
  outcomes: readonly EnqueueOutcome[],
  others: EnqueueOutcome['kind'] = 'existing',
): EnqueueOutcome[] {
  const made = new Map(written.map((job, n) => [job, outcomes[n]]))
  return jobs.map((job) => made.get(job) ?? { id: job.id, kind: others })
}

export type Node = { readonly id: JobId; readonly after: readonly JobId[] }

/**
 * Jobs of one call, each after its parents among them; DEPENDENCY_CYCLE if there is no such order.
 * Jobs outside the call exist already and cannot wait for jobs in it, so they close no cycle.
 */
export function inOrder<N extends Node>(nodes: readonly N[]): N[] {
  const waiting = new Map(nodes.map((node) => [node.id, 0]))
  const children = new Map<JobId, N[]>()
  for (const node of nodes) {
    for (const parent of node.after) {
      if (!waiting.has(parent)) continue
      waiting.set(node.id, (waiting.get(node.id) ?? 0) + 1)
      const siblings = children.get(parent)
      if (siblings) siblings.push(node)
      else children.set(parent, [node])
    }
  }
  const ordered = nodes.filter((node) => waiting.get(node.id) === 0)
  // The list grows during the walk: a job follows once all its parents were visited.
  for (const { id } of ordered) {
    for (const child of children.get(id) ?? []) {
      const left = (waiting.get(child.id) ?? 0) - 1
      waiting.set(child.id, left)
      if (left === 0) ordered.push(child)
    }
  }
  if (ordered.length < nodes.length) throw cycle(nodes, waiting)
  return ordered
}

/**
 * Refuses jobs of one call that wait for each other. Called before it is known which of them exist, so that a call
 * gets the same error whenever it is sent.
 */
export function assertNoCycle(jobs: readonly NewJob[]): void {
  if (jobs.some((job) => job.after.length > 0)) inOrder(withoutKnown(jobs, new Set()))
}

function cycle(nodes: readonly Node[], waiting: ReadonlyMap<JobId, number>): OncueError {
  const jobIds = nodes.map((node) => node.id).filter((id) => (waiting.get(id) ?? 0) > 0)
  return new OncueError('DEPENDENCY_CYCLE', 'Some of these jobs wait for each other in a cycle', {
    details: { jobIds: jobIds.slice(0, 10) },
  })
}

/**
 * A client's clock may be behind the store's by this much. A wake-up that comes too early costs one
 * claim, which then knows when to claim again; a missing one costs the rest of a poll interval.
 */
const SKEW_MS = 1_000

/** The queues in which these jobs can be claimed now: delayed and blocked jobs wake no worker. */
export function dueQueues(jobs: readonly NewJob[], nowMs: number): string[] {
  const due = jobs.filter((job) => job.after.length === 0 && isDue(job, nowMs))
  return [...new Set(due.map(({ queue }) => queue))]
}

function isDue({ runAt, delayMs }: NewJob, nowMs: number): boolean {
  return runAt ? runAt.getTime() - nowMs <= SKEW_MS : delayMs <= 0
}

/**
 * Announces that jobs may be due later, or other ones than before, under a name that no queue can have: only workers that may
 * rest hear it.
 */
export const LATER = ':later'

/** What an enqueue announces on Postgres: the queues with due jobs, and that there are others. */
export function wakeNames(jobs: readonly NewJob[], nowMs: number): string[] {
  // A blocked job, too: if its parent ends before this is committed, only a poll finds it.
  const hasLater = jobs.some((job) => job.after.length > 0 || !isDue(job, nowMs))
  return [...dueQueues(jobs, nowMs), ...(hasLater ? [LATER] : [])]
}

/** Above this size a payload or result is stored once, in its own table, and never written again. */
export function isInline(json: string): boolean {
  // A UTF-16 unit takes at most three bytes, so short texts need no count.
  return json.length * 3 <= LIMITS.inlineBytes || utf8Length(json) <= LIMITS.inlineBytes
}
