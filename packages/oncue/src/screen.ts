import { systemRuntime } from '@oncue/runtime'
import type { Size } from './top-view.ts'

const ESC = '\x1b['
/** The alternate screen, so that the previous contents come back; without a cursor. */
const ENTER = `${ESC}?1049h${ESC}?25l`
const LEAVE = `${ESC}?25h${ESC}?1049l`
const QUIT = new Set(['q', 'Q', '\x03', '\x04', '\x1b'])

export interface Screen {
  size(): Size
  draw(lines: readonly string[]): void
  onResize(redraw: () => void): void
  isClosed(): boolean
  /** Ends early when the user quits. */
  wait(ms: number): Promise<void>
  /** Restores the terminal. */
  close(): void
}

/** The whole terminal, until the user presses q or the process is asked to end. */
export function openScreen({ stdin, stdout } = process): Screen {
  let closed = false
  const quit = new AbortController()
  const onKey = (key: Buffer) => {
    if (QUIT.has(key.toString())) close()
  }

  function close(): void {
    if (closed) return
    closed = true
    stdin.off('data', onKey).setRawMode(false).pause()
    stdout.removeAllListeners('resize')
    process.off('SIGTERM', close).off('SIGHUP', close).off('exit', close)
    stdout.write(LEAVE)
    quit.abort()
  }

  stdin.setRawMode(true).resume().on('data', onKey)
  // Also on a crash, because the terminal would have no cursor.
  process.on('SIGTERM', close).on('SIGHUP', close).on('exit', close)
  stdout.write(ENTER)

  return {
    size: () => ({ width: stdout.columns, height: stdout.rows }),
    draw(lines) {
      if (closed) return
      // Line by line over what is there: clearing first would flicker.
      const text = lines.map((line) => `${line}${ESC}K`).join('\r\n')
      stdout.write(`${ESC}H${text}${ESC}J`)
    },
    onResize: (redraw) => stdout.on('resize', redraw),
    isClosed: () => closed,
    async wait(ms) {
      await systemRuntime.sleep(ms, { signal: quit.signal })
    },
    close,
  }
}
