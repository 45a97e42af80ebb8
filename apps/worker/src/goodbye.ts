import { withTimeout } from '@oncue/runtime'

/** Enough for a database that answers; one that is away must not keep a process from ending. */
export const GOODBYE_MS = 3_000

/** Waits for the last words of something, but not for ever. */
export async function goodbye(words: Promise<unknown>): Promise<void> {
  await withTimeout<unknown>(words, GOODBYE_MS, () => undefined)
}
