import type { JobId } from '@oncue/core'
import { isInline } from '../../portable/enqueue.ts'
import type { RunRef, Settlement } from '../../store.ts'
import { toOncueError } from '../errors.ts'
import * as sql from '../sql.ts'
import { type EndedRun, Tally } from '../tally.ts'
import type { Ends } from './ends.ts'
import type { Statements } from './statements.ts'

export type Completion = Extract<Settlement, { kind: 'complete' }>

/** A row of COMPLETING. */
type CompletingRun = RunRef & EndedRun & { readonly locked_by: string; readonly unique_key: string | null }

type Done = { readonly current: CompletingRun; readonly result: string | null }

/** Moves runs that completed to history, all of one batch. Answers the stale ones. */
export function completeAll(
  statements: Statements,
  ends: Ends,
  completions: readonly Completion[],
  worker: string | null,
  now: number,
): RunRef[] {
  if (completions.length === 0) return []
  const { done, others } = match(statements, completions, worker)
  if (done.length > 0) {
    const ids = done.map(({ current }) => current.id)
    statements.write(keep(statements, done, now).statements())
    statements.run(sql.REMOVE_ALL, JSON.stringify(ids))
    const keyed = done.filter(({ current }) => current.unique_key !== null).map(({ current }) => current.id)
    ends.afterFinish(ids, true, keyed, now)
  }
  // A settle that is sent again finds its own work done: not stale.
  return others
    .filter(({ id, run }) => !statements.get(sql.IS_COMPLETED, id, run, worker, worker))
    .map(({ id, run }) => ({ id, run }))
}

/** The fence: those whose run is the current one, each once. */
function match(statements: Statements, completions: readonly Completion[], worker: string | null) {
  const ids = JSON.stringify(completions.map(({ id }) => id))
  const current = new Map<JobId, CompletingRun>()
  for (const row of statements.all<CompletingRun>(sql.COMPLETING, ids)) current.set(row.id, row)
  const done: Done[] = []
  const others: Completion[] = []
  for (const completion of completions) {
    const run = current.get(completion.id)
    const isCurrent = run?.run === completion.run && (worker === null || run.locked_by === worker)
    if (isCurrent && current.delete(run.id)) {
      done.push({ current: run, result: completion.result ?? null })
    } else others.push(completion)
  }
  return { done, others }
}

function keep(statements: Statements, done: readonly Done[], now: number): Tally {
  try {
    return keepAll(statements, done, now)
  } catch (error) {
    if (!isKnownId(error)) throw error
    // One of them was enqueued again after it had finished. The statement has undone itself.
    return keepOneByOne(statements, done, now)
  }
}

function keepAll(statements: Statements, done: readonly Done[], now: number): Tally {
  const plain: JobId[] = []
  const withResult: [id: JobId, result: string][] = []
  const big: [id: JobId, result: string][] = []
  const tally = new Tally(now)
  for (const { current, result } of done) {
    tally.run(current, 'completed')
    if (result !== null && isInline(result)) withResult.push([current.id, result])
    else plain.push(current.id)
    if (result !== null && !isInline(result)) big.push([current.id, result])
  }
  if (plain.length > 0) statements.run(sql.COMPLETE, now, now, JSON.stringify(plain))
  if (withResult.length > 0) statements.run(sql.COMPLETE_WITH_RESULT, now, now, JSON.stringify(withResult))
  for (const [id, result] of big) statements.run(sql.KEEP_RESULT, id, result)
  return tally
}

/** The first record of a job stands, and is counted once. */
function keepOneByOne(statements: Statements, done: readonly Done[], now: number): Tally {
  const tally = new Tally(now)
  for (const { current, result } of done) {
    const inline = result === null || isInline(result)
    if (statements.run(sql.COMPLETE_ONE, now, now, inline ? result : null, current.id) === 0) continue
    tally.run(current, 'completed')
    if (!inline) statements.run(sql.KEEP_RESULT, current.id, result)
  }
  return tally
}

function isKnownId(error: unknown): boolean {
  return toOncueError(error).details?.code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
