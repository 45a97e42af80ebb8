import { formatDuration } from '@oncue/runtime'

/** Whoever waits for more than a second, at a terminal, sees that something goes on. */
export async function withProgress<T>(
  label: string,
  work: (say: (what: string) => void) => Promise<T>,
): Promise<T> {
  const terminal = process.stderr
  if (!terminal.isTTY) return work(() => {})
  const started = Date.now()
  let said = ''
  let isShown = false
  const timer = setInterval(() => {
    isShown = true
    const line = `${label}${said} … ${formatDuration(Date.now() - started)}`
    terminal.write(`\r\x1b[2K${line.slice(0, terminal.columns - 1)}`)
  }, 1_000)
  try {
    return await work((what) => {
      said = ` ${what}`
    })
  } finally {
    clearInterval(timer)
    if (isShown) terminal.write('\r\x1b[2K')
  }
}
