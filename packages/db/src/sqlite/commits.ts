import { type CommitStatements, knownCommit, staleCommit } from '../portable/outcomes.ts'
import { driveIn, type Steps } from '../queue/transaction.ts'
import { type Rename, renamed } from '../schema.ts'
import { TAKE_WRITE_LOCK } from './sql-durable.ts'
import { workSteps } from './work/callers.ts'

type Options = {
  readonly rename: Rename
  readonly now: () => number
}

/** Needs no connection but the caller's. */
export function createCommits({ rename, now }: Options): CommitStatements {
  return {
    openCommit: (tx) => driveIn(tx, renamed(writes(TAKE_WRITE_LOCK), rename)),

    commit(result, tx) {
      const { worker = null, ...recorded } = result
      const at = now()
      function* steps(): Steps<void> {
        const state = yield* workSteps((own) => own.durable.commit(recorded, worker, at))
        if (state === 'stale') throw staleCommit(result)
        if (state === 'known') throw knownCommit(result)
      }
      return driveIn(tx, renamed(steps(), rename))
    },

    complete(run, tx, before) {
      const { worker = null, id, result } = run
      const completion = { id, run: run.run, kind: 'complete', result } as const
      // The work runs again after each statement, and must decide the same.
      const at = now()
      function* steps(): Steps<void> {
        if (!(yield* workSteps((own) => own.complete(completion, worker, at)))) throw staleCommit(run)
      }
      const send = () => driveIn(tx, renamed(steps(), rename))
      return before ? before().then(send) : send()
    },
  }
}

function* writes(text: string): Steps<void> {
  yield { text, values: [], reads: false }
}
