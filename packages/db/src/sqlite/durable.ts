import type { JobId } from '@oncue/core'
import { answer } from '../portable/asks.ts'
import { spawnedJobs, spawnKey } from '../portable/children.ts'
import { dueQueues } from '../portable/enqueue.ts'
import { type DurableStore, encodeOutcomes, liveDurable, RecordedRuns } from '../portable/outcomes.ts'
import { results } from '../portable/reads/jobs.ts'
import type { Sql } from '../portable/sql.ts'
import { drive, driveIn } from '../queue/transaction.ts'
import { type Rename, renamed } from '../schema.ts'
import { assertWorkerId, isUuid } from '../uuid.ts'
import type { SqliteWriter } from './client.ts'
import { createCommits } from './commits.ts'
import type { Database } from './driver.ts'
import { toOncueError } from './errors.ts'
import { IS_COMPLETED } from './sql.ts'
import { RECORDED } from './sql-durable.ts'
import { type OutcomeRow, signalSteps, toOutcome } from './work/durable.ts'
import type { SqliteWork } from './work/work.ts'

type Options = {
  readonly sql: Sql
  readonly reader: Database
  readonly writer: SqliteWriter
  readonly work: SqliteWork
  readonly rename: Rename
  readonly newId: () => string
  readonly now: () => number
  readonly wake: (queues: readonly string[]) => void
  readonly assertOpen: () => void
}

export function createDurable(options: Options): DurableStore {
  const { sql, reader, writer, work, rename, newId, now, wake, assertOpen } = options
  const commits = createCommits({ rename, now })
  const after = (id: JobId, seq: number) => {
    try {
      return (reader.prepare(RECORDED).all(id, seq) as OutcomeRow[]).map(toOutcome)
    } catch (error) {
      throw toOncueError(error)
    }
  }
  return {
    async outcomes(id) {
      assertOpen()
      return isUuid(id) ? after(id, 0) : []
    },

    async record(runs, worker) {
      assertOpen()
      if (worker !== undefined) assertWorkerId(worker)
      if (runs.length === 0) return new RecordedRuns()
      return writer.write(() => work.durable.record(encodeOutcomes(runs), worker ?? null, now()))
    },

    async spawn(run, worker) {
      assertOpen()
      if (worker !== undefined) assertWorkerId(worker)
      const jobs = run.spawns.map(({ job }) => job)
      const key = spawnKey(run)
      const begun = await writer.write(() => {
        const state = work.durable.beginSpawn(run, worker ?? null, key)
        if (state === 'new') {
          const spawned = spawnedJobs(run.spawns, work.enqueue(jobs, now()))
          work.children.keep(run.id, key, spawned, now())
        }
        return state
      })
      if (begun === 'stale') return null
      wake(dueQueues(jobs, now()))
      return after(run.id, run.after)
    },

    async live(topic, limit) {
      assertOpen()
      return liveDurable(sql, topic, limit)
    },

    async results(ids, maxBytes) {
      assertOpen()
      return results(sql, ids, maxBytes)
    },

    // Not an async function: in a better-sqlite3 transaction everything has happened, or thrown, before it returns.
    signal(signal, transaction) {
      assertOpen()
      const tx = transaction?.tx
      if (tx) return driveIn(tx, renamed(signalSteps(signal, newId(), now()), rename))
      return writer.write(() => drive(signalSteps(signal, newId(), now()), (step) => work.step(step)))
    },

    async answer(given) {
      assertOpen()
      const { id, name } = given
      await answer(sql, given, (data) => writer.write(() => work.durable.answer(id, name, data, now())))
    },

    openCommit(tx) {
      assertOpen()
      return commits.openCommit(tx)
    },

    commit(result, tx) {
      assertOpen()
      return commits.commit(result, tx)
    },

    complete(run, tx, before) {
      assertOpen()
      return commits.complete(run, tx, before)
    },

    aheadMs: () => now() - writer.runtime.now(),

    async hasCompleted({ id, run }, worker) {
      assertOpen()
      const by = worker ?? null
      try {
        return reader.prepare(IS_COMPLETED).get(id, run, by, by) !== undefined
      } catch (error) {
        throw toOncueError(error)
      }
    },
  }
}
