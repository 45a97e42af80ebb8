import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { openStore, type Store } from '@oncue/db'
import { type Call as CallOf, implement as implementIn, type Output } from '@oncue/db/cli'
import { formatDuration, systemRuntime } from '@oncue/runtime'
import { type Config, readConfig } from '@oncue/worker/command'
import type { Command } from 'commander'

/** `@oncue/db/cli` for the commands here. They read the settings of a worker, so that a wrong one never goes unnoticed. */

export type Call<Options = object> = CallOf<Options, Config>

export function implement<Options>(
  command: Command,
  examples: readonly string[],
  run: (call: Call<Options>) => Promise<Output | undefined>,
): Command {
  return implementIn<Options, Config>(command, { examples, readConfig, run })
}

/** For commands that need only the store. */
export function withStore<Options>(
  label: string,
  run: (store: Store, call: Call<Options>, say: (what: string) => void) => Promise<Output>,
): (call: Call<Options>) => Promise<Output> {
  return (call) =>
    withProgress(label, async (say) => {
      const store = await openStore(call.url, { schema: call.schema, poolSize: 2 })
      try {
        return await run(store, call, say)
      } finally {
        await store.close()
      }
    })
}

/** A question is open: progress would overwrite it. */
let isAsking = false

export const canAsk = () => process.stdin.isTTY && process.stderr.isTTY

export async function ask(
  question: string,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const terminal = createInterface({ input, output })
  isAsking = true
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    isAsking = false
    terminal.close()
  }
}

/** After a second, people at a terminal see that the command is still working. */
export async function withProgress<T>(
  label: string,
  work: (say: (what: string) => void) => Promise<T>,
): Promise<T> {
  const terminal = process.stderr
  if (!terminal.isTTY) return work(() => {})
  const started = systemRuntime.monotonic()
  let said = ''
  let isShown = false
  const timer = systemRuntime.every(1_000, () => {
    if (isAsking) return
    isShown = true
    const line = `${label}${said} … ${formatDuration(systemRuntime.monotonic() - started)}`
    terminal.write(`\r\x1b[2K${line.slice(0, terminal.columns - 1)}`)
  })
  try {
    return await work((what) => {
      said = ` ${what}`
    })
  } finally {
    systemRuntime.cancel(timer)
    if (isShown) terminal.write('\r\x1b[2K')
  }
}

/** The actor, for audit entries and the events of a job. */
export function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    // A container may run as a user without a name.
    return `${process.getuid?.() ?? 'unknown'}@${hostname()}`
  }
}
