import type { JobId, NewJob } from '@oncue/core'
import type { EnqueueOutcome, RunRef } from '../store.ts'

/** A job that a run makes. */
export type NewSpawn = {
  /** Names the call among all of the job. */
  readonly key: string
  /** What a later run must make again to mean the same call. */
  readonly hash: string
  readonly job: NewJob
  /** It is a child: its parent may wait for it. `cancels`: it is cancelled when its parent is. */
  readonly child?: { readonly cancels: boolean } | undefined
}

export type RunSpawns = RunRef & {
  /** The last outcome that the caller knows. */
  readonly after: number
  /** At least one. */
  readonly spawns: readonly NewSpawn[]
}

/** The jobs of the spawns of one call, by key: the data of an outcome of the kind `spawn`. */
export type Spawned = { readonly [key: string]: readonly [id: JobId, hash: string] }

/** What an outcome of the kind `children` holds: the children that did not complete, however they were awaited. */
export type EndedChildren = {
  readonly failed: readonly (readonly [id: JobId, status: 'failed' | 'cancelled' | 'gone', error: unknown])[]
}

/** The outcome of a call names its first spawn, because no later call can have the same key. */
export function spawnKey({ spawns: [first] }: Pick<RunSpawns, 'spawns'>): string {
  return `spawned:${first?.key}`
}

/** The jobs that were made, or found by their keys. */
export function spawnedJobs(spawns: readonly NewSpawn[], outcomes: readonly EnqueueOutcome[]) {
  return spawns.map(({ key, hash, job, child }, n) => ({
    key,
    id: outcomes[n]?.id ?? job.id,
    hash,
    child: child !== undefined,
    cancels: child?.cancels ?? false,
  }))
}
