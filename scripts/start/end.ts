import { readFileSync } from 'node:fs'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const LOOK_MS = 1_000

export interface End {
  /** Stop: Ctrl-C, SIGTERM, a terminal or a launcher that is gone, an uncaught error. */
  readonly asked: AbortSignal
  /** Stop at once: the same a second time. */
  readonly insisted: AbortSignal
  /** The uncaught error, if that is why. */
  readonly error: unknown
}

/** Listens for everything that ends the process. */
export function watchForEnd(): End {
  const asked = new AbortController()
  const insisted = new AbortController()
  const end = { asked: asked.signal, insisted: insisted.signal, error: undefined as unknown }
  const ask = () => (asked.signal.aborted ? insisted : asked).abort()
  const fail = (error: unknown) => {
    end.error ??= error
    ask()
  }
  for (const signal of SIGNALS) process.on(signal, ask)
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)

  const launchers = findLaunchers()
  const look = setInterval(() => {
    if (launchers.every(({ pid, parent }) => parentOf(pid) === parent)) return
    clearInterval(look)
    if (!asked.signal.aborted) ask()
  }, LOOK_MS)
  look.unref()
  return end
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/**
 * The chain of parents up to the npx or pnpm that started us, with the shells in between. A kill of npx
 * alone (`kill $!`) is meant for all of it, but npx does not forward it, and we would hold the port for ever. Its
 * child gets another parent then, which we can detect. On Linux only; elsewhere only signals end us.
 */
function findLaunchers(): { readonly pid: number; readonly parent: number }[] {
  const links: { pid: number; parent: number; isLauncher: boolean }[] = []
  for (let pid = process.pid, parent = parentOf(pid); parent > 1; pid = parent, parent = parentOf(pid)) {
    links.push({ pid, parent, isLauncher: /\b(npm|npx|pnpm)\b/.test(read(`/proc/${parent}/cmdline`)) })
  }
  return links.slice(0, links.findLastIndex(({ isLauncher }) => isLauncher) + 1)
}

/** `pid (name) state parent …`, where the name may hold anything. 0: not known. */
function parentOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`)
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
