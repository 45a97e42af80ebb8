import { isOncueError, type JobError, type OncueError } from '@oncue/core'
import { NOT_SENT } from '../retry.ts'
import type { Settled, Settlement } from '../store.ts'

type Settle = (batch: readonly Settlement[]) => Promise<Omit<Settled, 'refused'>>

/**
 * Settles a batch; when the database refuses something in it, halves the batch until the poisoned
 * entries are alone. Those fail their own job, with the reason, and the rest is settled.
 *
 * If no entry can be settled, the database is at fault and not the entries: then it throws,
 * and nothing was written.
 */
export async function settleBisected(batch: readonly Settlement[], settle: Settle): Promise<Settled> {
  try {
    return { ...(await settle(batch)), refused: [] }
  } catch (error) {
    if (!isPermanent(error)) throw error
    const [only] = batch
    if (!only) throw error
    if (batch.length === 1) return (await settledAfterAll(only, error, settle)) ?? refuse(only, error, settle)
    const middle = batch.length >> 1
    const left = await half(batch.slice(0, middle), settle)
    const right = await half(batch.slice(middle), settle)
    if ('failure' in left && 'failure' in right) throw left.failure
    const halves = [left, right].map((one) => ('failure' in one ? one.refusal : one))
    return {
      stale: halves.flatMap(({ stale }) => stale),
      cancelled: halves.flatMap(({ cancelled = [] }) => cancelled),
      undoing: halves.flatMap(({ undoing = [] }) => undoing),
      refused: halves.flatMap(({ refused }) => refused),
    }
  }
}

/** Whether a retry would fail the same way because of what is sent. */
export function isPermanent(error: unknown): error is OncueError {
  if (!isOncueError(error) || NOT_SENT in error) return false
  return error.code === 'DATABASE_REFUSED' || error.code === 'DATABASE_ERROR'
}

/** An entry that cannot even be failed must not fail the other half: its job is freed when the lease expires. */
async function half(
  batch: readonly Settlement[],
  settle: Settle,
): Promise<Settled | { failure: OncueError; refusal: Settled }> {
  try {
    return await settleBisected(batch, settle)
  } catch (failure) {
    if (!isPermanent(failure)) throw failure
    const refused = batch.map(({ id, run }) => ({ id, run, reason: failure.message }))
    return { failure, refusal: { stale: [], refused } }
  }
}

/** An error of unknown kind may be temporary, so no result is discarded for one. */
async function settledAfterAll(
  only: Settlement,
  error: OncueError,
  settle: Settle,
): Promise<Settled | undefined> {
  if (error.code !== 'DATABASE_ERROR') return undefined
  try {
    return { ...(await settle([only])), refused: [] }
  } catch (again) {
    if (!isPermanent(again)) throw again
    return undefined
  }
}

async function refuse({ id, run }: Settlement, reason: OncueError, settle: Settle): Promise<Settled> {
  const error: JobError = {
    class: 'DatabaseRefused',
    message: `The result of this run cannot be stored: ${reason.message}`,
    fingerprint: reason.code,
  }
  const { stale } = await settle([{ id, run, kind: 'fail', error }])
  return { stale, refused: stale.length > 0 ? [] : [{ id, run, reason: reason.message, error }] }
}
