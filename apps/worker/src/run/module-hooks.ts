import { OncueError } from '@oncue/core'
import { type Logger, startAll, toService } from '@oncue/runtime'
import type { OnFailed } from '../options.ts'

/** What a module may export beside `workers` and `middleware`. */
export interface ModuleHooks {
  /** Runs once before the first job, in the order of the modules. If it fails, the worker does not start. */
  readonly setup?: (() => unknown) | undefined
  /** Runs once after the last job, in the opposite order, if `setup` was reached. */
  readonly close?: (() => unknown) | undefined
  /** Called for every job that failed permanently, after that was written. */
  readonly onFailed?: OnFailed | undefined
}

export interface NamedHooks extends ModuleHooks {
  /** Name of the module, for errors. */
  readonly module: string
}

const NAMES = ['setup', 'close', 'onFailed'] as const

export function readHooks(from: (name: string) => unknown, module: string): NamedHooks {
  for (const name of NAMES) {
    const hook = from(name)
    if (hook !== undefined && typeof hook !== 'function')
      throw new OncueError('INVALID_MODULE', `${module}: \`${name}\` must be a function`)
  }
  const [setup, close, onFailed] = NAMES.map(from) as [ModuleHooks['setup'], ModuleHooks['close'], OnFailed?]
  return { module, setup, close, onFailed }
}

/** How long a stop waits for a setup under way, before it closes the modules that were set up before. */
const SETUP_MS = 1_000

/**
 * Sets up all modules, and returns what closes them, even if one of them fails to. When a setup fails, or the signal is
 * aborted, those before it are closed again.
 */
export function setUpModules(
  hooks: readonly NamedHooks[],
  log: Pick<Logger, 'error'>,
  signal?: AbortSignal,
): Promise<() => Promise<void>> {
  const toModule = ({ module, setup, close }: NamedHooks) =>
    toService(async () => {
      try {
        await setup?.()
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw new OncueError('INVALID_MODULE', `${module}: setup failed: ${why}`, { cause })
      }
      return async () => {
        try {
          await close?.()
        } catch (err) {
          log.error({ err, module }, 'close() of a module failed')
        }
      }
    }, SETUP_MS)
  return startAll(hooks.map(toModule), signal)
}

/** Calls the hooks of all modules. */
export function toOnFailed(hooks: readonly NamedHooks[]): OnFailed | undefined {
  const all = hooks.flatMap(({ onFailed }) => (onFailed ? [onFailed] : []))
  if (all.length === 0) return undefined
  return async (job, error) => {
    const told = await Promise.allSettled(all.map(async (onFailed) => onFailed(job, error)))
    const reasons = told.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    if (reasons.length > 0) throw reasons[0]
  }
}
