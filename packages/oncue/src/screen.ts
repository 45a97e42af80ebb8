import { systemRuntime } from '@oncue/runtime'
import type { Size } from './top-view.ts'

const ESCAPE = '\x1b'
const ESC = `${ESCAPE}[`
/** The other screen, so that what was there before comes back; without a cursor. */
const ENTER = `${ESC}?1049h${ESC}?25l`
const LEAVE = `${ESC}?25h${ESC}?1049l`
const QUIT = new Set(['q', 'Q', '\x03', '\x04', ESCAPE])

export interface Screen {
  size(): Size
  draw(lines: readonly string[]): void
  onResize(redraw: () => void): void
  /** Gets each key that is pressed; returns whether it means something here. Keys that mean nothing may quit. */
  onKey(press: (key: string) => boolean): void
  isClosed(): boolean
  /** Ends early when the user quits, or by `wake`. */
  wait(ms: number): Promise<void>
  wake(): void
  /** Gives the terminal back as it was. */
  close(): void
}

/** A key may be several characters; several keys may arrive at once, such as those that were typed ahead. */
function keysOf(text: string): string[] {
  const [typed = '', ...sequences] = text.split(ESCAPE)
  return [
    ...typed,
    ...sequences.flatMap((rest) => {
      const sequence = /^[[O][0-9;]*[A-Za-z~]/.exec(rest)?.[0] ?? ''
      return [ESCAPE + sequence, ...rest.slice(sequence.length)]
    }),
  ]
}

/** The whole terminal, until the user quits or the process is asked to end. */
export function openScreen({ stdin, stdout } = process): Screen {
  let closed = false
  const quit = new AbortController()
  let waking = new AbortController()
  let press = (_: string) => false
  const onData = (data: Buffer) => {
    for (const key of keysOf(data.toString())) {
      if (closed) return
      if (!press(key) && QUIT.has(key)) close()
    }
  }

  function close(): void {
    if (closed) return
    closed = true
    stdin.off('data', onData).setRawMode(false).pause()
    stdout.removeAllListeners('resize')
    for (const signal of SIGNALS) process.off(signal, close)
    process.off('exit', close)
    stdout.write(LEAVE)
    quit.abort()
  }

  stdin.setRawMode(true).resume().on('data', onData)
  // Also on a crash: a terminal without a cursor is a nuisance.
  for (const signal of SIGNALS) process.on(signal, close)
  process.on('exit', close)
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
    onKey: (pressed) => {
      press = pressed
    },
    isClosed: () => closed,
    async wait(ms) {
      const signal = AbortSignal.any([quit.signal, waking.signal])
      await systemRuntime.sleep(ms, { signal })
      waking = new AbortController()
    },
    wake: () => waking.abort(),
    close,
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
