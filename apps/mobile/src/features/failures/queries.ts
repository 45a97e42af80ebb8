import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import type { Action } from '../bulk-operations/words.ts'
import type { JobFilter } from '../jobs/filter.ts'
import { type FailureFilter, WINDOWS, type WindowName } from './filter.ts'

export type FailureGroup = Outputs['jobs']['failures'][number]
export type FailedJobs = Outputs['bulkOperations']['preview']

/** The group's newest error. */
export function errorOf(group: FailureGroup): { class: string; message: string } {
  return { class: group.class || 'Unknown error', message: group.message || 'No error was stored.' }
}

/** More than a person reads through. */
export const MAX_GROUPS = 100

const since = (window: WindowName) => new Date(serverNow() - WINDOWS[window].ms)

export const failureGroups = ({ window, queue, topic, text, sort }: FailureFilter): Read<FailureGroup[]> => ({
  key: ['jobs.failures', { window, queue, topic, text, sort }],
  call: (client, options) =>
    client.jobs.failures(
      {
        ...{ since: since(window), limit: MAX_GROUPS, sort },
        ...(text !== undefined && { text }),
        ...(queue !== undefined && { queue }),
        ...(topic !== undefined && { topic }),
      },
      options,
    ),
  everyMs: 10_000,
})

/** The largest failure groups of the last hour. */
export const topErrors = (queue: string | null): Read<FailureGroup[]> => ({
  key: ['jobs.failures', 'top', queue],
  call: (client, options) =>
    client.jobs.failures(
      { since: since('1h'), limit: 5, sort: 'largest', ...(queue !== null && { queue }) },
      options,
    ),
  everyMs: 30_000,
})

/** Null: no job is in retry with this error, and none gave up within the window. */
export const failureGroup = (fingerprint: string, window: WindowName): Read<FailureGroup | null> => ({
  key: ['jobs.failures', { fingerprint, window }],
  call: async (client, options) =>
    (await client.jobs.failures({ fingerprint, since: since(window) }, options))[0] ?? null,
  everyMs: 10_000,
})

/** All jobs that gave up with this error, at any time: those that can be retried. */
export const failedOf = (fingerprint: string) => ({ fingerprint, status: 'failed' }) as const

/** Jobs with this error that will be retried automatically, also those that are suspended until they repeat a step. */
export const retryingOf = (fingerprint: string) =>
  ({ fingerprint, status: ['retrying', 'suspended'] }) satisfies JobFilter

/** What an action on the group is about: retry and delete jobs that gave up, run now and cancel those in retry. */
export function targetOf(action: Action, fingerprint: string) {
  if (action === 'cancel') return retryingOf(fingerprint)
  // Suspended jobs cannot be run now.
  return action === 'run_now' ? ({ fingerprint, status: 'retrying' } as const) : failedOf(fingerprint)
}

/** Their count, and the newest of them. */
export const failedJobs = (fingerprint: string): Read<FailedJobs> => ({
  key: ['bulkOperations.preview', 'failed', fingerprint],
  call: (client, options) =>
    client.bulkOperations.preview({ action: 'requeue', filter: failedOf(fingerprint) }, options),
  everyMs: 10_000,
})

export const retryingJobs = (fingerprint: string): Read<FailedJobs> => ({
  key: ['bulkOperations.preview', 'retrying', fingerprint],
  call: (client, options) =>
    client.bulkOperations.preview({ action: 'cancel', filter: retryingOf(fingerprint) }, options),
  everyMs: 10_000,
})
