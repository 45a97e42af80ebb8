import { isOncueError, type JobError, type OncueError } from '@oncue/core'
import type { RunRef, Settled, Settlement } from './store.ts'

/**
 * Settles a batch; when the database refuses a value in it, halves the batch until the poisoned
 * entries stand alone. Those fail their own job, with the reason, and the rest is settled.
 */
export async function settleBisected(
  batch: readonly Settlement[],
  settle: (batch: readonly Settlement[]) => Promise<RunRef[]>,
): Promise<Settled> {
  try {
    return { stale: await settle(batch), refused: [] }
  } catch (error) {
    if (!isOncueError(error, 'DATABASE_REFUSED')) throw error
    const [only] = batch
    if (!only) throw error
    if (batch.length === 1) return refuse(only, error, settle)
    const middle = batch.length >> 1
    const left = await settleBisected(batch.slice(0, middle), settle)
    const right = await settleBisected(batch.slice(middle), settle)
    return { stale: [...left.stale, ...right.stale], refused: [...left.refused, ...right.refused] }
  }
}

async function refuse(
  { id, run }: Settlement,
  reason: OncueError,
  settle: (batch: readonly Settlement[]) => Promise<RunRef[]>,
): Promise<Settled> {
  const error: JobError = {
    class: 'DatabaseRefused',
    message: `What this run gave back cannot be stored: ${reason.message}`,
    fingerprint: reason.code,
  }
  const stale = await settle([{ id, run, kind: 'fail', error }])
  return stale.length > 0 ? { stale, refused: [] } : { stale, refused: [{ id, run, reason: reason.message }] }
}
