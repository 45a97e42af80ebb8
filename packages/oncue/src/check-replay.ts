import type { JobId } from '@oncue/core'
import type { JobDetails, Outcome } from '@oncue/db'
import type { startDryRuns } from '@oncue/worker/command'
import { namesOfKey } from './recorded-names.ts'

type DryRuns = Awaited<ReturnType<typeof startDryRuns>>
type DryRunResult = Awaited<ReturnType<DryRuns['run']>>

/** A job whose handler, as it is here, does not repeat what is recorded. */
export interface Departed {
  readonly topic: string
  readonly job: JobId
  readonly problem: string
}

/** Child processes at a time. */
const PROCESSES = 2

/** Replays jobs with the handlers of some modules, several at a time. */
export class ReplayCheck {
  readonly #runs: DryRuns
  readonly #underWay = new Set<Promise<void>>()
  readonly #departed: Departed[] = []
  #replayed = 0
  #failed: { readonly error: unknown } | undefined

  constructor(runs: DryRuns) {
    this.#runs = runs
  }

  /** Resolves when there is room for the next one. */
  async add(job: JobDetails, outcomes: readonly Outcome[]): Promise<void> {
    const replay = this.#replay(job, outcomes)
      .catch((error) => {
        this.#failed ??= { error }
      })
      .finally(() => this.#underWay.delete(replay))
    this.#underWay.add(replay)
    if (this.#underWay.size >= PROCESSES) await Promise.race(this.#underWay)
    if (this.#failed) throw this.#failed.error
  }

  async found(): Promise<{ readonly replayed: number; readonly departed: readonly Departed[] }> {
    await Promise.all(this.#underWay)
    if (this.#failed) throw this.#failed.error
    return { replayed: this.#replayed, departed: this.#departed.toSorted((a, b) => (a.job < b.job ? -1 : 1)) }
  }

  async close(): Promise<void> {
    await this.#runs.close()
    await Promise.all(this.#underWay)
  }

  async #replay(job: JobDetails, outcomes: readonly Outcome[]): Promise<void> {
    const problem = problemOf(await this.#runs.run(job, outcomes), job)
    this.#replayed += 1
    if (problem !== undefined) this.#departed.push({ topic: job.topic, job: job.id, problem })
  }
}

function problemOf(result: DryRunResult, { lastError }: JobDetails): string | undefined {
  if (result.how === 'stuck') return 'comes to nothing new within 10 s, and waits for something besides ctx'
  const { missing, stopsAt } = result
  const thrown = result.how === 'threw' ? describe(result.error) : undefined
  const parts = [
    missing.length > 0 && `does not come to ${inWords(missing)}`,
    missing.length > 0 && stopsAt.length > 0 && `goes on with ${inWords(stopsAt)}`,
    missing.length > 0 && result.how === 'returned' && 'ends',
    // As its last run did: that is no change.
    thrown && (missing.length > 0 || thrown.message !== lastError?.message) && `throws ${thrown.text}`,
  ].filter(Boolean)
  return parts.length > 0 ? parts.join(', ') : undefined
}

function describe(error: unknown): { readonly message: string; readonly text: string } {
  const { name = 'Error', message = String(error), code } = Object(error) as Partial<NodeJS.ErrnoException>
  return { message, text: `${code ?? name}: ${message}` }
}

function inWords(keys: readonly string[]): string {
  const words = keys.flatMap((key) =>
    namesOfKey(key)
      .map(([kind, name]) => `${kind} ${JSON.stringify(name)}`)
      .concat(key.startsWith('all#') ? ['its children'] : []),
  )
  return [...new Set(words)].join(', ')
}
