/** Steps shorter than this are not reported. */
const QUIET_MS = 1_000
const REDRAW_MS = 500
/** Without a terminal each message is a line that stays. */
const REMIND_MS = 15_000

export const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** Runs a step that may take minutes, and shows that it is still running. */
export async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const seconds = () => `${Math.round((performance.now() - began) / 1_000)} s`
  const terminal = process.stdout.isTTY ? process.stdout : undefined
  let isShown = false
  const show = () => {
    if (terminal) terminal.write(`\r\x1b[2K  ${title} … ${seconds()}`)
    // A line that is only repeated looks as if the step began again.
    else say(isShown ? `  ${title}: still working after ${seconds()}` : `  ${title} …`)
    isShown = true
  }
  const first = setTimeout(show, QUIET_MS)
  const next = setInterval(show, terminal ? REDRAW_MS : REMIND_MS)
  try {
    const result = await work()
    if (isShown) say(`${terminal ? '\r\x1b[2K' : ''}  ${title}: ${seconds()}`)
    return result
  } catch (error) {
    if (isShown && terminal) say('')
    throw error
  } finally {
    clearTimeout(first)
    clearInterval(next)
  }
}
