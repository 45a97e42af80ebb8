/** What a job is enqueued with, as it is typed. */
export interface OptionText {
  readonly queue: string
  readonly priority: string
  /** Minutes. */
  readonly delay: string
}

interface Options {
  readonly queue?: string
  readonly priority?: number
  readonly delay?: number
}

interface Checked {
  readonly options: Options | null
  readonly errors: Readonly<Record<string, string>>
}

/** Empty fields use the topic's defaults. */
export function readOptions({ queue, priority, delay }: OptionText): Checked {
  const errors: Record<string, string> = {}
  const rank = numberIn(priority)
  const minutes = numberIn(delay)
  if (rank !== null && !(Number.isInteger(rank) && rank >= -32_768 && rank <= 32_767))
    errors.priority = 'A whole number from −32,768 to 32,767, or leave empty.'
  if (minutes !== null && !(minutes >= 0)) errors.delay = 'Enter a number of minutes, or leave empty.'
  if (Object.keys(errors).length > 0) return { options: null, errors }
  const name = queue.trim()
  const options = {
    ...(name !== '' && { queue: name }),
    ...(rank !== null && { priority: rank }),
    ...(minutes !== null && { delay: Math.round(minutes * 60_000) }),
  }
  return { options, errors }
}

const numberIn = (text: string) => (text.trim() === '' ? null : Number(text.trim()))
